#include "bench/texts.hpp"

#include <utility>

#include "formats/scenario/scenario.hpp"
#include "sim/assert.hpp"

namespace pipesim::bench {

std::string actor_text(std::uint32_t ranks, std::uint32_t length, std::uint32_t ops, bool ring) {
  const std::string last = "op" + std::to_string(length - 1);
  std::string text = "schema: 1\nranks: " + std::to_string(ranks) + "\nstreams: [main]\nactors:\n";
  text += "  op0: {source: " + std::to_string(ops) + ", stream: main, slots: 2, takes: 1us";
  if (ring) {
    text += ", reads: [{from: " + last + ", rank: (rank + ranks - 1) % ranks}]";
  } else if (ranks > 1) {
    text += ", reads: [{from: " + last + ", rank: rank - 1, on: rank > 0}]";
  }
  text += "}\n";
  for (std::uint32_t i = 1; i < length; ++i) {
    text += "  op" + std::to_string(i) + ": {stream: main, slots: 2, takes: " + std::to_string(i) +
            "ns, reads: [op" + std::to_string(i - 1) + "]}\n";
  }
  return text;
}

std::string program_text(std::uint32_t ranks, std::uint32_t steps) {
  std::string text =
      "schema: 1\nranks: " + std::to_string(ranks) + "\ngroups: {dp: all}\nprograms:\n  do:\n";
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::string line = std::to_string(i);
    if (i % 8 == 6) {
      text += "    - {all_reduce: dp, bytes: 25MiB, takes: 300us, after: [compute]";
    } else if (i % 8 == 7) {
      text += "    - {synchronize: device";
    } else {
      text += "    - {compute: layer" + line + ", takes: 120us";
    }
    text += ", at: \"train.py:" + line + " step\"}\n";
  }
  return text;
}

models::TaskGraph graph_of(const std::string& text) {
  models::Diagnostics diagnostics;
  auto scenario = formats::read_scenario(text, {}, diagnostics);
  PIPESIM_CHECK(scenario.has_value());
  return std::move(scenario->graph);
}

}  // namespace pipesim::bench
