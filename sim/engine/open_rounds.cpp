// Collective calls on open communicators, where a rank can leave a sequence number that other ranks
// have not reached.
#include "sim/engine/engine_impl.hpp"

namespace pipesim::sim {

// Rule 9.4: adds a call on an open communicator. Runs the calls that no longer wait for another
// rank, at this sequence number and at earlier ones.
void Engine::arrive_in_open(CallId id) {
  const Call& call = plan_.calls[id];
  const Communicator& communicator = plan_.communicators[call.communicator];
  const std::uint32_t count = communicator.ranks_end - communicator.ranks;
  Rounds& all = state_.rounds[call.communicator];
  const std::uint32_t number = state_.seqs[call.member]++ - all.passed;
  if (number == all.rounds.size()) all.rounds.push_back({{id, op_of(id)}});
  Round& round = all.rounds[number];
  const Call& first = plan_.calls[round.first.call];
  if (call.signature != first.signature) {
    round.mismatched =
        round.mismatched || !can_meet(first.signature, call.signature, communicator.on_host);
    mismatches_.push_back(
        {false, first.actor, round.first.k, call.actor, op_of(id), round.first.call, id});
  }
  state_.in_round[call.member] = id;
  ++round.arrived;
  const auto next_of_flow = [&] {
    const std::uint32_t begin = first.peer + (first.flow == Flow::kToRoot ? 1 : 0);
    return communicator.ranks + (begin - communicator.ranks + round.in_flow) % count;
  };
  while (is_ring(first.flow) && round.in_flow < count &&
         state_.seqs[next_of_flow()] > all.passed + number) {
    ++round.in_flow;
  }
  if (broken(call.communicator)) return;
  if (first.flow == Flow::kAll && round.arrived == count && !round.mismatched) {
    run_round(call);
  } else {
    for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
      const CallId waits = state_.in_round[i];
      if (!waits.valid() || state_.calls[waits] != CallStage::kActive) continue;
      const Call& other = plan_.calls[waits];
      if (state_.round_of(other).mismatched) continue;
      if (state_.waits_for_none(plan_, other)) run_alone(waits);
    }
  }
  const auto full = [&](const Round& of) { return of.arrived == count && !of.mismatched; };
  while (!all.rounds.empty() && full(all.rounds.front())) {
    all.rounds.erase(all.rounds.begin());
    ++all.passed;
  }
}

// Rule 9.4: runs the call of one rank alone.
void Engine::run_alone(CallId id) {
  const Call& call = plan_.calls[id];
  state_.calls[id] = CallStage::kRunning;
  const Duration takes = call_takes(id, call.takes);
  const LinkId link = plan_.communicators[call.communicator].link;
  if (hangs(link, takes)) return hang(id, link);
  queue_.push(later(queue_.now(), takes), Priority::kDevice, {EventKind::kCallEnds, id.value});
}

// Rule 9.4: removes a call that ran alone from its sequence number.
void Engine::leave_open(const Call& call) { state_.in_round[call.member] = CallId(); }

}  // namespace pipesim::sim
