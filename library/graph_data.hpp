// The data of the public classes of include/pipesim, and the conversion of mistakes to exceptions.
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
  std::string path;                     // source of the graph, for messages
  std::string text;                     // content of the source; empty: no text to show
  std::vector<std::string> rests_on{};  // assumptions of answers, as the scenario states them
  std::optional<Settings> read_with{};  // settings of the last read of `text`; nullopt: changed
};

namespace library {

/// Reads the scenario `text`, which messages call `path`. Throws Error if it has mistakes.
formats::Scenario read_scenario(const std::string& text, const Settings& settings,
                                const std::string& path, const formats::ReadOptions& options = {});

/// Throws the mistakes in `diagnostics`, found in `text`, which messages call `path`.
[[noreturn]] void throw_mistakes(const models::Diagnostics& diagnostics, std::string_view path,
                                 std::string_view text);

/// Throws the mistakes in `diagnostics`. The lines that messages quote come from the text of
/// `graph`.
[[noreturn]] void throw_mistakes(const models::Diagnostics& diagnostics, const Graph& graph);

}  // namespace library
}  // namespace pipesim
