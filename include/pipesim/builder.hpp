// Task graphs in code.
//
//   pipesim::GraphBuilder job("two_ranks", 2);
//   job.micro_batches(4).group("tp").stream("forward");
//   job.actor("batch").source(4).takes(1us);
//   job.actor("gather").stream("forward").takes(20us)
//       .collective("all_gather", "tp").reads("batch");
//   pipesim::Graph graph = job.build();
//
// The builder writes the scenario that yaml() returns, and build() reads it. So
// docs/reference/scenario-format.md defines all names and values, and an error shows the line of
// the scenario. set() and yaml() cover everything that has no method.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pipesim/graph.hpp"

namespace pipesim {

/// A value: a number, a time (10us, of std::chrono), on/off, a list of words in braces, or an
/// expression as text. An expression can use `rank` and units: "if(rank == 3, 20us, 10us)", "8
/// MiB", "rank > 0", "0..3".
class Value {
 public:
  // The constructors are not explicit, so that values can be written as literals.
  template <std::integral T>
  Value(T number)  // NOLINT(google-explicit-constructor)
      : texts_{std::is_same_v<T, bool> ? (number ? "on" : "off") : std::to_string(number)} {}
  template <typename Rep, typename Period>
  Value(std::chrono::duration<Rep, Period> time)  // NOLINT(google-explicit-constructor)
      : texts_{time_text(std::chrono::nanoseconds(time).count())} {}
  Value(std::string text) : texts_{std::move(text)} {}  // NOLINT(google-explicit-constructor)
  Value(const char* text) : texts_{text} {}             // NOLINT(google-explicit-constructor)
  Value(std::initializer_list<const char*> words)       // NOLINT(google-explicit-constructor)
      : texts_(words.begin(), words.end()), is_list_(true) {}

  bool is_list() const { return is_list_; }
  const std::vector<std::string>& texts() const { return texts_; }  // one item unless is_list()

 private:
  static std::string time_text(std::int64_t ns);  // for example "10us"

  std::vector<std::string> texts_;
  bool is_list_ = false;
};

/// Additional keys and their values.
using Keys = std::vector<std::pair<std::string, Value>>;

/// A handle to an actor under construction. Copies refer to the same actor and keep it alive.
class Actor {
 public:
  Actor& on(const Value& ranks);  // the ranks that have the actor; default: all
  Actor& on(std::initializer_list<std::uint32_t> ranks);
  Actor& kind(
      std::string_view kind);        // repeat, accumulate, buffer, ...: docs/explanation/models.md
  Actor& times(const Value& times);  // ratio, for kinds with a rate
  Actor& stream(std::string_view stream);
  Actor& thread(std::string_view thread);
  Actor& phase(std::string_view phase);
  Actor& takes(const Value& time);
  Actor& source(const Value& ops);  // number of ops, if no input determines it
  Actor& collective(std::string_view operation, std::string_view group, const Keys& keys = {});

  /// Adds an input: `name` or `name.register`. `keys`: {{"on", 1}}, {{"rank", "rank - 1"}}, ...
  Actor& reads(std::string_view from, const Keys& keys = {});
  /// Adds a control input; `from` and `keys` are as in reads().
  Actor& after(std::string_view from, const Keys& keys = {});

  Actor& slots(const Value& slots);      // slots of its output `out`
  Actor& carries(const Value& tensors);  // tensors in `out`: {"weight", "bias"}
  /// Adds another output. `keys`: {{"slots", 2}, {"control", true}}, ...
  Actor& output(std::string_view name, const Keys& keys = {});

  /// Sets any other key of an actor: set("messages", "gated").
  Actor& set(std::string_view key, const Value& value);

  struct Data;  // internal
  explicit Actor(std::shared_ptr<Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<Data> data_;
};

/// A handle to a step of a host program under construction. Copies refer to the same step.
class Step {
 public:
  Step& name(std::string_view name);
  Step& on(const Value& ranks);
  Step& takes(const Value& time);
  Step& stream(std::string_view stream);
  Step& after(const Value& streams);  // {"compute"}: starts after the current work of these streams
  Step& bytes(const Value& bytes);
  Step& at(std::string_view where);  // a place in your program: "train.py:88 step"

  /// Sets any other key of a step: set("timeout", 30s).
  Step& set(std::string_view key, const Value& value);

  struct Data;  // internal
  explicit Step(std::shared_ptr<Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<Data> data_;
};

/// A handle to a host program, or to a block of one, under construction: its steps, in order.
/// Copies refer to the same steps.
class Steps {
 public:
  Step compute(std::string_view kernel);
  Step host(std::string_view what);
  /// Adds a collective call, such as all_reduce, on a group or a named communicator.
  Step call(std::string_view operation, std::string_view communicator);
  Step send(std::string_view communicator, const Value& to);
  Step recv(std::string_view communicator, const Value& from);
  Step synchronize(std::string_view stream = "device");

  /// Adds any other step, named by its first word: step("record", "copied"), step("barrier", "dp").
  Step step(std::string_view word, std::string_view of);

  Steps repeat(const Value& times);  // adds a block that runs `times` times
  Steps only_on(const Value& ranks);
  /// Adds calls that progress together: ncclGroupStart, batch_isend_irecv.
  Steps group();

  struct Data;  // internal
  explicit Steps(std::shared_ptr<Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<Data> data_;
};

/// A builder of task graphs. Copies refer to the same graph.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string_view name, std::uint32_t ranks = 1);

  GraphBuilder& micro_batches(std::int64_t count);

  /// Adds a group of communicating ranks: all ranks, or disjoint lists of ranks.
  GraphBuilder& group(std::string_view name);
  GraphBuilder& group(std::string_view name, const std::vector<std::vector<std::uint32_t>>& lists);

  /// Adds a stream, with a host thread of the same name. `keys`: {{"thread", "main"}}, ...
  GraphBuilder& stream(std::string_view name, const Keys& keys = {});

  Actor actor(std::string_view name);

  /// Returns the host program of a thread, on all ranks or on some.
  Steps program(std::string_view thread = "main");
  Steps program(std::string_view thread, const Value& on);

  /// Adds any other part of a scenario as text: "device: {resident: 1}", "cluster: {hosts: 2}".
  /// Each key can appear once.
  GraphBuilder& yaml(std::string_view text);

  /// Returns the scenario so far.
  std::string yaml() const;

  /// Returns the task graph. Throws Error, with all mistakes, if the graph has any.
  Graph build() const;

 private:
  struct Data;
  std::shared_ptr<Data> data_;
  std::string path_;  // path that messages show
};

}  // namespace pipesim
