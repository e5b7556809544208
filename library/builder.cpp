// The builder stores its input as a YAML tree and writes the tree as a scenario. So the reader
// alone defines the meaning of words and defaults.
#include "pipesim/builder.hpp"

#include <array>
#include <deque>

#include "formats/document/value_writer.hpp"
#include "formats/document/versions.hpp"
#include "formats/scenario/scenario_text.hpp"
#include "pipesim/scenario.hpp"

namespace pipesim {
namespace {

using formats::ScenarioMap;
using formats::YamlNode;

YamlNode node(const Value& value) {
  if (!value.is_list()) return YamlNode::value(value.texts().front());
  return formats::text_list(value.texts());
}

// Returns `first` with the additional `keys`.
ScenarioMap with_keys(ScenarioMap first, const Keys& keys) {
  for (const auto& [key, value] : keys) first.add(key, node(value));
  return first;
}

// Returns a read in short form, or in long form if there are `keys`.
YamlNode read_node(std::string_view from, const Keys& keys) {
  if (keys.empty()) return YamlNode::text(from);
  return with_keys(ScenarioMap("from", from), keys);
}

}  // namespace

std::string Value::time_text(std::int64_t ns) {
  constexpr std::array<std::pair<std::int64_t, const char*>, 3> kUnits = {
      {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}}};
  for (const auto& [size, unit] : kUnits) {
    if (ns != 0 && ns % size == 0) return std::to_string(ns / size) + unit;
  }
  return std::to_string(ns) + "ns";
}

struct Actor::Data {
  ScenarioMap keys;
  ScenarioMap registers;
  YamlNode reads = YamlNode::list();
  YamlNode after = YamlNode::list();

  YamlNode node() const {
    ScenarioMap result = keys;
    if (!registers.empty()) result.add("registers", registers);
    if (!reads.empty()) result.add("reads", reads);
    if (!after.empty()) result.add("after", after);
    return result;
  }
};

Actor& Actor::on(const Value& ranks) { return set("on", ranks); }

Actor& Actor::on(std::initializer_list<std::uint32_t> ranks) {
  data_->keys.add("on", formats::rank_list(ranks));
  return *this;
}

Actor& Actor::kind(std::string_view kind) {
  data_->keys.text("kind", kind);
  return *this;
}

Actor& Actor::times(const Value& times) { return set("times", times); }

Actor& Actor::stream(std::string_view stream) {
  data_->keys.text("stream", stream);
  return *this;
}

Actor& Actor::thread(std::string_view thread) {
  data_->keys.text("thread", thread);
  return *this;
}

Actor& Actor::phase(std::string_view phase) {
  data_->keys.text("phase", phase);
  return *this;
}

Actor& Actor::takes(const Value& time) { return set("takes", time); }

Actor& Actor::source(const Value& ops) { return set("source", ops); }

Actor& Actor::collective(std::string_view operation, std::string_view group, const Keys& keys) {
  data_->keys.add("collective", with_keys(ScenarioMap(operation, group), keys));
  return *this;
}

Actor& Actor::reads(std::string_view from, const Keys& keys) {
  data_->reads.add(read_node(from, keys));
  return *this;
}

Actor& Actor::after(std::string_view from, const Keys& keys) {
  data_->after.add(read_node(from, keys));
  return *this;
}

Actor& Actor::slots(const Value& slots) { return set("slots", slots); }

Actor& Actor::carries(const Value& tensors) { return set("carries", tensors); }

Actor& Actor::output(std::string_view name, const Keys& keys) {
  data_->registers.add(name, with_keys({}, keys));
  return *this;
}

Actor& Actor::set(std::string_view key, const Value& value) {
  data_->keys.add(key, node(value));
  return *this;
}

struct Steps::Data {
  // A step or a block; the other pointer is null.
  struct Item {
    std::shared_ptr<Step::Data> step;
    std::shared_ptr<Data> block;
  };
  ScenarioMap head;
  std::string key = "do";
  std::deque<Item> items;

  YamlNode node() const;
};

struct Step::Data {
  ScenarioMap keys;
};

YamlNode Steps::Data::node() const {
  YamlNode list = YamlNode::list();
  for (const Item& item : items) list.add(item.step ? item.step->keys : item.block->node());
  return ScenarioMap(head).add(key, std::move(list));
}

Step& Step::name(std::string_view name) {
  data_->keys.text("name", name);
  return *this;
}

Step& Step::on(const Value& ranks) { return set("on", ranks); }

Step& Step::takes(const Value& time) { return set("takes", time); }

Step& Step::stream(std::string_view stream) {
  data_->keys.text("stream", stream);
  return *this;
}

Step& Step::after(const Value& streams) { return set("after", streams); }

