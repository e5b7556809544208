// The `programs:` of a scenario, and the `blocks:` that they call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "formats/document/map_reader.hpp"
#include "formats/document/value_reader.hpp"
#include "formats/document/yaml_document.hpp"
#include "formats/scenario/actor_reader.hpp"
#include "formats/scenario/program_names.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/call_times.hpp"

namespace pipesim::formats {

/// Reads host programs into `graph`, which already has ranks, groups, streams and communicators.
/// Each step becomes an actor of the program's thread, and a position in that thread's program. The
/// first use of an event, key, lock or thread adds it; with `open_streams`, also the first use of a
/// stream.
class ProgramReader {
 public:
  ProgramReader(const ValueReader& values, const ActorDefaults& defaults, bool open_streams,
                models::TaskGraph& graph);

  void read_blocks(const YamlValue& blocks);

  /// Reads all programs. Reports waits for a stream or an event that the rest of the file never
  /// uses: the name is probably misspelled.
  void read(const YamlValue& programs);

 private:
  using Steps = std::vector<models::ProgramStep>;

  // Thread and ranks of the steps being read.
  struct Context {
    std::uint32_t thread = 0;
    models::RankSet on;
  };

  // The form of a step on some of its ranks.
  struct Part {
    models::RankSet on;
    models::ShortList<models::CallTemplate> calls;
  };

  // Sets of ranks with the same picked options.
  struct ChoiceParts {
    std::vector<models::RankSet> parts;
    // Whether the step has choices by a number, which can depend on the rank.
    bool has_choices = false;
  };

  // A wait of a step for ops of another step, which can be later in the file.
  struct PendingWait {
    models::Place place;
    std::string step;
    std::uint32_t ahead = 0;

    friend bool operator==(const PendingWait&, const PendingWait&) = default;
  };

  // State of a program in which one thread drives all ranks of each list of a group.
  struct Turns {
    std::uint32_t group = 0;
    std::uint32_t thread = 0;
    // Communicator on which the hosts of a list's ranks meet between two steps.
    std::uint32_t communicator = 0;
    std::vector<std::uint32_t> actors;  // actors of the meetings, each for different ranks
    models::Place place;
  };

  // An actor that a step in a loop with an index has added, with the step's name in the file.
  struct MadeStep {
    std::string name;
    std::uint32_t actor = 0;
    std::vector<PendingWait> waits;
  };

  void read_program(const YamlValue& value);
  void read_one_thread(MapReader& map, Context& context, const std::string& thread);
  std::uint32_t turn_communicator(const std::string& name);
  std::uint32_t turn_of(const models::RankSet& on);
  bool is_of_one_each(const models::RankSet& on) const;
  bool has_whole_lists(const models::RankSet& on, std::uint32_t group) const;
  bool takes_one_turn(const MapReader& map, const models::RankSet& on) const;
  void read_in_turn(MapReader& map, const YamlValue& value, const Context& context, Steps& steps);
  void take_turns(const models::RankSet& on, bool together, Steps& steps,
                  const std::function<void(Steps&)>& read);
  void read_steps(const YamlValue& value, const Context& context, Steps& steps);
  bool count_visit(models::Place place);
  void read_step(const YamlValue& value, const Context& context, Steps& steps);
  void read_step_of_some(const YamlValue& value, const Context& context, Steps& steps);
  void read_known_step(MapReader& map, const YamlValue& value, const Context& inner, Steps& steps);
  ChoiceParts ranks_by_choice(const YamlValue& step, const models::RankSet& on);
  bool read_block(MapReader& map, const Context& context, Steps& steps);
  void read_repeat(MapReader& map, const YamlValue& times, const Context& context, Steps& steps);
  struct Loop;
  void read_turns_of_rounds(const Loop& loop, const Context& context, Steps& steps);
  void read_rounds(const Loop& loop, const Context& context, Steps& steps);
  std::optional<std::vector<Parameter>> read_with(const YamlValue& with, const std::string& block);
  void collect_names_of_block(const std::string& block, std::set<std::string>& names);
  std::optional<Value> read_given(const YamlValue& value);
  std::vector<YamlValue> listed(const YamlValue& value) const;
  bool read_call_of_block(MapReader& map, const Context& context, Steps& steps);
  bool read_again(MapReader& map, const Context& context, Steps& steps);
  std::optional<models::Numbering> read_numbers(const YamlValue& value);
  PendingWait read_wait(const YamlValue& value);
  std::vector<PendingWait> read_waits(MapReader& map, models::ActorTemplate& actor);
  void connect_waits();
  void refuse_step(const YamlValue& value);
  std::optional<models::RankSet> read_when(MapReader& map, const models::RankSet& outer);
  models::RankSet read_on(MapReader& map, const models::RankSet& outer);
  std::vector<Part> parts_of(const models::ActorTemplate& actor, const models::RankSet& on) const;
  static models::RankSet ranks_of(const std::vector<Part>& parts);
  void add_synchronize(const models::ActorTemplate& actor, const Context& context, Steps& steps);
  std::vector<Part> pairs_of(const models::ActorTemplate& actor, const models::RankSet& on);
  bool read_device_step(MapReader& map, models::ActorTemplate& actor, const Context& context);
  bool read_object_step(MapReader& map, models::ActorTemplate& actor);
  void read_host_step(MapReader& map, models::ActorTemplate& actor);
  bool read_calls(MapReader& map, models::ActorTemplate& actor, const Context& context);
  void read_group(const YamlValue& value, models::StepTemplate& step, const Context& context);
  void add_call(models::CallTemplate call, const models::RankSet& on, models::StepTemplate& step);
  bool read_one_call(MapReader& map, models::CallTemplate& call);
  void read_splits(const YamlValue& splits, const models::CallTemplate& call,
                   const models::RankSet& on);
  void make_messages(const models::CallTemplate& call, const models::RankSet& on);
  models::ShortList<models::CallTemplate> messages_of(const models::CallTemplate& call,
                                                      const std::vector<std::uint32_t>& members,
                                                      std::uint32_t rank);
  void read_tag(const YamlValue& tag, models::CallTemplate& call);
  void read_call_fields(MapReader& map, models::CallTemplate& call);
  bool read_common(MapReader& map, models::ActorTemplate& actor);
  void read_after(const YamlValue& after, const models::ActorTemplate& actor,
                  const Context& context, Steps& steps);
  void add_wait_for(std::uint32_t stream, models::Place place, const models::ActorTemplate& actor,
                    const Context& context, Steps& steps);
  void wait_for_pairs(const models::ActorTemplate& actor, const Context& context, Steps& steps);
  void refuse_event_of_pairs(const models::ActorTemplate& actor, const models::RankSet& on) const;
  std::uint32_t event_before(const std::string& name, models::Place place,
                             const models::RankSet& on);
  void read_times(MapReader& map, models::StepTemplate& step);
  void read_thread_blocks(const YamlValue& value, models::StepTemplate& step);
  void create_later(std::uint32_t communicator);
  void meet_hosts(models::ActorTemplate& actor, std::uint32_t communicator, const Context& context);
  bool read_symmetric(MapReader& map, models::ActorTemplate& actor, const Context& context);
  void set_symmetric(std::string_view word, std::uint32_t communicator,
                     models::ActorTemplate& actor, const Context& context);
  bool read_abort_or_shrink(MapReader& map, models::ActorTemplate& actor, const Context& context,
                            Steps& steps);
  models::ActorTemplate communicator_step(const YamlValue& name, models::Operation operation,
                                          const models::ActorTemplate& like);
  void add_before(models::ActorTemplate step, const Context& context, Steps& steps);
  void refuse_on_host(const models::CallTemplate& call);
  void check_ended(const models::ActorTemplate& actor, const Context& context);
  void read_synchronize(const YamlValue& value, models::ActorTemplate& actor);
  void read_input(MapReader& map, models::ActorTemplate& actor);
  void take_expr(MapReader& map, const char* key, ValueType type, models::Expr& target);

