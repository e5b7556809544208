// Task graphs in code.
//
//   pipesim::GraphBuilder job("two_ranks", 2);
//   job.micro_batches(4).group("tp").stream("forward");
//   job.actor("batch").source(4).takes(1us);
//   job.actor("gather").stream("forward").takes(20us).collective("all_gather",
//   "tp").reads("batch"); pipesim::Graph graph = job.build();
//
// The words are those of a scenario, and mean what docs/reference/scenario-format.md says: the
// builder writes the scenario that yaml() shows, and build() reads it. So a mistake is told with
// the line that it is in, and what has no method of its own can be said by set() and yaml().
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

/// A number, a time (10us, of std::chrono), on/off, or an expression as text, which may use `rank`
/// and units: "if(rank == 3, 20us, 10us)", "8 MiB", "rank > 0", "0..3". Or a list of words, in
/// braces.
class Value {
 public:
  // What follows is not explicit, so that values can be written as they are.
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
  const std::vector<std::string>& texts() const { return texts_; }  // one, unless it is a list

 private:
  static std::string time_text(std::int64_t ns);  // "10us"

  std::vector<std::string> texts_;
  bool is_list_ = false;
};

/// Further keys of something, by name.
using Keys = std::vector<std::pair<std::string, Value>>;

/// An actor that is being described. Copies describe the same one, and keep it alive.
class Actor {
 public:
  Actor& on(const Value& ranks);  // the ranks that have it; all
  Actor& on(std::initializer_list<std::uint32_t> ranks);
  Actor& kind(
      std::string_view kind);        // docs/explanation/models.md: repeat, accumulate, buffer, ...
  Actor& times(const Value& times);  // of the kinds with a rate
  Actor& stream(std::string_view stream);
  Actor& thread(std::string_view thread);
  Actor& phase(std::string_view phase);
  Actor& takes(const Value& time);
  Actor& source(const Value& acts);  // how often it acts, if no input says so
  Actor& collective(std::string_view operation, std::string_view group, const Keys& keys = {});

  /// What it consumes: `name` or `name.register`. `keys`: {{"on", 1}}, {{"rank", "rank - 1"}}, ...
  Actor& reads(std::string_view from, const Keys& keys = {});
  /// The same of control registers.
  Actor& after(std::string_view from, const Keys& keys = {});

  Actor& slots(const Value& slots);      // the credits of its output `out`
  Actor& carries(const Value& tensors);  // what is in it: {"weight", "bias"}
  /// A further output. `keys`: {{"slots", 2}, {"control", true}}, ...
  Actor& output(std::string_view name, const Keys& keys = {});

  /// Any other key of an actor: set("messages", "gated").
  Actor& set(std::string_view key, const Value& value);

  struct Data;  // the library's own
  explicit Actor(std::shared_ptr<Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<Data> data_;
};

/// A step of a host program that is being described. Copies describe the same one.
class Step {
 public:
  Step& name(std::string_view name);
  Step& on(const Value& ranks);
  Step& takes(const Value& time);
  Step& stream(std::string_view stream);
  Step& after(const Value& streams);  // {"compute"}: comes after their work so far
  Step& bytes(const Value& bytes);
  Step& at(std::string_view where);  // in your program: "train.py:88 step"

  /// Any other key of a step: set("timeout", 30s).
  Step& set(std::string_view key, const Value& value);

  struct Data;  // the library's own
  explicit Step(std::shared_ptr<Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<Data> data_;
};

/// Steps of a host program that are being described, in their order: a whole program, or a block of
/// one. Copies describe the same.
class Steps {
 public:
  Step compute(std::string_view kernel);
  Step host(std::string_view what);
  /// A collective call: all_reduce, all_gather, ..., on a group or a named communicator.
  Step call(std::string_view operation, std::string_view communicator);
  Step send(std::string_view communicator, const Value& to);
  Step recv(std::string_view communicator, const Value& from);
  Step synchronize(std::string_view stream = "device");

  /// Any other step, by the word it begins with: step("record", "copied"), step("barrier", "dp").
  Step step(std::string_view word, std::string_view of);

  Steps repeat(const Value& times);  // a block
  Steps only_on(const Value& ranks);
  /// Calls that progress together: ncclGroupStart, batch_isend_irecv.
  Steps group();

  struct Data;  // the library's own
  explicit Steps(std::shared_ptr<Data> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<Data> data_;
};

/// A task graph that is being described. Copies describe the same one.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string_view name, std::uint32_t ranks = 1);

  GraphBuilder& micro_batches(std::int64_t count);

  /// Ranks that communicate: all, or disjoint lists of them.
  GraphBuilder& group(std::string_view name);
  GraphBuilder& group(std::string_view name, const std::vector<std::vector<std::uint32_t>>& lists);

  /// A stream, with a host thread of its name. `keys`: {{"thread", "main"}}, ...
  GraphBuilder& stream(std::string_view name, const Keys& keys = {});

  Actor actor(std::string_view name);

  /// What the host program of a thread does, on all ranks or on some.
  Steps program(std::string_view thread = "main");
  Steps program(std::string_view thread, const Value& on);

  /// Anything else of a scenario, as text: "device: {resident: 1}", "cluster: {hosts: 2}". A key is
  /// said once.
  GraphBuilder& yaml(std::string_view text);

  /// The scenario so far.
  std::string yaml() const;

  /// The task graph. Throws Error where it has mistakes, with all of them.
  Graph build() const;

 private:
  struct Data;
  std::shared_ptr<Data> data_;
  std::string path_;  // what messages call it
};

}  // namespace pipesim
