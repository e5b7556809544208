// Prints the plan of a scenario in the format of tests/twin, or the ends of its interleavings, for
// second_test.py:
//
//   plan_of plan FILE...       the plan of each, after a line "FILE"
//   plan_of ends FILE [PATCH...]
//
// The second form prints four lines: "as planned", "one collective at a time", "one launch queue
// for a device" and "run". Each line shows whether some interleaving completes, and whether some
// interleaving hangs; or "unknown" if there are too many interleavings.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/lowering/lowering.hpp"
#include "tests/orders/orders.hpp"
#include "tests/twin/to_plan.hpp"
#include "tests/twin/twin.hpp"

namespace {

using namespace pipesim;

constexpr std::size_t kMaxStates = 20'000;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), {}};
}

twin::Spec plan_of(const std::string& path, const std::vector<std::string>& patches) {
  formats::ReadOptions options;
  for (const std::string& patch : patches) options.patches.push_back({patch, text_of(patch)});
  models::Diagnostics diagnostics;
  const auto scenario = formats::read_scenario(text_of(path), {}, diagnostics, options);
  const auto lowered = scenario ? models::lower(scenario->graph, diagnostics) : std::nullopt;
  if (lowered) return twin::from_plan(lowered->plan);
  throw std::runtime_error(path + " has mistakes: " + diagnostics.sorted().front().message);
}

void print_ends(const char* what, const twin::Spec& spec) {
  const twin::Ends ends = twin::ends_of_all_orders(spec, kMaxStates);
  std::printf("%s:%s%s%s\n", what, ends.completes ? " completes" : "", ends.hangs ? " hangs" : "",
              ends.all ? "" : " unknown");
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) throw std::runtime_error("usage: plan_of plan|ends FILE...");
  if (arguments[0] == "plan") {
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      std::printf("FILE\n%s\n", twin::text(plan_of(arguments[i], {})).c_str());
    }
    return 0;
  }
  twin::Spec spec = plan_of(arguments[1], {arguments.begin() + 2, arguments.end()});
  print_ends("as planned", spec);
  const bool completes = twin::simulate(spec).verdict == twin::Verdict::kCompleted;
  twin::Spec sharing = spec;
  for (int d = 0; d < twin::count_of(sharing.devices); ++d) {
    int& queue = sharing.devices.at(static_cast<std::size_t>(d)).launch_queue;
    if (queue > 0) continue;
    for (const twin::Stream& stream : spec.streams) {
      if (stream.device == d) queue = std::max(queue, stream.launch_queue);
    }
  }
  for (twin::Device& device : spec.devices) {
    if (device.resident == 0 && device.order != twin::Order::kSerial) {
      device.order = twin::Order::kSerialCollectives;
    }
  }
  print_ends("one collective at a time", spec);
  print_ends("one launch queue for a device", sharing);
  std::printf("run:%s\n", completes ? " completes" : " hangs");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
