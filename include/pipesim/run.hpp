// Runs a task graph, and says how that ended and why.
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

/// How a run ended. docs/reference/glossary.md has the words.
enum class Verdict : std::uint8_t {
  kCompleted,  // all work was done
  kDeadlock,   // acts wait for each other in a cycle
  kStarved,    // acts wait for what never comes
  kMismatch,   // calls met that do not fit together
  kCrashed,    // ranks died
  kLimit,      // it was stopped before its end
};

/// "deadlock": the word for a verdict in scenarios and reports.
std::string verdict_name(Verdict verdict);

/// One act: what an actor or a step of a program does once.
struct Act {
  std::uint32_t rank = 0;
  std::string op;                 // the name of the actor or step; empty: no act, see text
  std::uint32_t act = 0;          // which one, from 1
  std::uint32_t micro_batch = 0;  // from 1; 0: none
  std::string stream;             // of a step of the host: its thread
  std::string state;              // "started, spins"
  std::string text;               // "rank 0 gather#3"; also "rank 3", "the outside"
};

/// `from` waits for `to`.
struct Wait {
  Act from;
  Act to;
  std::string kind;  // "stream order", "data", "credit (control)", ...: as in reports
  std::string text;  // "rank 0 buffer#1 needs data from rank 0 loss#1"
};

/// Where waits end without a cycle: a dead or absent rank, or outside input.
struct Root {
  std::string text;                   // "rank 3"
  std::optional<std::uint32_t> rank;  // nothing: the outside
  std::uint32_t waiting = 0;          // acts that wait for it, straight or through others
};

/// How far a rank came in a phase, a program or a stream.
struct Progress {
  std::string what;
  std::uint32_t done = 0;
  std::uint32_t expected = 0;
};

struct RankState {
  std::uint32_t rank = 0;
  bool spins = false;  // a started collective waits for its peers: the device looks 100 % busy
  bool dead = false;
  std::vector<Progress> progress;
};

/// The end of a run, explained. It never changes, and copies share it.
class Result {
 public:
  Verdict verdict() const;
  bool completed() const { return verdict() == Verdict::kCompleted; }
  std::string cause() const;  // "cycle", "dead rank", "none", ...: as in scenarios

  /// The last progress, in simulated time: of a run that completed, how long it took.
  std::chrono::nanoseconds time() const;
  std::uint64_t acts_done() const;
  std::uint64_t acts_expected() const;

  /// A number that is the same for the same run, everywhere: docs/explanation/determinism.md.
  std::uint64_t fingerprint() const;

  /// The shortest cycle of waits; each one's `to` is the next one's `from`. Empty if there is
  /// none.
  const std::vector<Wait>& cycle() const;
  bool cycle_goes_through(const std::string& op) const;
  const std::vector<Root>& roots() const;
  const std::vector<RankState>& ranks() const;

  /// The reports of `pipesim run`. Where the run hangs, single changes are tried for the text and
  /// the JSON, each of which is a run: they are made at the first call.
  std::string text() const;
  std::string json() const;
  std::string dot() const;  // who waits for whom, for Graphviz

  /// What ran.
  const Graph& graph() const;

  struct Data;  // the library's own
  explicit Result(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const Data> data_;
};

/// Writes text(): what a test shows of a run that is not as it should be.
std::ostream& operator<<(std::ostream& out, const Result& result);

struct RunOptions {
  /// What would happen later does not: the verdict is then kLimit. From 0.
  std::chrono::nanoseconds until = std::chrono::nanoseconds::max();
  /// So many events, as by `until`; an event is a unit of the host's work, and bounds its time.
  std::uint64_t most_events = std::numeric_limits<std::uint64_t>::max();
};

/// Runs `graph` to its end. The same graph gives the same result, to the bit. Throws Error where
/// the graph has mistakes: reads of what is not there, rates that do not balance.
Result run(const Graph& graph, const RunOptions& options = {});

}  // namespace pipesim
