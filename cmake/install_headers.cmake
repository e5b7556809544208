# Copies the public headers of the tree `sources` to the folder `headers`, and also the headers of
# models and sim that pipesim/task_graph.hpp includes. `cmake --install` runs this script.
#
# The paths "models/..." and "sim/..." become "pipesim/models/..." and "pipesim/sim/...": many
# projects have folders of such names, and a compiler would search those first.

cmake_policy(VERSION 3.25)

function(pipesim_copy_headers)
  file(REMOVE_RECURSE "${headers}")
  file(GLOB waiting RELATIVE "${sources}/include" "${sources}/include/pipesim/*.hpp")
  set(seen ${waiting})
  while(waiting)
    list(POP_FRONT waiting header)
    set(source "${sources}/include/${header}")
    if(NOT EXISTS "${source}")
      string(REGEX REPLACE "^pipesim/" "${sources}/" source "${header}")
    endif()
    file(READ "${source}" text)
    string(REGEX REPLACE "(#include \")((models|sim)/)" "\\1pipesim/\\2" text "${text}")
    string(REGEX MATCHALL "#include \"[^\"]+" includes "${text}")
    foreach(include IN LISTS includes)
      string(REPLACE "#include \"" "" include "${include}")
      if(NOT include IN_LIST seen)
        list(APPEND seen "${include}")
        list(APPEND waiting "${include}")
      endif()
    endforeach()
    file(WRITE "${headers}/${header}" "${text}")
  endwhile()
endfunction()

pipesim_copy_headers()
