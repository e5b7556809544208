#include "app/version.hpp"

#include PIPESIM_COMMIT_HEADER  // made by the build

namespace pipesim::app {

const char* version() { return PIPESIM_VERSION; }

const char* build_description() {
  return "commit: " PIPESIM_COMMIT "\ncompiler: " PIPESIM_COMPILER "\nlibraries: " PIPESIM_LIBRARIES
         "\n";
}

}  // namespace pipesim::app
