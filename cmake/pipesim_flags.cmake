# pipesim_flags: the compile options of our own code. An INTERFACE target instead of global flags,
# so that the options do not affect third-party code or projects that use the library.

set(pipesim_oldest_GNU 12)
set(pipesim_oldest_Clang 14)
set(oldest "${pipesim_oldest_${CMAKE_CXX_COMPILER_ID}}")
if(oldest AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS oldest)
  message(FATAL_ERROR "pipesim needs ${CMAKE_CXX_COMPILER_ID} ${oldest} or newer; "
                      "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_VERSION}")
endif()

# Results must not depend on a compiler's rounding (docs/explanation/determinism.md).
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
    # In a unity build, g++ would run its garbage collector several times per translation unit, a
    # tenth of the time. This threshold, in KiB, delays the collector to one gigabyte.
    $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>
    # Messages contain __FILE__, which must not reveal the source folder of the build.
    "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(NOT PIPESIM_WARNINGS)
  # Checking the format strings at compile time takes longer than a tenth of the build. The presets
  # of the developers check them.
  target_compile_definitions(pipesim_flags INTERFACE FMT_CONSTEVAL=)
else()
  target_compile_options(
    pipesim_flags
    INTERFACE
      -Wall
      -Wextra
      -Wpedantic
      # In a unity build, a local name can shadow a constant of another file.
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
      # g++ 12 reports a false overlap for `"text" + string` when optimizing (GCC bug 105651, fixed
      # in 13).
      $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
      $<$<CXX_COMPILER_ID:Clang>:-Wmissing-prototypes>
      $<$<CXX_COMPILER_ID:Clang>:-Wunreachable-code>
      # Clang 14 reports macros without variadic arguments as a GNU extension; C++20 allows them.
      $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-zero-variadic-macro-arguments>
      $<$<BOOL:${PIPESIM_WERROR}>:-Werror>)
endif()
# Cheap checks of the standard library: an index out of range aborts.
target_compile_definitions(pipesim_flags INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

if(PIPESIM_SANITIZE)
  set(sanitizer_flags "-fsanitize=${PIPESIM_SANITIZE}" -fno-sanitize-recover=all)
  target_compile_options(pipesim_flags INTERFACE ${sanitizer_flags} -fno-omit-frame-pointer)
  target_compile_definitions(pipesim_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(pipesim_flags INTERFACE ${sanitizer_flags})
endif()

# libFuzzer is guided by code coverage, so all our code is instrumented for it.
if(PIPESIM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "PIPESIM_FUZZ needs clang, which has libFuzzer")
  endif()
  target_compile_options(pipesim_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Applies the flags to the compilation of one of our targets, but not to the target's users.
function(pipesim_use_flags target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:pipesim_flags>)
endfunction()
