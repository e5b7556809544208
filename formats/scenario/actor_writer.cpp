// Writes actors without the keys that follow from their kinds: compares each actor with a plain
// actor of the same kind.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "formats/document/value_writer.hpp"
#include "formats/scenario/field_writer.hpp"
#include "formats/scenario/section_readers.hpp"
#include "formats/scenario/section_writers.hpp"
#include "models/graph/actor_kinds.hpp"
#include "models/graph/by_name.hpp"

namespace pipesim::formats {
namespace {

using models::ActorTemplate;
using models::Expr;
using models::kNoIndex;
using models::ReadTemplate;
using models::RegisterTemplate;

class ActorWriter {
 public:
  ActorWriter(const models::TaskGraph& graph, const ActorTemplate& actor)
      : graph_(graph), actor_(actor) {
    plain_.registers.assign(actor.registers.size(), RegisterTemplate());
    kind_ = models::find_actor_kind(actor.kind);
    if (kind_ != nullptr) models::apply_kind(*kind_, actor.times, plain_);
    if (actor.collective) plain_.immediate = false;
  }

  YamlNode run();

 private:
  void add_place();
  void add_work();
  void add_collective();
  void add_registers();
  void add_reads(const char* key, bool control);
  YamlNode read(const ReadTemplate& read) const;

  const models::TaskGraph& graph_;
  const FieldWriter fields_{graph_};
  const ActorTemplate& actor_;
  const models::ActorKind* kind_ = nullptr;
  ActorTemplate plain_;  // actor that the reader makes from the kind alone
  YamlNode map_ = YamlNode::map();
};

YamlNode ActorWriter::run() {
  add_place();
  add_work();
  add_collective();
  add_registers();
  add_reads("reads", false);
  add_reads("after", true);
  return std::move(map_);
}

void ActorWriter::add_place() {
  if (actor_.on != models::RankSet::range(0, graph_.ranks)) {
    map_.add("on", ranks(actor_.on, graph_.ranks));
  }
  if (kind_ != nullptr) map_.add("kind", YamlNode::text(actor_.kind));
  if (kind_ != nullptr && kind_->rate != models::Rate::kOneToOne) {
    map_.add("times", expression(actor_.times, ValueType::kNumber));
  }
  if (actor_.phase != kNoIndex) map_.add("phase", YamlNode::text(graph_.phases[actor_.phase]));
  if (actor_.stream != kNoIndex) {
    map_.add("stream", YamlNode::text(graph_.streams[actor_.stream].name));
  }
}

void ActorWriter::add_work() {
  // In a cluster, a collective without a stated time can get a time from its bytes.
  const bool could_be_timed = graph_.cluster && actor_.collective && !actor_.collective->timed &&
                              (actor_.collective->bytes != 0 ||
                               actor_.collective->operation == models::Operation::kBarrier);
  fields_.write(actor_, plain_, map_, [&](std::string_view key) {
    if (key == "takes" && (actor_.takes != Expr() || could_be_timed)) {
      map_.add("takes", expression(actor_.takes, ValueType::kTime));
    }
  });
  if (actor_.input) {
    YamlNode input = YamlNode::map();
    input.add("items", expression(actor_.input->items, ValueType::kNumber));
    models::OutsideInputTemplate plain;
    plain.items = actor_.input->items;
    fields_.write(*actor_.input, plain, input);
    map_.add("waits_for_input", std::move(input));
  }
}

void ActorWriter::add_collective() {
  if (!actor_.collective) return;
  const models::CollectiveTemplate& from = *actor_.collective;
  YamlNode map = YamlNode::map();
  map.add(operation_name(from.operation), YamlNode::text(graph_.groups[from.group].name));
  if (from.bytes != 0 || (from.timed && from.operation != models::Operation::kBarrier)) {
    map.add("bytes", bytes(from.bytes));
  }
  fields_.write(from, {}, map);
  map_.add("collective", std::move(map));
}

// Writes the registers. Credits, size and tensors of `out` are keys of the actor itself.
void ActorWriter::add_registers() {
  YamlNode map = YamlNode::map();
  for (std::size_t i = 0; i < actor_.registers.size(); ++i) {
    const RegisterTemplate& reg = actor_.registers[i];
    const RegisterTemplate& usual = plain_.registers[i];
    YamlNode fields = YamlNode::map();
    for (const auto& field : models::kFields<RegisterTemplate>) {
      const bool of_actor = i == 0 && is_key_of_actor(field.name);
      fields_.write(field, reg, usual, of_actor ? map_ : fields);
    }
    if (i > 0 || !fields.empty()) map.add(reg.name, std::move(fields));
  }
  if (!map.empty()) map_.add("registers", std::move(map));
}

void ActorWriter::add_reads(const char* key, bool control) {
  YamlNode list = YamlNode::list();
  for (const ReadTemplate& each : actor_.reads) {
    if (graph_.actors[each.actor].registers[each.reg].control == control) list.add(read(each));
  }
  if (!list.empty()) map_.add(key, std::move(list));
}

YamlNode ActorWriter::read(const ReadTemplate& read) const {
  const ActorTemplate& producer = graph_.actors[read.actor];
  const RegisterTemplate& reg = producer.registers[read.reg];
  YamlNode map = YamlNode::map();
  std::string name = producer.name;
  // A dotted name refers to an actor of this name first, and only then to a register.
  const std::string dotted = fmt::format("{}.{}", producer.name, reg.name);
  const bool ambiguous =
      reg.name.find('.') != std::string::npos || index_of(graph_.actors, dotted) != kNoIndex;
  if (read.reg != 0 && !ambiguous) name = dotted;
  map.add("from", YamlNode::text(name));
  if (read.reg != 0 && ambiguous) map.add("register", YamlNode::text(reg.name));
  if (read.on != actor_.on) map.add("on", ranks(read.on, graph_.ranks));
  ReadTemplate plain;
  if (kind_ != nullptr) plain.ops_per_slot = models::ops_per_read(*kind_, actor_.times);
  fields_.write(read, plain, map);
  if (read.needs) {
    YamlNode needs = YamlNode::list();
    for (const std::string& name : *read.needs) needs.add(YamlNode::text(name));
    map.add("needs", std::move(needs));
  }
  return map.size() == 1 ? YamlNode::text(name) : map;
}

}  // namespace

YamlNode write_actors(const models::TaskGraph& graph) {
  YamlNode map = YamlNode::map();
  for (const ActorTemplate& actor : graph.actors) {
    if (!actor.step) map.add(actor.name, ActorWriter(graph, actor).run());
  }
  return map;
}

}  // namespace pipesim::formats
