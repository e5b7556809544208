# Debian packages, made by `cpack` in a build folder: `pipesim` (the program), `libpipesim-dev` (the
# library) and `python3-pipesim` (the recorder). package_debian.cmake adds the files that no
# `install` rule provides.

set(PIPESIM_PACKAGE_MAINTAINER "pipesim developers <pipesim@example.org>"
    CACHE STRING "Whom the Debian packages name: 'NAME <ADDRESS>'")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pipesim)
set(CPACK_PACKAGE_CONTACT "${PIPESIM_PACKAGE_MAINTAINER}")
# The first line of both descriptions, without the article, by Debian's convention.
string(REGEX REPLACE "^A " "" CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/package_debian.cmake")

# A Debian package contains the license in `copyright`, not in a separate file.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program development python)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME pipesim)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# In Debian releases after 13, the layouts come with the package graphviz.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS graphviz)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS python3-pipesim)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Says whether a step of distributed training finishes, and if it does not, who
waits for whom: the cycle of waits, edge by edge, and which single changes
remove it. It reads task graphs, host programs and pipeline schedules from
YAML, and dumps and logs of real jobs. No GPU is needed.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libpipesim-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# The library is static, so its users need its dependencies.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libboost-program-options-dev, libexpat1-dev, libfmt-dev, libgraphviz-dev, libyaml-cpp-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "pipesim, catch2, cmake, pkgconf | pkg-config")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "A C++20 library that builds task graphs, runs scheduler passes on them, and
simulates them, with matchers for Catch2, so that a test can say that a step
of distributed training completes.
.
This package has the headers, the static library, and what CMake and
pkg-config need to find them.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-pipesim)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3:any")
# torch is the user's own installation, often not Debian's.
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "pipesim")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-torch, python3-pytest")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
    "The recorder of pipesim: runs a PyTorch script once as each rank of a job, on
one CPU, without GPUs or a network, and records what the ranks ask of their
process groups.
.
This package has the Python package pipesim, which 'pipesim record' runs, with
a function and a pytest fixture for tests.")

include(CPack)
