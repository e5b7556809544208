# Writes the man pages and the shell completions, as the program prints them. `cmake --install` runs
# this script.
#
# Input: pipesim_program, a command; folder (output).

function(pipesim_write file)
  execute_process(
    COMMAND ${pipesim_program} ${ARGN}
    OUTPUT_FILE "${folder}/${file}"
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${pipesim_program} ${ARGN}: ${status}")
  endif()
endfunction()

execute_process(
  COMMAND ${pipesim_program} help --list
  OUTPUT_VARIABLE commands
  OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${pipesim_program} help --list: ${status}")
endif()
string(REPLACE "\n" ";" commands "${commands}")

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}/man1" "${folder}/bash" "${folder}/zsh")
pipesim_write(man1/pipesim.1 help --man)
foreach(command IN LISTS commands)
  pipesim_write("man1/pipesim-${command}.1" help --man "${command}")
endforeach()
pipesim_write(bash/pipesim completion bash)
pipesim_write(zsh/_pipesim completion zsh)