Step& Step::bytes(const Value& bytes) { return set("bytes", bytes); }

Step& Step::at(std::string_view where) {
  data_->keys.text("at", where);
  return *this;
}

Step& Step::set(std::string_view key, const Value& value) {
  data_->keys.add(key, node(value));
  return *this;
}

Step Steps::compute(std::string_view kernel) { return step("compute", kernel); }

Step Steps::host(std::string_view what) { return step("host", what); }

Step Steps::call(std::string_view operation, std::string_view communicator) {
  return step(operation, communicator);
}

Step Steps::send(std::string_view communicator, const Value& to) {
  return step("send", communicator).set("to", to);
}

Step Steps::recv(std::string_view communicator, const Value& from) {
  return step("recv", communicator).set("from", from);
}

Step Steps::synchronize(std::string_view stream) { return step("synchronize", stream); }

Step Steps::step(std::string_view word, std::string_view of) {
  auto data = std::make_shared<Step::Data>();
  data->keys.text(word, of);
  data_->items.push_back({data, nullptr});
  return Step(std::move(data));
}

Steps Steps::repeat(const Value& times) {
  auto block = std::make_shared<Data>();
  block->head.add("repeat", node(times));
  data_->items.push_back({nullptr, block});
  return Steps(std::move(block));
}

Steps Steps::only_on(const Value& ranks) {
  auto block = std::make_shared<Data>();
  block->head.add("on", node(ranks));
  data_->items.push_back({nullptr, block});
  return Steps(std::move(block));
}

Steps Steps::group() {
  auto block = std::make_shared<Data>();
  block->key = "group";
  data_->items.push_back({nullptr, block});
  return Steps(std::move(block));
}

struct GraphBuilder::Data {
  ScenarioMap top;  // name, ranks, micro_batches
  ScenarioMap groups;
  ScenarioMap streams;
  std::string more;
  std::vector<std::pair<std::string, std::shared_ptr<Actor::Data>>> actors;
  std::vector<std::shared_ptr<Steps::Data>> programs;
};

GraphBuilder::GraphBuilder(std::string_view name, std::uint32_t ranks)
    : data_(std::make_shared<Data>()) {
  data_->top.value("schema", formats::kScenarioSchema).text("name", name).number("ranks", ranks);
  path_ = "task graph '" + std::string(name) + "'";
}

GraphBuilder& GraphBuilder::micro_batches(std::int64_t count) {
  data_->top.number("micro_batches", count);
  return *this;
}

GraphBuilder& GraphBuilder::group(std::string_view name) {
  data_->groups.text(name, "all");
  return *this;
}

GraphBuilder& GraphBuilder::group(std::string_view name,
                                  const std::vector<std::vector<std::uint32_t>>& lists) {
  YamlNode all = YamlNode::list();
  for (const std::vector<std::uint32_t>& ranks : lists) all.add(formats::rank_list(ranks));
  data_->groups.add(name, std::move(all));
  return *this;
}

GraphBuilder& GraphBuilder::stream(std::string_view name, const Keys& keys) {
  data_->streams.add(name, with_keys({}, keys));
  return *this;
}

Actor GraphBuilder::actor(std::string_view name) {
  auto data = std::make_shared<Actor::Data>();
  data_->actors.emplace_back(name, data);
  return Actor(std::move(data));
}

Steps GraphBuilder::program(std::string_view thread) {
  auto data = std::make_shared<Steps::Data>();
  data->head.text("thread", thread);
  data_->programs.push_back(data);
  return Steps(std::move(data));
}

Steps GraphBuilder::program(std::string_view thread, const Value& on) {
  Steps steps = program(thread);
  data_->programs.back()->head.add("on", node(on));
  return steps;
}

GraphBuilder& GraphBuilder::yaml(std::string_view text) {
  data_->more += text;
  data_->more += '\n';
  return *this;
}

std::string GraphBuilder::yaml() const {
  YamlNode work = YamlNode::map();
  YamlNode actors = YamlNode::map();
  for (const auto& [name, actor] : data_->actors) actors.add(name, actor->node());
  if (!actors.empty()) work.add("actors", std::move(actors));
  YamlNode programs = YamlNode::list();
  for (const auto& program : data_->programs) programs.add(program->node());
  if (!programs.empty()) work.add("programs", std::move(programs));

  YamlNode top = data_->top;
  if (!data_->groups.empty()) top.add("groups", data_->groups);
  if (!data_->streams.empty()) top.add("streams", data_->streams);
  std::string text = top.document({"groups"}) + data_->more;
  if (!work.empty()) text += work.document({"actors", "programs"});
  return text;
}

Graph GraphBuilder::build() const { return parse_scenario(yaml(), {}, path_); }

}  // namespace pipesim
