// Several passes, one after the other, as people name them:
//
//   canonicalize,set-slots=Repeat:slots=4:register=ctrl
//
// Commas part the passes. Options follow a pass after colons; `pass=value` gives its first one. A
// value in 'single quotes' may have any of these signs in it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/passes/pass.hpp"

namespace pipesim::models {

/// A pass with the values of its options.
struct PassCall {
  const Pass* pass = nullptr;
  PassOptions options;
  std::string text;  // as it was given
};

/// The passes in `text`, which may be none. Nothing where it has mistakes: all are in
/// `diagnostics`.
std::optional<std::vector<PassCall>> parse_passes(std::string_view text,
                                                  const PassRegistry& registry,
                                                  Diagnostics& diagnostics);

struct PipelineOptions {
  bool verify_each = true;  // else only before the first and after the last pass
  std::function<void(const PassCall& call, const TaskGraph& graph)> after_each;  // may be empty
};

/// Runs `calls` on `graph`, which must keep the rules of models/passes/verifier.hpp before and
/// after. False where it does not, or a pass has refused; `diagnostics` then says which pass, and
/// `graph` is neither what it was nor what it should be. A pipeline schedule is from then on only
/// the programs that it stands for: passes may change them.
bool run_passes(TaskGraph& graph, const std::vector<PassCall>& calls,
                const PipelineOptions& options, Diagnostics& diagnostics);

}  // namespace pipesim::models
