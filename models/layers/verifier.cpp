#include "models/layers/verifier.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/actor_kinds.hpp"
#include "models/graph/parts.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::models {
namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

// Returns "`what` is in line 3", or an empty string for a graph built in code.
std::string line_note(const std::string& what, Place place) {
  return place.line == 0 ? std::string() : what + " is in " + line_text(place);
}

void add_note(Diagnostic& diagnostic, std::string note) {
  if (!note.empty()) diagnostic.notes.push_back(std::move(note));
}

// ---------------------------------------------------------------------------------------------
// Rule 1 of verifier.hpp

class References {
 public:
  References(const TaskGraph& graph, Diagnostics& diagnostics)
      : graph_(graph), diagnostics_(diagnostics) {}

  bool run();

 private:
  void actor(const ActorTemplate& actor);
  void read(const ActorTemplate& reader, const ReadTemplate& read);
  void step(const ActorTemplate& actor, const StepTemplate& step);
  void program(const HostThread& thread, const std::vector<ProgramStep>& steps);
  void faults();

  // Checks that `index` refers to something, or is kNoIndex if `may_be_none`.
  void check(std::uint32_t index, To to, bool may_be_none, const std::string& whose, Place place) {
    const std::size_t count = to == To::kRank ? graph_.ranks : count_of(graph_, to);
    if ((index == kNoIndex && may_be_none) || index < count) return;
    diagnostics_.error(place, Code::kBrokenGraph,
                       whose + " refers to " + noun(to) + " number " + std::to_string(index) +
                           ", but there are " + std::to_string(count));
    good_ = false;
  }
  void check(const RankSet& set, const std::string& whose, Place place) {
    if (!set.empty()) check(set[set.size() - 1], To::kRank, false, whose, place);
  }

  // Checks all references of `part`. Keys with a default can be kNoIndex.
  template <typename T>
  void check_part(const T& part, const std::string& whose, Place place) {
    for_each_rank_set(part, [&](const RankSet& set) { check(set, whose, place); });
    for (const Field<T>& field : kFields<T>) {
      visit_member(field, part, [&](const auto& member) {
        using M = std::remove_cvref_t<decltype(member)>;
        if (field.value.to == To::kNothing) return;
        if constexpr (std::is_same_v<M, std::uint32_t>) {
          check(member, field.value.to, field.otherwise != kRequired, whose, place);
        } else if constexpr (kIsIndexList<M>) {
          for (const std::uint32_t index : member) {
            check(index, field.value.to, false, whose, place);
          }
        }
      });
    }
  }

  const TaskGraph& graph_;
  Diagnostics& diagnostics_;
  bool good_ = true;
};

bool References::run() {
  for (const Group& group : graph_.groups) {
    for (const auto& list : group.lists) {
      for (const std::uint32_t rank : list) {
        check(rank, To::kRank, false, "group " + quoted(group.name), group.place);
      }
    }
  }
  for (const StreamTemplate& stream : graph_.streams) {
    check_part(stream, "stream " + quoted(stream.name), stream.place);
  }
  for (const CommunicatorTemplate& each : graph_.communicators) {
    check_part(each, "communicator " + quoted(each.name), each.place);
    check_part(each.init, "communicator " + quoted(each.name), each.place);
  }
  check_part(graph_.init, "the graph", {});
  for (const HostThread& thread : graph_.threads) program(thread, thread.program);
  for (const ActorTemplate& each : graph_.actors) actor(each);
  faults();
  return good_;
}

void References::program(const HostThread& thread, const std::vector<ProgramStep>& steps) {
  const std::string whose = "the program of thread " + quoted(thread.name);
  for (const ProgramStep& step : steps) {
    check(step.actor, To::kActor, true, whose, step.place);
    for (const std::uint32_t actor : step.list) check(actor, To::kActor, false, whose, step.place);
    if (step.on) check(*step.on, whose, step.place);
    program(thread, step.block);
  }
}

