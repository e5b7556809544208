// Ops and times that the user names on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/ids.hpp"
#include "sim/time.hpp"

namespace pipesim::app {

struct OpQuery {
  std::uint32_t rank = 0;
  std::string name;
  std::uint32_t number = 0;  // op number, from 1; 0: omitted, for an op that runs once
};

/// Reads "rank0:all_gather#3" or, as in reports, "rank 0 all_gather#3"; the number is optional.
/// Returns nullopt for any other text.
std::optional<OpQuery> parse_op(std::string_view text);

/// Reads an op like parse_op(); the rank is optional for an op that only one rank has. If `text`
/// names no op, adds an error to `diagnostics`. The error begins with `who`, the name of the
/// option.
std::optional<OpQuery> read_op(std::string_view text, const models::TaskGraph& graph,
                               std::string_view who, models::Diagnostics& diagnostics);

/// Formats a query like "rank 0 all_gather#3".
std::string op_query_text(const OpQuery& query);

/// The op that a query names.
struct FoundOp {
  sim::ActorId actor;
  std::uint32_t k = 0;  // op number, from 0
};

/// Finds the op that `query` names. If there is no such op, adds an error to `diagnostics`. The
/// error begins with `who`, the name of the option.
std::optional<FoundOp> find_op(const OpQuery& query, const models::TaskGraph& graph,
                               const models::Lowered& lowered, std::string_view who,
                               models::Diagnostics& diagnostics);

/// A time, or the moment at which a host thread enters an op.
struct Until {
  std::string text;               // as the user wrote it
  std::optional<sim::Time> time;  // nullopt: the text names an op, see read_op()
};

/// Reads a time such as "12ms"; any other text names an op. Returns nullopt for an empty string or
/// a number without a unit.
std::optional<Until> parse_until(const std::string& text);

}  // namespace pipesim::app
