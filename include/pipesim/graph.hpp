// A task graph as the library hands it around, and what is thrown where one has mistakes.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pipesim::models {
struct TaskGraph;
}

namespace pipesim {

/// A mistake of who wrote a scenario, a graph or the name of a pass.
struct Mistake {
  std::uint32_t line = 0;    // from 1; 0: no place
  std::uint32_t column = 0;  // from 1, in bytes
  std::string message;
  std::vector<std::string> notes;  // what to do about it, and other places
  std::string code;                // as in "E0401", which `pipesim help E0401` explains
};

/// What the user asked for cannot be done. what() is all of it as the command `pipesim` would print
/// it: places, messages, each line with a caret, and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, std::vector<Mistake> mistakes = {});

  /// Each by itself, in the order of places. Empty for a file that cannot be read.
  const std::vector<Mistake>& mistakes() const { return *mistakes_; }

 private:
  std::shared_ptr<const std::vector<Mistake>> mistakes_;  // shared: copying must not throw
};

/// A task graph. It never changes, and copies share it, so copying is cheap; passes make new ones.
///
/// Graphs come from a scenario (pipesim/scenario.hpp), from code (pipesim/builder.hpp), from passes
/// (pipesim/passes.hpp), or from the task graph itself (pipesim/task_graph.hpp).
class Graph {
 public:
  explicit Graph(models::TaskGraph graph);

  const std::string& name() const;
  std::uint32_t ranks() const;

  /// The graph as a scenario that pipesim reads back as it, as `pipesim opt` prints it.
  std::string yaml() const;

  /// The graph itself; include pipesim/task_graph.hpp to look into it. Lives as long as a copy of
  /// this Graph does.
  const models::TaskGraph& task_graph() const;

  /// Whether both say the same; where they were written down does not matter.
  friend bool operator==(const Graph& a, const Graph& b);

  /// What is different in `b` (there B, and `a` is A), as `pipesim diff` prints it; empty where
  /// both say the same.
  friend std::string difference(const Graph& a, const Graph& b);

  struct Data;  // the library's own
  explicit Graph(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const std::shared_ptr<const Data>& data() const { return data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// Its name and size; difference() says more of two.
std::ostream& operator<<(std::ostream& out, const Graph& graph);

}  // namespace pipesim