void References::actor(const ActorTemplate& actor) {
  const std::string whose = quoted(actor.name);
  check_part(actor, whose, actor.place);
  for (const AfterTemplate& after : actor.after) check_part(after, whose, actor.place);
  if (actor.collective) check_part(*actor.collective, whose, actor.place);
  for (const ReadTemplate& each : actor.reads) read(actor, each);
  if (actor.step) step(actor, *actor.step);
}

void References::read(const ActorTemplate& reader, const ReadTemplate& read) {
  const std::string whose = "what " + quoted(reader.name) + " reads";
  check_part(read, whose, read.place);
  if (read.actor >= graph_.actors.size()) return;
  const ActorTemplate& producer = graph_.actors[read.actor];
  if (read.reg < producer.registers.size()) return;
  add_note(diagnostics_.error(read.place, Code::kBrokenGraph,
                              whose + " has no producer: " + quoted(producer.name) + " has " +
                                  std::to_string(producer.registers.size()) +
                                  " registers, and this is number " + std::to_string(read.reg)),
           line_note(quoted(producer.name), producer.place));
  good_ = false;
}

void References::step(const ActorTemplate& actor, const StepTemplate& step) {
  const std::string whose = quoted(actor.name);
  check_part(step, whose, actor.place);
  for (const CallTemplate& call : step.calls) check_part(call, whose, call.place);
  // The role decides which references are required.
  const auto require = [&](std::uint32_t index, To to) {
    if (index == kNoIndex) check(index, to, false, whose, actor.place);
  };
  const NamedObject object = object_of(step.role);
  if (object.index != nullptr) require(step.*object.index, object.to);
  if (!on_host(step.role) && !step.calls.empty()) require(actor.stream, To::kStream);
  require(actor.thread, To::kThread);
}

void References::faults() {
  const std::string whose = "a fault";
  for (const RankFault& fault : graph_.faults.ranks) {
    check_part(fault, whose, fault.place);
    if (!fault.at) check(fault.actor, To::kActor, false, whose, fault.place);
  }
  for (const LinkFault& fault : graph_.faults.links) {
    check(fault.link, To::kLink, false, whose, fault.place);
    if (!fault.hosts) continue;
    check(fault.hosts->first, To::kHost, false, whose, fault.place);
    check(fault.hosts->second, To::kHost, false, whose, fault.place);
  }
  for (const PortFault& fault : graph_.faults.ports) check_part(fault, whose, fault.place);
  for (const DeniedFault& fault : graph_.faults.denied) {
    check(fault.communicator, To::kCommunicator, false, whose, fault.place);
  }
}

// ---------------------------------------------------------------------------------------------
// Rules 2 to 4 of verifier.hpp

class Verifier {
 public:
  Verifier(const TaskGraph& graph, Diagnostics& diagnostics)
      : graph_(graph), diagnostics_(diagnostics) {}

  void check_names();
  void check_form();
  void check_tensors();

 private:
  template <typename Items>
  void check_unique(const Items& items, const std::string& what) {
    std::map<std::string, Place> seen;
    for (const auto& item : items) {
      const auto [first, is_new] = seen.emplace(item.name, item.place);
      if (!is_new) tell_twice(what, item.name, item.place, first->second);
    }
  }
  void tell_twice(const std::string& what, const std::string& name, Place place, Place first) {
    add_note(
        diagnostics_.error(place, Code::kBrokenGraph, "there are two " + what + " " + quoted(name)),
        line_note("the first", first));
  }
  void check_words(const std::vector<std::string>& words, const std::string& what);
  void check_actor_names();
  void check_actor(const ActorTemplate& actor);
  void check_program(const HostThread& thread, const std::vector<ProgramStep>& steps,
                     bool& has_steps, bool& has_actors);
  void check_edge(const ActorTemplate& reader, const ReadTemplate& read);

  const TaskGraph& graph_;
  Diagnostics& diagnostics_;
};

