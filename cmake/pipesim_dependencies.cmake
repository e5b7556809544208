# Third-party packages, as imported targets: their headers are system headers, so our warnings do
# not look into them. tools/setup has the Debian packages that they come from.

# By what Boost itself installs: CMake no longer has a module for it.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)
endif()
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(EXPAT 2.4.1 REQUIRED) # the first that bounds what entities expand to
find_package(fmt 9 REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
# Its version file accepts a request for the same minor version only, so none is given here.
find_package(simdjson REQUIRED)
if(simdjson_VERSION VERSION_LESS 3.0)
  message(FATAL_ERROR "pipesim needs simdjson 3.0 or newer; ${simdjson_DIR} has ${simdjson_VERSION}")
endif()
find_package(ZLIB 1.2 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
# 0.7 calls its target yaml-cpp, 0.8 yaml-cpp::yaml-cpp.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
  target_link_libraries(yaml-cpp::yaml-cpp INTERFACE yaml-cpp)
endif()

# Graphviz has no CMake package; it has pkg-config files.
find_package(PkgConfig REQUIRED)
pkg_check_modules(graphviz REQUIRED IMPORTED_TARGET libgvc libcgraph)

# Both are for the tests only: without them the program still builds.
if(PIPESIM_BUILD_TESTS)
  find_package(Catch2 QUIET) # 2.13 or 3: a version given here would rule out one of them
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(NOT Catch2_FOUND OR NOT Python3_FOUND)
    message(WARNING "The tests are not built: they need Catch2 and Python 3. "
                    "'tools/setup test' installs both on Debian; -DPIPESIM_BUILD_TESTS=OFF silences this.")
    set(PIPESIM_BUILD_TESTS OFF)
  endif()
endif()
