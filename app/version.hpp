#pragma once

namespace pipesim::app {

/// "0.1.0", as the build says.
const char* version();

}  // namespace pipesim::app
