#include "models/graph/parts.hpp"

#include <algorithm>

namespace pipesim::models {
namespace {

const std::string& name_of_thing(const std::string& name) { return name; }

template <typename Thing>
const std::string& name_of_thing(const Thing& thing) {
  return thing.name;
}

}  // namespace

std::size_t count_of(const TaskGraph& graph, To to) {
  std::size_t count = 0;
  with_things(graph, to, [&](const auto& things) { count = things.size(); });
  return count;
}

std::vector<std::string> names_of(const TaskGraph& graph, To to) {
  std::vector<std::string> names;
  with_things(graph, to, [&](const auto& things) {
    for (const auto& thing : things) names.push_back(name_of_thing(thing));
  });
  return names;
}

std::string name_of(const TaskGraph& graph, To to, std::uint32_t index) {
  std::string name;
  with_things(graph, to, [&](const auto& things) { name = name_of_thing(things[index]); });
  return name;
}

std::uint32_t find_thing(const TaskGraph& graph, To to, std::string_view name) {
  std::uint32_t found = kNoIndex;
  with_things(graph, to, [&](const auto& things) {
    const auto at = std::find_if(things.begin(), things.end(),
                                 [&](const auto& thing) { return name_of_thing(thing) == name; });
    if (at != things.end()) found = static_cast<std::uint32_t>(at - things.begin());
  });
  return found;
}

const char* noun(To to) {
  constexpr const char* kNouns[] = {"nothing", "rank",         "actor", "group", "stream",
                                    "thread",  "communicator", "event", "lock",  "phase",
                                    "link",    "interface",    "host"};
  return kNouns[static_cast<std::size_t>(to)];
}

NamedObject object_of(sim::Role role) {
  switch (sim::facts(role).object) {
    case sim::Object::kSignal:
      return {&StepTemplate::event, To::kEvent};
    case sim::Object::kLock:
      return {&StepTemplate::lock, To::kLock};
    case sim::Object::kCommunicator:
      return {&StepTemplate::communicator, To::kCommunicator};
    case sim::Object::kNone:
    case sim::Object::kCount:
      break;
  }
  return {};
}

}  // namespace pipesim::models
