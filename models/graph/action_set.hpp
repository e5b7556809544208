// The actions of a schedule that are done: one bit per kind, stage and micro-batch.
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/schedule.hpp"

namespace pipesim::models {

class ActionSet {
 public:
  ActionSet() = default;
  explicit ActionSet(const Schedule& schedule)
      : micro_batches_(schedule.micro_batches), done_(schedule.index_count(), 0) {}

  /// Adds `action`, which must have a micro-batch. Returns false if the set already has it.
  bool add(const Action& action) {
    std::uint8_t& done = done_[index(action.stage, action.micro_batch)];
    const bool is_new = (done & bit(action.kind)) == 0;
    done = static_cast<std::uint8_t>(done | bit(action.kind));
    return is_new;
  }

  bool has(const Action& action) const {
    return (done_[index(action.stage, action.micro_batch)] & bit(action.kind)) != 0;
  }

  /// Adds every action that `these` lacks.
  void add_all_but(const ActionSet& these) {
    for (std::size_t i = 0; i < done_.size(); ++i) {
      done_[i] = static_cast<std::uint8_t>(done_[i] | static_cast<std::uint8_t>(~these.done_[i]));
    }
  }

  /// Whether the input gradient is done, alone or in a full backward.
  bool has_gradient(std::uint32_t stage, std::uint32_t micro_batch) const {
    const auto both = bit(ActionKind::kBackward) | bit(ActionKind::kInputGrad);
    return (done_[index(stage, micro_batch)] & both) != 0;
  }

 private:
  std::size_t index(std::uint32_t stage, std::uint32_t micro_batch) const {
    return std::size_t{stage} * micro_batches_ + micro_batch;
  }

  // Returns the bit of a kind. Each of the eight kinds with micro-batches has one.
  static std::uint8_t bit(ActionKind kind) {
    switch (kind) {
      case ActionKind::kForward:
        return 1;
      case ActionKind::kBackward:
        return 2;
      case ActionKind::kInputGrad:
        return 4;
      case ActionKind::kWeightGrad:
        return 8;
      case ActionKind::kSendForward:
        return 16;
      case ActionKind::kRecvForward:
        return 32;
      case ActionKind::kSendBackward:
        return 64;
      case ActionKind::kRecvBackward:
        return 128;
      default:
        return 0;
    }
  }

  std::uint32_t micro_batches_ = 0;
  std::vector<std::uint8_t> done_;
};

}  // namespace pipesim::models
