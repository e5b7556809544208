#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "formats/document/value_writer.hpp"
#include "formats/scenario/keys.hpp"
#include "formats/scenario/section_writers.hpp"
#include "models/graph/parts.hpp"

namespace pipesim::formats {
namespace {

using models::ActorTemplate;
using models::CallTemplate;
using models::Expr;
using models::kNoIndex;
using models::ProgramStep;
using models::RankSet;
using models::StepTemplate;
using sim::CallKind;
using sim::Role;

// Returns the first actor in `step`, or kNoIndex.
std::uint32_t first_actor(const ProgramStep& step) {
  if (step.actor != kNoIndex) return step.actor;
  if (!step.list.empty()) return step.list.front();
  for (const ProgramStep& inner : step.block) {
    const std::uint32_t found = first_actor(inner);
    if (found != kNoIndex) return found;
  }
  return kNoIndex;
}

YamlNode numbering(const models::Numbering& numbers) {
  YamlNode list = YamlNode::list();
  list.add(number(numbers.first));
  list.add(number(numbers.step));
  return list;
}

class StepWriter {
 public:
  StepWriter(const models::TaskGraph& graph, const ActorTemplate& actor)
      : graph_(graph), actor_(actor), step_(*actor.step) {}

  // Writes the work of the step into `map`.
  void write(YamlNode& map);

 private:
  void write_object_step(YamlNode& map);
  void write_work(YamlNode& map);
  void write_calls(YamlNode& map);
  void write_call(const CallTemplate& call, YamlNode& map) const;
  void write_common(YamlNode& map) const;
  void write_input(YamlNode& map) const;
  void name_after(std::string_view word, std::string_view rest = {}) {
    usual_name_ = word;
    if (!rest.empty()) usual_name_.append(" ").append(rest);
  }
  void head(YamlNode& map, const char* word, const std::string& what) {
    map.add(word, YamlNode::text(what));
    name_after(word, what);
  }

