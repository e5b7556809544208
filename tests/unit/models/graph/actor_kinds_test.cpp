#include "models/graph/actor_kinds.hpp"

#include <set>
#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim::models;

namespace {

// Returns an actor with its data output and a second register, after the kind `name` was applied.
ActorTemplate made(const char* name, std::int64_t times = 1) {
  ActorTemplate actor;
  actor.registers.assign(2, RegisterTemplate());
  actor.registers[1].name = "ctrl";
  actor.registers[1].control = true;
  apply_kind(*find_actor_kind(name), Expr::constant(times), actor);
  return actor;
}

std::int64_t number(const Expr& expr) { return expr.value(0).value(); }

}  // namespace

TEST_CASE("kinds are found by name, each once", "[models][actor_kinds]") {
  std::set<std::string> names;
  for (const ActorKind& kind : actor_kinds()) {
    CHECK(names.insert(std::string(kind.name)).second);
    CHECK(find_actor_kind(kind.name) == &kind);
    CHECK(!kind.about.empty());
  }
  CHECK(find_actor_kind("repaet") == nullptr);
  CHECK(find_actor_kind("") == nullptr);
}

TEST_CASE("a kind that says nothing leaves the general actor", "[models][actor_kinds]") {
  for (const char* name : {"compute", "buffer", "tick", "copy"}) {
    INFO(name);
    const ActorTemplate actor = made(name);
    CHECK(actor.kind == name);
    CHECK(actor.immediate);
    CHECK(!actor.blocking);
    CHECK(number(actor.registers[0].slots) == 1);
    CHECK(number(actor.registers[0].ops_per_slot) == 1);
    CHECK(number(actor.registers[0].drain_every) == 0);
  }
}

TEST_CASE("repeat has as many data slots as repetitions, and drains all its registers",
          "[models][actor_kinds]") {
  const ActorTemplate actor = made("repeat", 4);
  CHECK(number(actor.registers[0].slots) == 4);
  CHECK(number(actor.registers[1].slots) == 1);  // control credits do not depend on the kind
  CHECK(number(actor.registers[0].ops_per_slot) == 1);
  CHECK(number(actor.registers[0].drain_every) == 4);
  CHECK(number(actor.registers[1].drain_every) == 4);
  CHECK(number(ops_per_read(*find_actor_kind("repeat"), Expr::constant(4))) == 4);
}

TEST_CASE("unpack takes one slot for many ops, without draining", "[models][actor_kinds]") {
  const ActorTemplate actor = made("unpack", 4);
  CHECK(number(actor.registers[0].slots) == 1);
  CHECK(number(actor.registers[0].drain_every) == 0);
  CHECK(number(ops_per_read(*find_actor_kind("unpack"), Expr::constant(4))) == 4);
}

TEST_CASE("accumulate, pack and acc_tick fill one data slot for many ops, control every op",
          "[models][actor_kinds]") {
  for (const char* name : {"accumulate", "pack", "acc_tick"}) {
    INFO(name);
    const ActorTemplate actor = made(name, 4);
    CHECK(number(actor.registers[0].ops_per_slot) == 4);
    CHECK(number(actor.registers[1].ops_per_slot) == 1);
    CHECK(number(ops_per_read(*find_actor_kind(name), Expr::constant(4))) == 1);
  }
}

TEST_CASE("what waits for the user blocks its thread, with many slots", "[models][actor_kinds]") {
  CHECK(number(made("wait_and_send_ids").registers[0].slots) == 100);
  CHECK(number(made("critical_section_wait").registers[0].slots) == 128);
  for (const char* name : {"wait_and_send_ids", "critical_section_wait"}) {
    CHECK(find_actor_kind(name)->waits_for_input);
    CHECK(made(name).blocking);
  }
  CHECK(made("callback_notify").blocking);
  CHECK(number(made("source_tick").registers[0].slots) == 2);
}

TEST_CASE("the network and the boxing executor tell others when they are done",
          "[models][actor_kinds]") {
  CHECK(!made("comm_net").immediate);
  CHECK(!made("collective_boxing").immediate);
  CHECK(find_actor_kind("zeros")->control_only);
}