void Verifier::check_names() {
  check_unique(graph_.groups, "groups");
  check_unique(graph_.threads, "host threads");
  check_unique(graph_.streams, "streams");
  check_unique(graph_.communicators, "communicators");
  check_unique(graph_.events, "events");
  check_words(names_of(graph_, To::kLock), "locks");
  check_words(graph_.phases, "phases");
  for (const ActorTemplate& actor : graph_.actors) {
    check_unique(actor.registers, "registers of " + quoted(actor.name));
  }
  check_actor_names();
}

void Verifier::check_words(const std::vector<std::string>& words, const std::string& what) {
  std::vector<std::string> sorted = words;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) tell_twice(what, *twice, {}, {});
}

// Checks that actors have unique names. Only steps of host programs can share a name, if they are
// on different ranks.
void Verifier::check_actor_names() {
  std::map<std::string, std::vector<std::uint32_t>> by_name;
  for (std::uint32_t i = 0; i < graph_.actors.size(); ++i) {
    const ActorTemplate& actor = graph_.actors[i];
    std::vector<std::uint32_t>& others = by_name[actor.name];
    for (const std::uint32_t other : others) {
      const RankSet& on = graph_.actors[other].on;
      const bool shares = std::any_of(actor.on.begin(), actor.on.end(),
                                      [&](std::uint32_t rank) { return on.contains(rank); });
      if (actor.step && graph_.actors[other].step && !shares) continue;
      tell_twice("actors", actor.name, actor.place, graph_.actors[other].place);
      break;
    }
    others.push_back(i);
  }
}

void Verifier::check_form() {
  for (const ActorTemplate& actor : graph_.actors) check_actor(actor);
  for (const HostThread& thread : graph_.threads) {
    bool has_steps = false;
    bool has_actors = false;
    check_program(thread, thread.program, has_steps, has_actors);
    if (has_steps && has_actors) {
      diagnostics_.error(thread.place, Code::kBrokenGraph,
                         "the program of thread " + quoted(thread.name) +
                             " has actors and steps of a host program");
    }
    if (thread.order != sim::ThreadOrder::kProgram && !thread.program.empty()) {
      diagnostics_.error(
          thread.place, Code::kBrokenGraph,
          "thread " + quoted(thread.name) + " launches by arrival, so it cannot have a program");
    }
  }
}

void Verifier::check_program(const HostThread& thread, const std::vector<ProgramStep>& steps,
                             bool& has_steps, bool& has_actors) {
  for (const ProgramStep& step : steps) {
    check_program(thread, step.block, has_steps, has_actors);
    const auto note = [&](std::uint32_t actor) {
      (graph_.actors[actor].step ? has_steps : has_actors) = true;
    };
    if (step.actor != kNoIndex) note(step.actor);
    for (const std::uint32_t actor : step.list) note(actor);
  }
}

void Verifier::check_actor(const ActorTemplate& actor) {
  const std::string name = quoted(actor.name);
  if (actor.step) {
    if (actor.registers.empty() && actor.reads.empty()) return;
    diagnostics_.error(actor.place, Code::kBrokenGraph,
                       name +
                           " is a step of a host program, which has no registers "
                           "and reads nothing");
    return;
  }
  if (actor.registers.empty() || actor.registers.front().name != "out") {
    diagnostics_.error(actor.place, Code::kBrokenGraph,
                       "the first register of " + name + " is not its output 'out'");
  }
  const ActorKind* kind = find_actor_kind(actor.kind);
  if (!actor.kind.empty() && kind == nullptr) {
    diagnostics_.error(actor.place, Code::kBrokenGraph,
                       "there is no kind of actor " + quoted(std::string(actor.kind)));
  }
  if (actor.input && !actor.ops) {
    diagnostics_.error(actor.place, Code::kBrokenGraph,
                       name + " waits for input, but nothing determines how often it runs");
  }
  if (kind == nullptr) return;
  if (kind->waits_for_input && !actor.input) {
    diagnostics_.error(
        actor.place, Code::kBrokenGraph,
        name + " is of the kind '" + std::string(kind->name) + "', but waits for no input");
  }
  for (const ReadTemplate& read : actor.reads) {
    const ActorTemplate& producer = graph_.actors[read.actor];
    if (!kind->control_only || producer.registers[read.reg].control) continue;
    add_note(
        diagnostics_.error(read.place, Code::kBrokenGraph,
                           name + " is of the kind '" + std::string(kind->name) +
                               "', which reads no data, but it reads " + quoted(producer.name)),
        line_note(quoted(producer.name), producer.place));
  }
}

