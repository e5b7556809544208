// What the public classes of include/pipesim hold, and how mistakes leave the library.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "pipesim/graph.hpp"

namespace pipesim {

struct Graph::Data {
  models::TaskGraph graph;
  std::string path;                     // of what it was made from, for messages
  std::string text;                     // and what stands there; empty: nothing that could be shown
  std::vector<std::string> rests_on{};  // what answers assume, as the scenario says
  // The same with empty parts of an all_to_all sent or not, if it has some and was not changed.
  std::optional<models::TaskGraph> other_parts{};
};

namespace library {

/// Throws the mistakes in `diagnostics`, found in `text`, which messages call `path`.
[[noreturn]] void throw_mistakes(const models::Diagnostics& diagnostics, std::string_view path,
                                 std::string_view text);

/// The same for a graph, with the lines that it was made from.
[[noreturn]] void throw_mistakes(const models::Diagnostics& diagnostics, const Graph& graph);

}  // namespace library
}  // namespace pipesim
