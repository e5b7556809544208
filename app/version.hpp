#pragma once

namespace pipesim::app {

/// Returns the version, such as "0.1.0", as set by the build.
const char* version();

/// Returns the lines after the version in the output of --version: commit, compiler, libraries.
const char* build_description();

}  // namespace pipesim::app
