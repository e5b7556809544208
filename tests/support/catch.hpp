// Catch2 in whichever version is installed. Only what versions 2 and 3 have in common may be used.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
