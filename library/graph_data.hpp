// What the public classes of include/pipesim hold, and how mistakes leave the library.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "pipesim/graph.hpp"
#include "pipesim/scenario.hpp"

namespace pipesim {

struct Graph::Data {
  models::TaskGraph graph;
  std::string path;                     // of what it was made from, for messages
  std::string text;                     // and what stands there; empty: nothing that could be shown
  std::vector<std::string> rests_on{};  // what answers assume, as the scenario says
  std::optional<Settings> read_with{};  // the settings of the text; none: it was changed since
};

namespace library {

/// Reads the scenario `text`, which messages call `path`; throws its mistakes.
formats::Scenario read_scenario(const std::string& text, const Settings& settings,
                                const std::string& path, const formats::ReadOptions& options = {});

/// Throws the mistakes in `diagnostics`, found in `text`, which messages call `path`.
[[noreturn]] void throw_mistakes(const models::Diagnostics& diagnostics, std::string_view path,
                                 std::string_view text);

/// The same for a graph, with the lines that it was made from.
[[noreturn]] void throw_mistakes(const models::Diagnostics& diagnostics, const Graph& graph);

}  // namespace library
}  // namespace pipesim
