#pragma once

namespace pipesim::app {

/// Returns the version, such as "0.1.0", as set by the build.
const char* version();

}  // namespace pipesim::app
