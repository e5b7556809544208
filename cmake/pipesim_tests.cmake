# Functions that register tests with CTest.

# Catch2 2 and 3 list test cases with different options.
if(Catch2_VERSION VERSION_GREATER_EQUAL 3)
  set(pipesim_catch2_list_names --list-tests --verbosity quiet)
else()
  set(pipesim_catch2_list_names --list-test-names-only)
endif()

# The start of the line with which a test skips itself, followed by the reason. If ../shared exists,
# a test that needs it must not skip itself; the test then fails.
set(pipesim_skip_pattern "(^|\n)SKIPPED: ")

# pipesim_add_tests(<name> [OPTIMIZED] [SOURCES <file>...]
#                   [PRECOMPILED <header>... | PRECOMPILED_BY <name>]
#                   [ALONE <regex>] [DEPS <target>...] LABELS <label>... [TIMEOUT <s>])
#
# Makes the program <name>_tests of all *_test.cpp in the current folder and below, and of SOURCES.
# Each test case becomes a CTest test called "<name>: <test case>", with the given labels. A test case
# with the tag [shared] also has the label `shared`: it needs ../shared and skips itself without it.
# OPTIMIZED compiles the program's own code with optimization, for long-running tests. PRECOMPILED
# lists headers that most sources include; PRECOMPILED_BY names the program, compiled with the same
# flags, whose precompiled headers serve this one. Sources that ALONE matches have an object each:
# tests/faults links these.
function(pipesim_add_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZED" "TIMEOUT;PRECOMPILED_BY;ALONE"
                        "SOURCES;PRECOMPILED;DEPS;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pipesim_add_tests(${name}): unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()

  set(target ${name}_tests)
  file(
    GLOB_RECURSE sources
    RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
    CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp")
  add_executable(${target} ${sources} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${arg_DEPS} Catch2::Catch2WithMain)
  pipesim_use_flags(${target})
  # Catch2's macros compile slowly, especially with optimization, and run in no time, so tests are
  # compiled without optimization. The code under test is compiled as the preset says.
  if(PIPESIM_UNITY)
    set(together ${sources})
    if(arg_ALONE)
      list(FILTER together EXCLUDE REGEX "${arg_ALONE}")
    endif()
    pipesim_use_unity(${target} 8 "" ${together}) # more would leave cores idle at the end of a build
  endif()
  if(PIPESIM_UNITY AND arg_PRECOMPILED_BY)
    target_precompile_headers(${target} REUSE_FROM ${arg_PRECOMPILED_BY}_tests)
  else()
    target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/catch.hpp")
    if(PIPESIM_UNITY) # without unity builds, each source must include what it uses
      list(TRANSFORM arg_PRECOMPILED PREPEND "${PROJECT_SOURCE_DIR}/")
      target_precompile_headers(${target} PRIVATE ${arg_PRECOMPILED})
    endif()
  endif()
  if(NOT arg_OPTIMIZED)
    target_compile_options(${target} PRIVATE -O0)
    if(PIPESIM_SANITIZE)
      target_compile_options(${target} PRIVATE -g1)
    endif()
  endif()

  # CTest runs this file whenever it looks for tests. (catch_discover_tests of Catch2 2 runs the
  # program during the build, and cannot set a list of labels.)
  set(discovery "${CMAKE_CURRENT_BINARY_DIR}/${target}_discovery.cmake")
  file(
    GENERATE
    OUTPUT "${discovery}"
    CONTENT
      "set(name [==[${name}]==])
set(program [==[$<TARGET_FILE:${target}>]==])
set(list_names ${pipesim_catch2_list_names})
set(working_directory [==[${PROJECT_SOURCE_DIR}]==])
set(labels ${arg_LABELS})
set(timeout ${arg_TIMEOUT})
set(skip_pattern [==[${pipesim_skip_pattern}]==])
include([==[${PROJECT_SOURCE_DIR}/cmake/discover_tests.cmake]==])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${discovery}")
endfunction()

# pipesim_add_script_test(<name> COMMAND <command>... LABELS <label>... [TIMEOUT <s>])
#
# Adds a test that is a script instead of a Catch2 test case. The script runs at the root of the
# sources. Labels and skipping work as in pipesim_add_tests.
function(pipesim_add_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pipesim_add_script_test(${name}): unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set(on_skip SKIP_REGULAR_EXPRESSION)
  if("shared" IN_LIST arg_LABELS AND EXISTS "${PROJECT_SOURCE_DIR}/../shared")
    set(on_skip FAIL_REGULAR_EXPRESSION)
  endif()
  add_test(NAME "${name}" COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties("${name}" PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                                            ${on_skip} "${pipesim_skip_pattern}")
endfunction()
