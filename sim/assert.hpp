// Checks for bugs of pipesim itself; a user's mistake becomes a diagnostic.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace pipesim::sim {

/// A value that a failed check prints next to its expression.
struct CheckedValue {
  const char* name;
  std::int64_t value;
};

/// Prints file, line, expression and values to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               std::initializer_list<CheckedValue> values);

}  // namespace pipesim::sim

/// Prints the values and aborts if the expression is false: `PIPESIM_CHECK(a < b, {"a", a}, {"b",
/// b})`. Active in all builds.
#define PIPESIM_CHECK(expression, ...)                                              \
  do {                                                                              \
    if (!(expression)) [[unlikely]] {                                               \
      ::pipesim::sim::check_failed(__FILE__, __LINE__, #expression, {__VA_ARGS__}); \
    }                                                                               \
  } while (false)

/// Like PIPESIM_CHECK, but active only in builds without NDEBUG, for the engine's inner loop.
#ifdef NDEBUG
#define PIPESIM_DCHECK(expression, ...) \
  do {                                  \
  } while (false)
#else
#define PIPESIM_DCHECK(expression, ...) PIPESIM_CHECK(expression, __VA_ARGS__)
#endif
