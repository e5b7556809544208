// Task graphs as the library passes them around, and the error for mistakes in them.
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

/// A mistake in a scenario, in a graph or in the name of a pass.
struct Mistake {
  std::uint32_t line = 0;    // from 1; 0: no location
  std::uint32_t column = 0;  // from 1, in bytes
  std::string message;
  std::vector<std::string> notes;  // help, and related locations
  std::string code;                // code such as "E0401", which `pipesim help E0401` explains
};

/// An error in the user's input. what() is the text that the command `pipesim` would print:
/// locations, messages, each line with a caret, and help.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, std::vector<Mistake> mistakes = {});

  /// Returns the individual mistakes, sorted by location; an empty list if a file cannot be read.
  const std::vector<Mistake>& mistakes() const { return *mistakes_; }

 private:
  std::shared_ptr<const std::vector<Mistake>> mistakes_;  // shared: copying must not throw
};

/// An immutable task graph. Copies share the graph, so copying is cheap; passes make new graphs.
///
/// Graphs come from a scenario (pipesim/scenario.hpp), from code (pipesim/builder.hpp), from passes
/// (pipesim/passes.hpp), or from the task graph itself (pipesim/task_graph.hpp).
class Graph {
 public:
  explicit Graph(models::TaskGraph graph);

  const std::string& name() const;
  std::uint32_t ranks() const;

  /// Returns the graph as a scenario, as `pipesim opt` prints it. Reading the scenario gives an
  /// equal graph.
  std::string yaml() const;

  /// Returns the underlying graph; include pipesim/task_graph.hpp to use it. The reference is valid
  /// as long as a copy of this Graph exists.
  const models::TaskGraph& task_graph() const;

  /// Whether two graphs are equal, apart from their source locations.
  friend bool operator==(const Graph& a, const Graph& b);

  /// Returns the differences as `pipesim diff` prints them (`a` is A, `b` is B); empty if the
  /// graphs are equal.
  friend std::string difference(const Graph& a, const Graph& b);

  struct Data;  // internal
  explicit Graph(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const std::shared_ptr<const Data>& data() const { return data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// Writes name and size of a graph; see also difference().
std::ostream& operator<<(std::ostream& out, const Graph& graph);

}  // namespace pipesim
