// Sentences about waits, from one row per kind of wait.
#pragma once

#include <string>
#include <string_view>

#include "models/result/explanation.hpp"

namespace pipesim::viz {

/// Returns the name of a kind of wait for people: "communicator init".
std::string_view kind_label(sim::WaitKind kind);

/// Whether `wait` blocks its stream. False for an op that is queued behind another one.
bool holds_stream(const models::Wait& wait);

/// Returns the matching call of a send or recv: "the matching recv".
std::string_view matching_text(const models::OpInfo& op);

/// Describes a wait: "needs data from rank 1 F1#3". Omits the waiter's own rank: "queued behind
/// nccl-1998#3".
std::string wait_text(const models::Wait& wait);

/// Returns wait_text() as the predicate of a sentence: "is queued behind nccl-1998#3".
std::string wait_predicate(const models::Wait& wait);

/// Describes a wait without its target, for an arrow to the target: "needs data from".
std::string edge_text(const models::Wait& wait);

/// The names in the sentence of a root.
struct RootNames {
  std::string ranks;    // the missing ranks: "rank 5"
  bool one = true;      // whether there is one missing rank
  std::string waiter;   // "rank 1's all_reduce#1"
  std::string details;  // details of the waiting call, in brackets: " (train.py:66)"
};

/// Explains why the target of `first`, a rank or the outside, never happens: "rank 5 never calls
/// all_reduce#1 (train.py:66)".
std::string root_text(const models::Wait& first, const RootNames& names);

/// Whether root_text() also says what the waiting op does.
bool names_waiter(const models::Wait& first);

/// Returns the reason that a wait for a rank never ends, for pictures: "never calls it".
std::string_view root_label(const models::Wait& first);

/// Returns the advice for a rank that never does what an op waits for; empty if any missing call
/// has the same advice.
std::string_view root_advice(sim::WaitKind kind);

/// Returns the rule of NCCL that causes waits of this kind if nobody has measured it, else "".
std::string_view unmeasured_rule(sim::WaitKind kind);

}  // namespace pipesim::viz