// Returns the names of `tensors` for use in a sentence.
std::string listed(const ShortList<std::string>& tensors) {
  std::string text = tensors.empty() ? "none" : "";
  for (const std::string& tensor : tensors) {
    if (!text.empty()) text += ", ";
    text += quoted(tensor);
  }
  return text;
}

void Verifier::check_tensors() {
  for (const ActorTemplate& actor : graph_.actors) {
    for (const RegisterTemplate& reg : actor.registers) {
      if (!reg.control || reg.carries.empty()) continue;
      diagnostics_.error(reg.place, Code::kBrokenGraph,
                         "the control register " + quoted(reg.name) + " of " + quoted(actor.name) +
                             " carries no data, but names " + listed(reg.carries));
    }
    for (const ReadTemplate& read : actor.reads) check_edge(actor, read);
  }
}

// Compares an edge with its register, as OneFlow's TaskEdge does (task_node.cpp,
// CheckRegstLbiValid): both must have the same tensors, by name. OneFlow's message is "TaskEdge lbi
// and regst NOT match" with the two numbers of tensors, and does not name the edge.
void Verifier::check_edge(const ActorTemplate& reader, const ReadTemplate& read) {
  if (!read.needs) return;
  const ActorTemplate& producer = graph_.actors[read.actor];
  const RegisterTemplate& reg = producer.registers[read.reg];
  ShortList<std::string> needed = *read.needs;
  ShortList<std::string> carried = reg.carries;
  std::sort(needed.begin(), needed.end());
  std::sort(carried.begin(), carried.end());
  if (needed == carried) return;
  Diagnostic& error = diagnostics_.error(
      read.place, Code::kBrokenGraph,
      "the edge from " + quoted(producer.name) + " to " + quoted(reader.name) +
          " and its register do not match: the register " + quoted(reg.name) + " carries " +
          listed(reg.carries) + ", the edge names " + listed(*read.needs) + " (" +
          std::to_string(carried.size()) + " vs. " + std::to_string(needed.size()) + ")");
  add_note(error, line_note(quoted(producer.name), producer.place));
  add_note(error, line_note(quoted(reader.name), reader.place));
  if (needed.empty()) {
    error.notes.emplace_back(
        "if only the order matters, read a control register; else say what is needed");
  }
}

}  // namespace

bool verify_references(const TaskGraph& graph, Diagnostics& diagnostics) {
  return References(graph, diagnostics).run();
}

bool verify(const TaskGraph& graph, Diagnostics& diagnostics) {
  if (!verify_references(graph, diagnostics)) return false;
  const std::size_t before = diagnostics.error_count();
  const auto good = [&] { return diagnostics.error_count() == before; };
  Verifier verifier(graph, diagnostics);
  verifier.check_names();
  if (good()) verifier.check_form();
  if (good()) verifier.check_tensors();
  if (!good()) return false;
  // Warnings of the lowering matter only for runs, so verify() drops them.
  Diagnostics of_lowering;
  if (lower(graph, of_lowering)) return true;
  for (const Diagnostic& item : of_lowering.sorted()) {
    if (item.severity != Severity::kError) continue;
    diagnostics.error(item.place, item.code, item.message).notes = item.notes;
  }
  return good();
}

}  // namespace pipesim::models
