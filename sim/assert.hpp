// For our own bugs; a user's mistake becomes a diagnostic.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace pipesim::sim {

/// One value that a failed check prints beside its expression.
struct CheckedValue {
  const char* name;
  std::int64_t value;
};

/// Prints file, line, expression and values to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               std::initializer_list<CheckedValue> values);

}  // namespace pipesim::sim

/// Always on. `PIPESIM_CHECK(a < b, {"a", a}, {"b", b})` aborts with the values if it is false.
#define PIPESIM_CHECK(expression, ...)                                              \
  do {                                                                              \
    if (!(expression)) [[unlikely]] {                                               \
      ::pipesim::sim::check_failed(__FILE__, __LINE__, #expression, {__VA_ARGS__}); \
    }                                                                               \
  } while (false)

/// As PIPESIM_CHECK, in builds without NDEBUG only: for the engine's inner loop.
#ifdef NDEBUG
#define PIPESIM_DCHECK(expression, ...) \
  do {                                  \
  } while (false)
#else
#define PIPESIM_DCHECK(expression, ...) PIPESIM_CHECK(expression, __VA_ARGS__)
#endif
