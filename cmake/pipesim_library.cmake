# pipesim_add_library(<module> [OPTIMIZE <level>] [EXCLUDE <file>...] [GENERATED <file>...]
#                     [UNITS <folder+folder>...] [PRECOMPILED <header>... | PRECOMPILED_BY <module>]
#                     [PUBLIC_DEPS <target>...] [PRIVATE_DEPS <target>...])
#
# Makes the library pipesim_<module>, alias pipesim::<module>, of all sources and headers in the
# current folder and below, except those of EXCLUDE (paths relative to the folder). A build notices
# added and removed files. The headers are a file set: the target all_verify_interface_header_sets
# compiles each of them alone.
#
# OPTIMIZE is the level of a release build if it is not CMake's (3): code that runs once for each
# report takes longer to compile at that level than it will ever save. UNITS are translation units of
# several folders (see pipesim_use_unity). PRECOMPILED are headers that most sources include, in
# addition to those of the standard library; PRECOMPILED_BY is the module, compiled with the same
# flags, whose precompiled headers serve this one.
function(pipesim_add_library module)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OPTIMIZE;PRECOMPILED_BY"
                        "EXCLUDE;GENERATED;UNITS;PRECOMPILED;PUBLIC_DEPS;PRIVATE_DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pipesim_add_library(${module}): unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${folder}" "${folder}/*.cpp")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${folder}" "${folder}/*.hpp")
  list(REMOVE_ITEM sources ${arg_EXCLUDE})

  set(target pipesim_${module})
  add_library(${target} STATIC ${sources} ${arg_GENERATED})
  add_library(pipesim::${module} ALIAS ${target})
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES
                                  ${headers})
  pipesim_use_flags(${target})
  if(arg_OPTIMIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O${arg_OPTIMIZE}>)
  endif()
  if(PIPESIM_UNITY)
    set(units "")
    if(PIPESIM_FEW_UNITS)
      set(units top ${arg_UNITS})
    endif()
    pipesim_use_unity(${target} 1000 "${units}" ${sources})
    if(arg_PRECOMPILED_BY)
      target_precompile_headers(${target} REUSE_FROM pipesim_${arg_PRECOMPILED_BY})
    else()
      target_precompile_headers(${target} PRIVATE ${pipesim_precompiled} ${arg_PRECOMPILED})
    endif()
  endif()
endfunction()

# The headers that nearly every folder includes. A source still includes what it uses: the preset
# dev and clang-tidy compile each source alone, without these.
set(pipesim_precompiled
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

# pipesim_use_unity(<target> <most> <units> <source>...) compiles up to <most> sources of a folder as
# one translation unit, since most of the time goes into headers and templates that they share. If
# there are <units>, the folders of each, joined by "+", are one unit, and all other folders together
# are another. So names in anonymous namespaces are unique within a unit.
function(pipesim_use_unity target most units)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    string(REPLACE "/" "_" group "${folder}")
    if(NOT group OR units)
      set(group top)
    endif()
    foreach(unit IN LISTS units)
      string(REPLACE "+" ";" folders "${unit}")
      if(folder IN_LIST folders)
        string(REPLACE "+" "_" group "${unit}")
      endif()
    endforeach()
    if(NOT DEFINED count_${group})
      set(count_${group} 0)
    endif()
    math(EXPR unit "${count_${group}} / ${most}")
    string(REGEX REPLACE "^0$" "" unit "${unit}")
    math(EXPR count_${group} "${count_${group}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}${unit})
  endforeach()
endfunction()
