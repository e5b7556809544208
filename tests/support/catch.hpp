// Includes the installed version of Catch2. Tests may use only what versions 2 and 3 share.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
