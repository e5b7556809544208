# Third-party packages, as imported targets: their headers are system headers, so our warnings do
# not apply to them. tools/setup lists the Debian packages that provide them.

# Uses Boost's own CMake package: CMake no longer has a module for Boost.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)
endif()
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(EXPAT 2.4.1 REQUIRED) # first version that limits the expansion of entities
find_package(fmt 9 REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(ZLIB 1.2 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
# Version 0.7 calls its target yaml-cpp, version 0.8 yaml-cpp::yaml-cpp.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
  target_link_libraries(yaml-cpp::yaml-cpp INTERFACE yaml-cpp)
endif()

# Graphviz has no CMake package; it has pkg-config files.
find_package(PkgConfig REQUIRED)
pkg_check_modules(graphviz REQUIRED IMPORTED_TARGET libgvc libcgraph)

# Only the tests need Catch2 and Python 3; the program builds without these packages.
if(PIPESIM_BUILD_TESTS)
  find_package(Catch2 QUIET) # 2.13 or 3; a version in this line would exclude one of them
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(NOT Catch2_FOUND OR NOT Python3_FOUND)
    message(WARNING "The tests are not built: they need Catch2 and Python 3. "
                    "'tools/setup test' installs both on Debian; -DPIPESIM_BUILD_TESTS=OFF silences this.")
    set(PIPESIM_BUILD_TESTS OFF)
  endif()
endif()
