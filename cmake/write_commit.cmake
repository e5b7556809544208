cmake_minimum_required(VERSION 3.25)

# Writes the commit of SOURCE to FILE, a header. A build runs this each time; FILE changes, and
# with it version.cpp, only if the commit does.
set(commit unknown) # for a tarball, even if unpacked in another repository
execute_process(COMMAND git rev-parse --show-prefix
                WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE prefix ERROR_QUIET
                RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT failed AND prefix STREQUAL "")
  execute_process(COMMAND git describe --always --exclude=* --abbrev=12 "--dirty= with changes"
                  WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE described ERROR_QUIET
                  RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed)
    set(commit "${described}")
  endif()
endif()
file(CONFIGURE OUTPUT "${FILE}" CONTENT "#define PIPESIM_COMMIT \"@commit@\"\n" @ONLY)
