// Sequences of passes, as users write them:
//
//   canonicalize,set-slots=Repeat:slots=4:register=ctrl
//
// Commas separate passes. Options follow a pass after colons; `pass=value` sets its first option. A
// value in 'single quotes' can contain commas, colons and '='.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/layers/pass.hpp"

namespace pipesim::models {

/// A pass with its option values.
struct PassCall {
  const Pass* pass = nullptr;
  PassOptions options;
  std::string text;  // text of the pass and its options, as the user wrote it
};

/// Parses `text`, a list of passes that can be empty. Returns nullopt after mistakes; `diagnostics`
/// lists all mistakes.
std::optional<std::vector<PassCall>> parse_passes(std::string_view text,
                                                  const PassRegistry& registry,
                                                  Diagnostics& diagnostics);

struct PipelineOptions {
  // Whether to verify after each pass; false: only before the first and after the last pass.
  bool verify_each = true;
  // Called after each pass; can be empty.
  std::function<void(const PassCall& call, const TaskGraph& graph)> after_each;
};

/// Runs `calls` on `graph`, which must keep the rules of models/layers/verifier.hpp before and
/// after. If `graph` breaks a rule, or if a pass fails, returns false; `diagnostics` names the
/// pass, and `graph` is in an intermediate state. A pipeline schedule is reduced to its programs,
/// because passes can change them.
bool run_passes(TaskGraph& graph, const std::vector<PassCall>& calls,
                const PipelineOptions& options, Diagnostics& diagnostics);

}  // namespace pipesim::models
