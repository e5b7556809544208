# Asks a Catch2 program for its test cases and adds a test for each. CTest runs this script through
# a file that pipesim_add_tests writes.
#
# Input: name, program, list_names, working_directory, labels, timeout, skip_pattern.

cmake_policy(VERSION 3.25) # CTest runs scripts with its oldest policies by default

# Sets `result` to the names of the test cases that match `spec` (all if empty). Square brackets and
# semicolons are special in CMake lists, so the names contain placeholders until their use.
function(pipesim_list_test_cases result spec)
  execute_process(
    COMMAND "${program}" ${spec} ${list_names}
    OUTPUT_VARIABLE names
    ERROR_VARIABLE errors
    RESULT_VARIABLE status)
  # Version 2 exits with the number of tests, version 3 with 0. After a crash, the status is a word
  # or above 128, and stderr is not empty.
  if(errors OR NOT status MATCHES "^[0-9]+$")
    message(FATAL_ERROR "${program} cannot list its tests (${status}): ${errors}")
  endif()
  string(REPLACE "[" "<lb>" names "${names}")
  string(REPLACE "]" "<rb>" names "${names}")
  string(REPLACE ";" "<sc>" names "${names}")
  string(REPLACE "\n" ";" names "${names}")
  list(REMOVE_ITEM names "")
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

function(pipesim_discover_tests)
  if(NOT EXISTS "${program}")
    add_test("${name}: not built" "${program}")
    return()
  endif()
  pipesim_list_test_cases(test_cases "")
  if(NOT test_cases)
    add_test("${name}: has no test cases" "${CMAKE_COMMAND}" -E false)
    return()
  endif()
  pipesim_list_test_cases(shared_test_cases "[shared]")

  foreach(test_case IN LISTS test_cases)
    set(test_labels ${labels})
    set(on_skip SKIP_REGULAR_EXPRESSION)
    if(test_case IN_LIST shared_test_cases)
      list(APPEND test_labels shared)
      if(EXISTS "${working_directory}/../shared")
        set(on_skip FAIL_REGULAR_EXPRESSION)
      endif()
    endif()
    string(REPLACE "<lb>" "[" test_case "${test_case}")
    string(REPLACE "<rb>" "]" test_case "${test_case}")
    string(REPLACE "<sc>" ";" test_case "${test_case}")
    # Escapes the special characters of a Catch2 test specification.
    string(REGEX REPLACE "([\\[,\\\\])" "\\\\\\1" test_spec "${test_case}")
    add_test("${name}: ${test_case}" "${program}" "${test_spec}")
    set_tests_properties(
      "${name}: ${test_case}"
      PROPERTIES LABELS "${test_labels}" TIMEOUT ${timeout} ${on_skip} "${skip_pattern}"
                 WORKING_DIRECTORY "${working_directory}")
  endforeach()
endfunction()

pipesim_discover_tests()
