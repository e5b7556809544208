// Op named by the user on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/ids.hpp"

namespace pipesim::app {

struct ActQuery {
  std::uint32_t rank = 0;
  std::string op;
  std::uint32_t act = 0;  // from 1; 0: omitted, for an op that runs once
};

/// Reads "rank0:all_gather#3" or, as in reports, "rank 0 all_gather#3"; the number is optional.
std::optional<ActQuery> parse_act(std::string_view text);

/// Reads an op like parse_act(); the rank is optional for an op that only one rank has. If `text`
/// names no op, adds an error to `diagnostics`. The error begins with `who`, the name of the
/// option.
std::optional<ActQuery> read_act(std::string_view text, const models::TaskGraph& graph,
                                 std::string_view who, models::Diagnostics& diagnostics);

/// Formats a query like "rank 0 all_gather#3".
std::string act_query_text(const ActQuery& query);

/// The op that a query names.
struct FoundAct {
  sim::ActorId actor;
  std::uint32_t k = 0;  // op number, from 0
};

/// Finds the op. If there is no such op, adds an error to `diagnostics`. The error begins with
/// `who`, the name of the option.
std::optional<FoundAct> find_act(const ActQuery& query, const models::TaskGraph& graph,
                                 const models::Lowered& lowered, std::string_view who,
                                 models::Diagnostics& diagnostics);

}  // namespace pipesim::app
