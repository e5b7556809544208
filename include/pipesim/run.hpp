// Runs a task graph and explains the outcome.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipesim/graph.hpp"

namespace pipesim {

/// The outcome of a run; docs/reference/glossary.md defines the terms.
enum class Verdict : std::uint8_t {
  kCompleted,  // all work is done
  kDeadlock,   // ops wait for one another in a cycle
  kStarved,    // ops wait for a rank, call or input that never comes
  kMismatch,   // matched calls differ
  kCrashed,    // ranks died
  kLimit,      // the run was stopped before its end
};

/// Returns the name of a verdict in scenarios and reports, such as "deadlock".
std::string verdict_name(Verdict verdict);

/// An op: one execution of an actor or of a program's step.
struct Op {
  std::uint32_t rank = 0;
  std::string name;               // name of the actor or step; empty: not an op, see `text`
  std::uint32_t number = 0;       // number of the op, from 1
  std::uint32_t micro_batch = 0;  // number of the micro-batch, from 1; 0: none
  std::string stream;             // name of the stream or, for a host step, of the thread
  std::string state;              // state as in reports, for example "started, spins"
  std::string text;               // text for reports: "rank 0 gather#3", "rank 3", "the outside"
};

/// A wait of `from` for `to`.
struct Wait {
  Op from;
  Op to;
  std::string kind;  // kind as in reports: "stream order", "data", "credit (control)", ...
  std::string text;  // text for reports: "rank 0 buffer#1 needs data from rank 0 loss#1"
};

/// The end of a chain of waits without a cycle: a dead or missing rank, or outside input.
struct Root {
  std::string text;                   // text for reports: "rank 3"
  std::optional<std::uint32_t> rank;  // the dead or missing rank; nullopt: outside input
  std::uint32_t waiting = 0;          // number of ops that wait for this root, directly or not
};

/// The progress of a rank in a phase, a program or a stream.
struct Progress {
  std::string what;
  std::uint32_t done = 0;
  std::uint32_t expected = 0;
};

struct RankState {
  std::uint32_t rank = 0;
  bool spins = false;  // whether a collective waits for peers: the device looks 100 % busy
  bool dead = false;
  std::vector<Progress> progress;
};

/// The outcome of a run, with its explanation. Immutable; copies share it.
class Result {
 public:
  Verdict verdict() const;
  bool completed() const { return verdict() == Verdict::kCompleted; }
  std::string cause() const;  // cause as in scenarios: "cycle", "dead rank", "none", ...

  /// Returns the time of the last progress, in simulated time. For a run that completed, this is
  /// its duration.
  std::chrono::nanoseconds time() const;
  std::uint64_t ops_done() const;
  std::uint64_t ops_expected() const;

  /// Returns a hash of the run that is the same on every machine: docs/explanation/determinism.md.
  std::uint64_t fingerprint() const;

  /// Returns the shortest cycle of waits; an empty list if there is none. The `to` of each wait is
  /// the `from` of the next one.
  const std::vector<Wait>& cycle() const;
  bool cycle_goes_through(const std::string& op) const;
  const std::vector<Root>& roots() const;
  const std::vector<RankState>& ranks() const;

  /// Return the reports of `pipesim run`. If the run hangs, text() and json() try single changes,
  /// each in its own run; the first call computes these reports.
  std::string text() const;
  std::string json() const;
  std::string dot() const;  // wait-for graph for Graphviz

  /// Returns the graph that ran.
  const Graph& graph() const;

  struct Data;  // internal
  explicit Result(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// Writes text(). A test shows it for a run with an unexpected outcome.
std::ostream& operator<<(std::ostream& out, const Result& result);

struct RunOptions {
  /// Time at which to stop the run, at least 0; later events do not happen, and the verdict is
  /// kLimit.
  std::chrono::nanoseconds until = std::chrono::nanoseconds::max();
  /// Number of events after which to stop the run, with verdict kLimit. An event is a unit of the
  /// host's work, so this limits the host's time.
  std::uint64_t max_events = std::numeric_limits<std::uint64_t>::max();
};

/// Runs `graph` to its end. The same graph gives the same result, bit for bit. Throws Error if the
/// graph has mistakes, such as undefined inputs or unbalanced rates.
Result run(const Graph& graph, const RunOptions& options = {});

}  // namespace pipesim