  const models::TaskGraph& graph_;
  const ActorTemplate& actor_;
  const StepTemplate& step_;
  std::string usual_name_;    // default name of the step
  std::string usual_stream_;  // default stream of the step
  bool usual_blocking_ = false;
};

void StepWriter::write(YamlNode& map) {
  switch (step_.role) {
    case Role::kOp:
      map.add("compute", YamlNode::text(actor_.name));
      name_after(actor_.name);
      usual_stream_ = "compute";
      if (actor_.takes != Expr()) map.add("takes", expression(actor_.takes, ValueType::kTime));
      break;
    case Role::kCalls:
      write_calls(map);
      break;
    case Role::kWork:
      write_work(map);
      break;
    case Role::kSynchronize: {
      if (step_.only_cold) {
        head(map, "load", actor_.name.substr(actor_.name.starts_with("load ") ? 5 : 0));
        break;
      }
      YamlNode streams = YamlNode::list();
      for (const std::uint32_t stream : step_.streams) {
        streams.add(YamlNode::text(graph_.streams[stream].name));
      }
      if (step_.streams.size() > 1) {
        map.add("synchronize", std::move(streams));
        name_after("synchronize");
      } else {
        head(map, "synchronize",
             step_.streams.empty() ? "device" : graph_.streams[step_.streams.front()].name);
      }
      break;
    }
    default:
      write_object_step(map);
  }
  write_common(map);
}

// Writes a step that names an event, a lock or a communicator.
void StepWriter::write_object_step(YamlNode& map) {
  const models::NamedObject object = models::object_of(step_.role);
  const bool shared = step_.event != kNoIndex && graph_.events[step_.event].shared;
  for (const keys::ObjectStep& kind : keys::object_steps()) {
    if (kind.role != step_.role || kind.shared != shared) continue;
    head(map, kind.word, models::name_of(graph_, object.to, step_.*object.index));
  }
  if (step_.implied) map.add("implied", truth(true));
  if (!sim::on_host(step_.role)) usual_stream_ = "compute";
  if (step_.times != 1) map.add("times", number(step_.times));
}

void StepWriter::write_work(YamlNode& map) {
  if (!step_.dies.empty()) {
    const std::string_view dies = step_.dies;
    if (dies.substr(0, 5) == "exit ") {
      map.add("exit", YamlNode::text(dies.substr(5)));
      name_after("exit");
    } else {
      map.add("raise", YamlNode::text(dies));
      name_after("raise");
    }
  } else if (actor_.input) {
    constexpr std::string_view kWord = "input ";
    const bool usual = std::string_view(actor_.name).substr(0, kWord.size()) == kWord;
    head(map, "input", usual ? actor_.name.substr(kWord.size()) : actor_.name);
    write_input(map);
  } else {
    map.add("host", YamlNode::text(actor_.name));
    name_after(actor_.name);
    if (actor_.takes != Expr()) map.add("takes", expression(actor_.takes, ValueType::kTime));
  }
}

void StepWriter::write_input(YamlNode& map) const {
  map.add("items", expression(actor_.input->items, ValueType::kNumber));
  if (actor_.input->first != Expr()) {
    map.add("first", expression(actor_.input->first, ValueType::kTime));
  }
  if (actor_.input->every != Expr()) {
    map.add("every", expression(actor_.input->every, ValueType::kTime));
  }
}

void StepWriter::write_calls(YamlNode& map) {
  // A call with its own name belongs to a group, even if its ranks make no other call.
  if (step_.calls.size() == 1 && step_.calls.front().name.empty()) {
    write_call(step_.calls.front(), map);
    if (step_.implied) map.add("implied", truth(true));
  } else {
    YamlNode calls = YamlNode::lines();
    for (const CallTemplate& call : step_.calls) {
      YamlNode fields = YamlNode::map();
      write_call(call, fields);
      calls.add(std::move(fields));
    }
    map.add("group", std::move(calls));
    name_after("group");
  }
  if (step_.calls.empty()) return;
  const CallTemplate& first = step_.calls.front();
  const models::CommunicatorTemplate& used = graph_.communicators[first.communicator];
  if (step_.calls.size() == 1 && first.name.empty())
    name_after(operation_name(first.operation), used.name);
  if (used.stream != kNoIndex) {
    usual_stream_ = graph_.streams[used.stream].name;
    usual_blocking_ = graph_.streams[used.stream].on_host || blocks_host(first.operation);
  }
}

void StepWriter::write_call(const CallTemplate& call, YamlNode& map) const {
  map.add(operation_name(call.operation),
          YamlNode::text(graph_.communicators[call.communicator].name));
  if (call.peer) {
    const char* key = call.kind == CallKind::kSend      ? "to"
                      : call.kind == CallKind::kReceive ? "from"
                                                        : "root";
    map.add(key, expression(*call.peer, ValueType::kNumber));
  } else if (call.from_any()) {
    map.add("from", YamlNode::text("any"));
  }
  if (!call.name.empty()) map.add("name", YamlNode::text(call.name));
  if (call.registered) map.add("registered", truth(true));
  if (call.aborts) map.add("aborts", truth(true));
  if (!call.waits) map.add("waits", truth(false));
  const bool barrier = call.operation == models::Operation::kBarrier;
  const bool says_bytes = call.sized || call.bytes != Expr() || (call.timed && !barrier);
  if (says_bytes) map.add("bytes", expression(call.bytes, ValueType::kBytes));
  if (!call.type.empty()) map.add("type", YamlNode::text(call.type));
  if (!call.tag.empty()) map.add("tag", YamlNode::text(call.tag));
  if (call.tag_numbers) map.add("tag_numbers", numbering(*call.tag_numbers));
  const bool could_be_timed = graph_.cluster && !call.timed && (says_bytes || barrier);
  if (call.takes != Expr() || could_be_timed) {
    map.add("takes", expression(call.takes, ValueType::kTime));
  }
  if (call.algorithm) map.add("algorithm", YamlNode::text(algorithm_name(*call.algorithm)));
}

// Writes the keys that steps of several kinds share.
void StepWriter::write_common(YamlNode& map) const {
  const bool on_host = sim::on_host(step_.role);
  if (actor_.name != usual_name_) map.add("name", YamlNode::text(actor_.name));
  if (!on_host && actor_.stream != kNoIndex &&
      graph_.streams[actor_.stream].name != usual_stream_) {
    map.add("stream", YamlNode::text(graph_.streams[actor_.stream].name));
  }
  if (actor_.launch_overhead != Expr()) {
    map.add("launch_overhead", expression(actor_.launch_overhead, ValueType::kTime));
  }
  if (!on_host && actor_.blocking != usual_blocking_) {
    map.add("blocking", truth(actor_.blocking));
  }
  if (on_host && step_.timeout_ns) map.add("timeout", time(*step_.timeout_ns));
  if (actor_.phase != kNoIndex) map.add("phase", YamlNode::text(graph_.phases[actor_.phase]));
  if (!step_.at.empty()) map.add("at", YamlNode::text(step_.at));
  if (actor_.numbers) map.add("numbers", numbering(*actor_.numbers));
  if (actor_.step->ctas) map.add("ctas", expression(*actor_.step->ctas, ValueType::kNumber));
  if (actor_.step->cooperative) map.add("cooperative", truth(true));
  if (actor_.step->cluster != 1) map.add("cluster", number(actor_.step->cluster));
  if (actor_.behind != kNoIndex) {
    map.add("behind", YamlNode::text(graph_.streams[actor_.behind].name));
  }
  if (actor_.after.empty()) return;
  YamlNode waits = YamlNode::list();
  for (const models::AfterTemplate& after : actor_.after) {
    YamlNode wait = YamlNode::map();
    wait.add("step", YamlNode::text(graph_.actors[after.actor].name));
    if (after.ahead > 0) wait.add("ahead", number(after.ahead));
    waits.add(std::move(wait));
  }
  map.add("waits_for", std::move(waits));
}

class ProgramWriter {
 public:
  ProgramWriter(const models::TaskGraph& graph, bool brief)
      : graph_(graph), all_(RankSet::range(0, graph.ranks)), brief_(brief) {}

