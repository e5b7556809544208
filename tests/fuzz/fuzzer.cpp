// libFuzzer's entry point. The environment variable FUZZ_TARGET selects the target, so one program
// is enough.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

pipesim::fuzz::Target chosen;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* const name = std::getenv("FUZZ_TARGET");
  const auto all = pipesim::fuzz::targets();
  for (const pipesim::fuzz::Target& target : all) {
    if (name != nullptr && target.name == name) chosen = target;
  }
  if (chosen.run != nullptr) return 0;
  std::fputs("FUZZ_TARGET has to be one of:\n", stderr);
  for (const pipesim::fuzz::Target& target : all) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(target.name.size()), target.name.data());
  }
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen.run(std::string(data, data + size));
  return 0;
}
