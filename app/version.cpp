#include "app/version.hpp"

namespace pipesim::app {

const char* version() { return PIPESIM_VERSION; }

}  // namespace pipesim::app
