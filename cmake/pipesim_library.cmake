# pipesim_add_library(<module> SOURCES <file>... HEADERS <file>... [OPTIMIZE <level>]
#                     [PUBLIC_DEPS <target>...] [PRIVATE_DEPS <target>...])
#
# OPTIMIZE is the optimization level of a release build, by default CMake's (3). Code that runs once
# per report takes longer to optimize than the optimization saves.
#
# Adds one library per folder: the target pipesim_<module> and the alias pipesim::<module>. Files
# are listed, not globbed, so that a build notices changes of the list. The headers are a file set:
# the target all_verify_interface_header_sets compiles each header alone.
function(pipesim_add_library module)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OPTIMIZE" "SOURCES;HEADERS;PUBLIC_DEPS;PRIVATE_DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pipesim_add_library(${module}): unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()

  set(target pipesim_${module})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES
                                    ${arg_HEADERS})
    pipesim_use_flags(${target})
    if(arg_OPTIMIZE)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O${arg_OPTIMIZE}>)
    endif()
    pipesim_use_unity(${target} ${arg_SOURCES})
  else() # headers only, or a folder without sources so far
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC_DEPS})
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES
                                       ${arg_HEADERS})
  endif()
  add_library(pipesim::${module} ALIAS ${target})
endfunction()

# Compiles the sources of a subfolder as one translation unit, because most of the compile time goes
# into shared headers. So names in anonymous namespaces must be unique within a subfolder.
function(pipesim_use_unity target)
  if(NOT PIPESIM_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # Headers that nearly every subfolder includes. A source must still include what it uses: the
  # presets dev and tidy compile each source separately.
  target_precompile_headers(
    ${target}
    PRIVATE
      <algorithm>
      <array>
      <functional>
      <map>
      <memory>
      <optional>
      <set>
      <span>
      <string>
      <string_view>
      <unordered_map>
      <utility>
      <variant>
      <vector>)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH room)
    if(NOT room)
      set(room ground)
    endif()
    cmake_path(IS_ABSOLUTE source generated)
    if(NOT generated)
      string(REPLACE "/" "_" room "${room}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
    endif()
  endforeach()
endfunction()
