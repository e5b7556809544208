// The `actors:` of a scenario.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/document/map_reader.hpp"
#include "formats/document/value_reader.hpp"
#include "formats/document/yaml_document.hpp"
#include "formats/scenario/actor_index.hpp"
#include "formats/scenario/field_reader.hpp"
#include "models/graph/actor_kinds.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// The backend of symmetric memory (TORCH_SYMMMEM), in the order of the words for it in scenarios.
enum class SymmetricMemory : std::uint8_t { kCuda, kNccl, kNvshmem };

/// Defaults of actors: the scenario's `defaults:`.
struct ActorDefaults {
  models::Expr launch_overhead;
  std::optional<bool> immediate;
  std::optional<bool> blocking;
  bool on_host = false;  // whether the host executes calls on communicators
  bool is_gloo = false;  // whether calls on the host are gloo calls
  // Whether a send or recv outside a batch uses a communicator of its two ranks.
  bool by_pairs = false;
  bool sends_empty = false;  // whether an all_to_all sends its empty parts
  bool of_nccl = false;      // whether the scenario names a backend that uses NCCL
  SymmetricMemory symmetric_memory = SymmetricMemory::kCuda;
};

/// Reads `actors:` into `graph`, which already has ranks, groups, threads, streams and
/// communicators. With `open_streams`, the scenario declares no streams: an actor's first use of a
/// stream adds it, with its own thread of the same name.
class ActorReader {
 public:
  ActorReader(const ValueReader& values, const ActorDefaults& defaults, bool open_streams,
              YamlDocument& document, models::TaskGraph& graph)
      : values_(values),
        defaults_(defaults),
        open_streams_(open_streams),
        document_(document),
        graph_(graph),
        fields_(values, graph),
        all_ranks_(models::RankSet::range(0, graph.ranks)),
        by_name_(graph) {}

  /// Reads all actors. Consumes `actors`, a part of the document.
  void read(const YamlValue& actors);

 private:
  struct Kind {
    const models::ActorKind* kind = nullptr;
    models::Expr times = models::Expr::constant(1);
  };

  // Reads of an actor that are resolved once all actors exist.
  struct Pending {
    std::uint32_t actor = 0;
    models::Boxed<Kind> kind;
    std::optional<YamlValue> reads;
    std::optional<YamlValue> after;

    bool is_control_only() const { return kind && kind->kind->control_only; }
  };

  bool read_entry(const YamlValue::Entry& entry);
  bool read_known(const Pending& pending);
  bool read_known(const Pending& pending, const YamlValue& list, bool control);
  void read_pending();
  models::ReadTemplate new_read(const Pending& pending, models::Place place) const;
  bool exists(MapReader& map) const;
  void read_actor(MapReader& map, models::ActorTemplate& actor, Pending& pending);
  void read_kind(MapReader& map, models::ActorTemplate& actor, Pending& pending);
  void read_stream(MapReader& map, models::ActorTemplate& actor);
  void read_behaviour(MapReader& map, models::ActorTemplate& actor);
  void warn_of_free_collective(const models::ActorTemplate& actor);
  void read_input(MapReader& map, models::ActorTemplate& actor);
  void read_collective(const YamlValue& value, models::ActorTemplate& actor);
  void read_registers(MapReader& map, models::ActorTemplate& actor);
  void read_reads(const Pending& pending, const std::optional<YamlValue>& value, bool control);
  void read_read(const Pending& pending, const YamlValue& value, bool control);
  bool read_long_read(const YamlValue& value, models::ReadTemplate& read, std::string& from,
                      std::string& reg);
  bool find_register(const std::string& name, const std::string& given, models::Place place,
                     models::ReadTemplate& read);
  std::uint32_t find_group(const YamlValue& value) const;
  models::Diagnostics& diagnostics() const { return values_.diagnostics(); }

  const ValueReader& values_;
  const ActorDefaults& defaults_;
  bool open_streams_;
  YamlDocument& document_;
  models::TaskGraph& graph_;
  FieldReader fields_;
  models::RankSet all_ranks_;
  std::uint32_t first_ = 0;       // first actor of this section
  std::vector<Pending> pending_;  // sorted by actor
  ActorIndex by_name_;
  std::vector<std::string> left_out_;  // names of actors with `when` off
};

}  // namespace pipesim::formats
