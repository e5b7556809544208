// Makes patches that edit a scenario from the scenario's document. formats/document/patch.hpp
// applies them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/document/tree.hpp"
#include "formats/document/yaml_document.hpp"
#include "formats/document/yaml_writer.hpp"
#include "formats/scenario/scenario.hpp"

#include "features/fix/edit.hpp"

namespace pipesim::formats {

/// Keys of a patch. nullopt: the scenario has no place for the edit, because the steps are
/// generated or belong to different lists, or because a list depends on a parameter.
using PatchKeys = std::optional<YamlNode>;

/// Makes patches of one document. Places of steps are places in this document.
class ScenarioEdits {
 public:
  using Place = models::Place;
  using RankSet = models::RankSet;

  /// Takes the root of a scenario for `ranks` ranks.
  ScenarioEdits(const YamlValue& root, std::uint32_t ranks) : root_(root), ranks_(ranks) {}

  /// Initializes all communicators at the start, including those with their own `creation`.
  PatchKeys init_at_start() const;
  /// Makes actor `second` wait for actor `first` on the ranks `on` (empty: on all ranks), and lets
  /// `first` run at most `ahead` ops ahead of `second`.
  PatchKeys actor_order(const std::string& first, const std::string& second, const RankSet& on,
                        std::int64_t ahead) const;

  /// Makes a step wait for a stream.
  PatchKeys wait(Place step, const std::string& stream) const;
  /// Merges two steps into one group, at the position of the second step if `at_second`, else of
  /// the first.
  PatchKeys batch(Place first, Place second, bool at_second) const;
  /// Moves `step` before `other` or, if `behind`, after `other`, on the ranks `on` (empty: on all
  /// ranks).
  PatchKeys move(Place step, Place other, bool behind, const RankSet& on) const;
  /// Reorders several lists of steps: in each list, moves the given steps into the given order.
  PatchKeys reorder(const std::vector<std::vector<Place>>& lists) const;
  /// Moves sends and recvs from communicator `from` to a new communicator `to` with the same
  /// properties.
  PatchKeys communicator(const std::vector<Place>& calls, const std::string& from,
                         const std::string& to) const;
  /// Runs a step on all ranks; if `whole_block`, runs the block around the step on all ranks.
  PatchKeys everywhere(Place step, bool whole_block) const;
  /// Copies a step before or, if `behind`, after `next`, on the ranks `on`.
  PatchKeys copy(Place step, Place next, bool behind, const RankSet& on) const;
  /// Adds the recv or send that matches `call` of rank `peer`, with the same size and type, before
  /// or, if `behind`, after `next`, on the ranks `on`. Returns nullopt if the size or type depends
  /// on the rank.
  PatchKeys matching_call(Place call, std::uint32_t peer, Place next, bool behind,
                          const RankSet& on) const;
  /// Drops a step, or keeps it only on the ranks `left`.
  PatchKeys drop(Place step, const std::optional<RankSet>& left) const;
  /// Sets keys of a step or call. `step` can also be the place of the value to set, if there is
  /// only one.
  PatchKeys set(Place step, const std::vector<std::pair<std::string, YamlNode>>& values) const;
  /// Replaces a row of a schedule; rows count from 1.
  PatchKeys row(std::uint32_t number, const std::string& row) const;

 private:
  // A step in a list.
  struct Item {
    Path list;
    std::size_t position = 0;  // counted from 1
    std::vector<YamlValue> items;
  };
  // Two steps of one list. Each can be alone in a block that is an item of the list.
  struct Pair {
    Path list;
    std::size_t first = 0;  // positions of both steps in the list
    std::size_t second = 0;
    Path first_path;
    Path second_path;
    std::vector<YamlValue> items;
  };
  struct Merged;

  std::optional<Item> item_at(Place step) const;
  std::optional<Pair> pair_at(Place first, Place second) const;
  bool is_alone_in(const Path& path, std::size_t depth) const;
  bool add_calls(const Path& path, std::size_t depth, Merged& merged) const;
  std::optional<YamlNode> without_conditions(const Path& path) const;
  PatchKeys inserted(Place next, bool behind, YamlNode step) const;
  YamlNode on(const RankSet& some) const;
  RankSet others(const RankSet& some) const;

  YamlValue root_;
  std::uint32_t ranks_;
};

/// A scenario and its state after edits.
class EditedScenario {
 public:
  /// Reads the scenario with one more patch; returns nullopt after mistakes.
  using Read = std::function<std::optional<Scenario>(const PatchText&)>;

  /// Takes the text of `scenario`, after the valid `patches`.
  EditedScenario(const Scenario& scenario, std::string text, std::vector<PatchText> patches,
                 Read read);

  const Scenario& unchanged() const { return scenario_; }

  /// Returns the document after `edits`. The document must not outlive this object.
  YamlDocument document(const std::vector<models::Edit>& edits) const;

  /// Returns the patch that makes `edits`. Each edit was made from the document after the previous
  /// edits. Returns an empty string if the edits cancel each other.
  std::string patch(const std::vector<models::Edit>& edits) const;

  /// Returns the task graph after `edits`; nullopt if they make the scenario invalid.
  std::optional<models::TaskGraph> graph(const std::vector<models::Edit>& edits) const;

 private:
  const Scenario& scenario_;
  std::string text_;
  std::vector<PatchText> patches_;
  Read read_;
};

}  // namespace pipesim::formats
