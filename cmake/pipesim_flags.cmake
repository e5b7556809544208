# pipesim_flags: how our own code is compiled. An INTERFACE target and not global flags, so that
# nothing of it reaches third-party code or a project that uses the library.

set(pipesim_oldest_GNU 12)
set(pipesim_oldest_Clang 14)
set(oldest "${pipesim_oldest_${CMAKE_CXX_COMPILER_ID}}")
if(oldest AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS oldest)
  message(FATAL_ERROR "pipesim needs ${CMAKE_CXX_COMPILER_ID} ${oldest} or newer; "
                      "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_VERSION}")
endif()

# Results must not depend on how a compiler rounds (docs/explanation/determinism.md).
if(CMAKE_CXX_FLAGS MATCHES "-ffast-math|-Ofast|-funsafe-math-optimizations")
  message(FATAL_ERROR "pipesim's results are the same everywhere, and with fast math they are not: "
                      "remove it from CMAKE_CXX_FLAGS")
endif()

add_library(pipesim_flags INTERFACE)
target_compile_features(pipesim_flags INTERFACE cxx_std_20)
target_compile_options(
  pipesim_flags
  INTERFACE
    -ffp-contract=off
    # A room is one translation unit, for which g++ would collect its garbage several times: a tenth
    # of the time. Now it does so from a gigabyte on.
    $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>
    # __FILE__ stands in messages: it must not say where the sources lay when they were compiled.
    "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(PIPESIM_WARNINGS)
  target_compile_options(
    pipesim_flags
    INTERFACE
      -Wall
      -Wextra
      -Wpedantic
      # In a room that is one translation unit, a local name may be that of a constant in another file.
      $<$<NOT:$<BOOL:${PIPESIM_UNITY}>>:-Wshadow>
      -Wconversion
      -Wsign-conversion
      -Wdouble-promotion
      -Wold-style-cast
      -Wcast-align
      -Wcast-qual
      -Wnon-virtual-dtor
      -Woverloaded-virtual
      -Wformat=2
      -Wundef
      -Wextra-semi
      -Wmissing-declarations
      -Wvla
      $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond>
      $<$<CXX_COMPILER_ID:GNU>:-Wlogical-op>
      $<$<CXX_COMPILER_ID:GNU>:-Wzero-as-null-pointer-constant>
      # g++ 12 takes `"text" + string` for an overlap when it optimizes (GCC bug 105651, mended in 13).
      $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
      $<$<CXX_COMPILER_ID:Clang>:-Wmissing-prototypes>
      $<$<CXX_COMPILER_ID:Clang>:-Wunreachable-code>
      # Clang 14 calls a macro without variadic arguments a GNU extension; C++20 allows it.
      $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-zero-variadic-macro-arguments>
      $<$<BOOL:${PIPESIM_WERROR}>:-Werror>)
endif()
# Checks of the standard library that cost little: an index out of range aborts.
target_compile_definitions(pipesim_flags INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

if(PIPESIM_SANITIZE)
  set(sanitizer_flags "-fsanitize=${PIPESIM_SANITIZE}" -fno-sanitize-recover=all)
  target_compile_options(pipesim_flags INTERFACE ${sanitizer_flags} -fno-omit-frame-pointer)
  target_compile_definitions(pipesim_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(pipesim_flags INTERFACE ${sanitizer_flags})
endif()

# libFuzzer is led by which code an input reaches, so all of ours is compiled to tell.
if(PIPESIM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "PIPESIM_FUZZ needs clang, which has libFuzzer")
  endif()
  target_compile_options(pipesim_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Applies the flags to one of our targets: to its own compilation only, not to who uses it.
function(pipesim_use_flags target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:pipesim_flags>)
endfunction()
