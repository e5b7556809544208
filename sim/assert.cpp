#include "sim/assert.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace pipesim::sim {

void check_failed(const char* file, int line, const char* expression,
                  std::initializer_list<CheckedValue> values) {
  std::fprintf(stderr, "%s:%d: this is a bug in pipesim: check failed: %s\n", file, line,
               expression);
  for (const CheckedValue& value : values) {
    std::fprintf(stderr, "  %s = %" PRId64 "\n", value.name, value.value);
  }
  std::abort();
}

}  // namespace pipesim::sim