  std::optional<std::string> read_name(const YamlValue& value) const;
  void add_step(models::ActorTemplate actor, const std::vector<PendingWait>& waits,
                const Context& context, Steps& steps);
  std::optional<std::uint32_t> made_before(const models::ActorTemplate& actor,
                                           const std::vector<PendingWait>& waits) const;
  bool place_step(std::uint32_t actor, models::Place place, std::size_t ranks, Steps& steps);
  models::Diagnostics& diagnostics() const { return values_.diagnostics(); }

  std::vector<Parameter> parameters_;  // parameters of the open blocks, then the scenario's
  Scope scope_;
  ValueReader values_;
  const ActorDefaults& defaults_;
  models::TaskGraph& graph_;
  models::CallTimes call_times_;
  ProgramNames names_;
  std::map<std::string, YamlValue, std::less<>> blocks_;
  // Words that could name a parameter, by block.
  std::map<std::string, std::set<std::string>, std::less<>> names_in_;
  std::vector<std::string> open_blocks_;
  // Number of times that the reader has read a list of steps or a step, or has added a step to a
  // program.
  std::size_t visits_ = 0;
  std::uint64_t placed_ = 0;  // number of steps, counted once per rank
  std::size_t depth_ = 0;
  // Turns of the program; empty while a step of one rank per list is read.
  std::optional<Turns> turns_;
  std::vector<models::RankSet> calls_on_;  // ranks of each call of the step
  // Parts of a collective, if it consists of sends and recvs.
  std::optional<std::vector<Part>> split_parts_;
  std::vector<std::pair<std::uint32_t, PendingWait>> pending_waits_;  // actor, wait
  std::size_t open_loops_ = 0;  // number of open loops with an index
  // A communicator that a step has finalized, aborted or revoked, with the step's thread, ranks and
  // place.
  struct Ended {
    std::uint32_t communicator = 0;
    models::Operation by = models::Operation::kAbort;
    std::uint32_t thread = 0;
    models::RankSet on;
    models::Place place;
  };
  std::vector<Ended> ended_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<MadeStep>>
      made_;  // steps made by loops, by line and column
  using NamedPlace = std::tuple<std::uint32_t, std::uint32_t, std::string, std::uint32_t>;
  // Events of `after`, with their ranks, by name and place.
  std::map<NamedPlace, std::pair<models::RankSet, std::uint32_t>> made_events_;
  // Choices, by line and column of the step.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<YamlValue>> choices_;
};

}  // namespace pipesim::formats