  YamlNode run();

 private:
  YamlNode program(const models::HostThread& thread, const ProgramStep& block);
  YamlNode steps(const std::vector<ProgramStep>& steps, const RankSet& on);
  YamlNode op(std::uint32_t index, const RankSet& on, const std::vector<std::string>& after = {});
  std::vector<std::string> awaited_by(std::vector<std::uint32_t>& actors);
  bool is_wait_of(std::uint32_t record, std::uint32_t wait, std::uint32_t step) const;

  const models::TaskGraph& graph_;
  RankSet all_;
  const bool brief_;
  std::map<std::uint32_t, int> uses_;  // number of uses of each actor, in brief form
  std::set<std::uint32_t> written_;
};

void count_uses(const std::vector<ProgramStep>& steps, std::map<std::uint32_t, int>& uses) {
  for (const ProgramStep& step : steps) {
    if (step.actor != kNoIndex) ++uses[step.actor];
    for (const std::uint32_t actor : step.list) ++uses[actor];
    count_uses(step.block, uses);
  }
}

// Writes all programs. The actors of steps are in file order, so programs are sorted by their first
// actor.
YamlNode ProgramWriter::run() {
  std::vector<std::tuple<std::uint32_t, const models::HostThread*, const ProgramStep*>> programs;
  for (const models::HostThread& thread : graph_.threads) {
    if (!is_host_program(graph_, thread)) continue;
    if (brief_) count_uses(thread.program, uses_);
    std::uint32_t first = 0;
    for (const ProgramStep& block : thread.program) {
      const std::uint32_t actor = first_actor(block);
      if (actor != kNoIndex) first = actor;
      programs.emplace_back(first, &thread, &block);
    }
  }
  std::stable_sort(programs.begin(), programs.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  YamlNode list = YamlNode::list();
  for (const auto& [first, thread, block] : programs) list.add(program(*thread, *block));
  return list;
}

YamlNode ProgramWriter::program(const models::HostThread& thread, const ProgramStep& block) {
  const RankSet& on = block.on ? *block.on : all_;
  const bool is_block = block.actor == kNoIndex && block.list.empty() && block.times == 1;
  YamlNode map = YamlNode::map();
  if (is_block && on != all_) map.add("on", ranks(on, graph_.ranks));
  if (thread.name != "main") map.add("thread", YamlNode::text(thread.name));
  map.add("do", is_block ? steps(block.block, on) : steps({block}, all_));
  return map;
}

YamlNode ProgramWriter::steps(const std::vector<ProgramStep>& steps, const RankSet& on) {
  YamlNode list = YamlNode::lines();
  std::vector<std::uint32_t> run;  // actors not written yet: `after` merges some into one step
  const auto write_run = [&] {
    std::reverse(run.begin(), run.end());
    while (!run.empty()) {
      const std::vector<std::string> after = awaited_by(run);
      list.add(op(run.back(), on, after));
      run.pop_back();
    }
  };
  for (const ProgramStep& step : steps) {
    if (step.actor != kNoIndex) run.push_back(step.actor);
    run.insert(run.end(), step.list.begin(), step.list.end());
    if (step.actor != kNoIndex || !step.list.empty()) continue;
    write_run();
    YamlNode map = YamlNode::map();
    const RankSet& inner = step.on ? *step.on : on;
    if (inner != on) map.add("on", ranks(inner, graph_.ranks));
    if (step.times != 1) map.add("repeat", number(step.times));
    map.add("do", this->steps(step.block, inner));
    list.add(std::move(map));
  }
  write_run();
  return list;
}

// Returns the streams that the next step waits for through `after`. Removes the steps of the waits,
// which precede the step at the end of `actors`.
std::vector<std::string> ProgramWriter::awaited_by(std::vector<std::uint32_t>& actors) {
  std::vector<std::string> streams;
  if (!brief_) return streams;
  std::size_t step = actors.size() - 1;
  const auto is = [&](std::size_t at, Role role) {
    const models::StepTemplate& known = *graph_.actors[actors[at]].step;
    return known.implied && known.role == role;
  };
  while (step >= 2 && is(step, Role::kWait) && is(step - 1, Role::kRecord)) step -= 2;
  for (std::size_t at = actors.size() - 1; at > step; at -= 2) {
    if (!is_wait_of(actors[at], actors[at - 1], actors[step])) return {};
    streams.push_back(graph_.streams[graph_.actors[actors[at]].stream].name);
  }
  actors.resize(step + 1);
  return streams;
}

// Whether `record` and `wait` are the two steps that `after` adds before `step`.
bool ProgramWriter::is_wait_of(std::uint32_t record, std::uint32_t wait, std::uint32_t step) const {
  const ActorTemplate& first = graph_.actors[record];
  const ActorTemplate& second = graph_.actors[wait];
  const ActorTemplate& user = graph_.actors[step];
  const auto once = [&](std::uint32_t actor) { return uses_.at(actor) == 1; };
  const bool same_ranks = first.on == user.on && second.on == user.on;
  return first.step->role == Role::kRecord && second.step->role == Role::kWait &&
         first.step->event == second.step->event && !user.step->implied &&
         !sim::on_host(user.step->role) && second.stream == user.stream && same_ranks &&
         first.step->at == user.step->at && once(record) && once(wait) && once(step);
}

// Writes the work of a step at its first use, and `again` later.
YamlNode ProgramWriter::op(std::uint32_t index, const RankSet& on,
                           const std::vector<std::string>& after) {
  const ActorTemplate& actor = graph_.actors[index];
  YamlNode map = YamlNode::map();
  if (written_.insert(index).second) {
    StepWriter(graph_, actor).write(map);
  } else {
    map.add("again", YamlNode::text(actor.name));
  }
  YamlNode streams = YamlNode::list();
  for (const std::string& stream : after) streams.add(YamlNode::text(stream));
  if (!after.empty()) map.add("after", std::move(streams));
  if (actor.on != on) map.add("on", ranks(actor.on, graph_.ranks));
  return map;
}

}  // namespace

bool is_host_program(const models::TaskGraph& graph, const models::HostThread& thread) {
  for (const ProgramStep& step : thread.program) {
    const std::uint32_t first = first_actor(step);
    if (first != kNoIndex) return graph.actors[first].step.has_value();
  }
  return false;
}

YamlNode write_programs(const models::TaskGraph& graph, bool brief) {
  return ProgramWriter(graph, brief).run();
}

}  // namespace pipesim::formats
