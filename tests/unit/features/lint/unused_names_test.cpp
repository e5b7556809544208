#include "features/lint/unused_names.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

std::string unused(const std::string& text, const std::vector<formats::PatchText>& patches = {}) {
  std::string names;
  models::TaskGraph graph;
  graph.streams.resize(1);
  graph.streams[0].name = "compute";
  graph.actors.resize(1);
  graph.actors[0].stream = 0;
  for (const models::LintFinding& finding : formats::unused_names(text, patches, graph)) {
    names += finding.message + " at " + std::to_string(finding.place.line) + "\n";
  }
  return names;
}

constexpr const char* kText = R"(schema: 1
about: with slow and with other
params:
  slow: 3us
  steps: 2
  other: steps + 1
streams: [compute, forward, copies]
groups: {tp: {size: 2}, dp of all: all}
blocks:
  layer:
    - {all_reduce: tp, bytes: 8B}
  spare:
    - {compute: work, takes: 1us}
programs:
  - do:
      - {call: layer, times: "2 * steps", after: [copies]}
)";

}  // namespace

TEST_CASE("names that nothing mentions", "[formats][unused]") {
  CHECK(unused(kText) ==
        "parameter 'slow' is not used at 4\n"
        "parameter 'other' is not used at 6\n"
        "stream 'forward' is not used at 7\n"
        "group 'dp of all' is not used at 8\n"
        "block 'spare' is not used at 12\n");
}

TEST_CASE("what a patch mentions is used", "[formats][unused]") {
  const formats::PatchText patch{"p.yaml", "patch: 1\nactors: {a: {takes: slow * other}}\n"};
  CHECK(unused(kText, {patch}) ==
        "stream 'forward' is not used at 7\n"
        "group 'dp of all' is not used at 8\n"
        "block 'spare' is not used at 12\n");
}
