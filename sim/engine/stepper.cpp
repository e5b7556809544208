#include "sim/stepper.hpp"

#include <vector>

#include "sim/engine/engine_impl.hpp"

namespace pipesim::sim {

// Rule 2, for a stepper: sends the start messages. The caller then chooses the order of the events.
void Engine::begin(std::vector<Event>& pending) {
  send_start_messages();
  queue_.drain(pending);
}

void Engine::step(Event event, std::vector<Event>& pending) {
  handle(event);
  queue_.drain(pending);
  if (!plan_.aborts) return;
  std::erase_if(pending, [&](const Event& other) { return is_void(other); });
}

void Engine::restore(const Moment& moment) {
  state_ = moment.state;
  ops_done_ = moment.ops_done;
  mismatched_ = moment.mismatched;
  mismatches_.clear();
}

class Stepper::Rules : public Engine {
 public:
  explicit Rules(const Plan& plan) : Engine(plan, kNoOptions, OneByOne()) {}

 private:
  static inline const RunOptions kNoOptions{};
};

Stepper::Stepper(const Plan& plan) : rules_(std::make_unique<Rules>(plan)) {
  rules_->begin(pending_);
}

Stepper::~Stepper() = default;

const State& Stepper::state() const { return rules_->state(); }
std::uint64_t Stepper::ops_done() const { return rules_->ops_done(); }
bool Stepper::mismatched() const { return rules_->mismatched(); }

void Stepper::step(std::size_t i) {
  const Event event = pending_[i];
  pending_[i] = pending_.back();
  pending_.pop_back();
  rules_->step(event, pending_);
  if (event.kind != EventKind::kSourceTaken) return;
  // Drops the pending events in which the same recv would take another send.
  std::erase_if(pending_, [&](const Event& other) {
    return other.kind == EventKind::kSourceTaken &&
           !state().channels[ChannelId{other.target}].offered;
  });
}

void Stepper::save(Moment& moment) const {
  moment.state = rules_->state();
  moment.pending = pending_;
  moment.ops_done = ops_done();
  moment.mismatched = mismatched();
}

void Stepper::restore(const Moment& moment) {
  rules_->restore(moment);
  pending_ = moment.pending;
}

}  // namespace pipesim::sim
