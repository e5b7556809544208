// Names of a pipeline's message models, moments and ring orders; ranks of its rows; durations.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "models/graph/pipeline.hpp"
#include "models/schedules/word_table.hpp"

namespace pipesim::models {
namespace {

constexpr WordTable<MessageModel, 8> kModels = {{
    {"dir", MessageModel::kDir},
    {"edge", MessageModel::kEdge},
    {"pair", MessageModel::kPair},
    {"direction", MessageModel::kDirection},
    {"pg", MessageModel::kPg},
    {"sync", MessageModel::kSync},
    {"batch", MessageModel::kBatch},
    {"overlap", MessageModel::kOverlap},
}};

constexpr WordTable<StageMoment, 6> kMoments = {{
    {"forward", StageMoment::kForward},
    {"backward", StageMoment::kBackward},
    {"last_backward", StageMoment::kLastBackward},
    {"gradients", StageMoment::kGradients},
    {"unshard", StageMoment::kUnshard},
    {"step", StageMoment::kStep},
}};

constexpr WordTable<RingOrder, 3> kRingOrders = {{
    {"batch", RingOrder::kBatch},
    {"send_first", RingOrder::kSendFirst},
    {"recv_first", RingOrder::kRecvFirst},
}};

}  // namespace

std::optional<MessageModel> find_message_model(std::string_view name) {
  return find_word(kModels, name);
}

std::vector<std::string> message_model_names() { return words_of(kModels); }

std::optional<StageMoment> find_stage_moment(std::string_view name) {
  return find_word(kMoments, name);
}

std::vector<std::string> stage_moment_names() { return words_of(kMoments); }

std::optional<RingOrder> find_ring_order(std::string_view name) {
  return find_word(kRingOrders, name);
}

std::vector<std::string> ring_order_names() { return words_of(kRingOrders); }

std::string StageCollective::name() const {
  return ring == RingOrder::kNone ? operation_name(operation) : "ring_exchange";
}

std::vector<RankSet> Pipeline::ranks_of_rows() const {
  std::vector<std::vector<std::uint32_t>> ranks(schedule.ranks.size());
  for (std::uint32_t rank = 0; rank < rank_count(); ++rank) ranks[row_of(rank)].push_back(rank);
  std::vector<RankSet> result;
  for (std::vector<std::uint32_t>& of_row : ranks) result.emplace_back(std::move(of_row));
  return result;
}

std::int64_t Pipeline::takes(const Action& action) const {
  const StageCost& cost = this->cost(action.stage, action.micro_batch);
  switch (action.kind) {
    case ActionKind::kForward:
      return cost.forward_ns;
    case ActionKind::kBackward:
      return cost.input_grad_ns + cost.weight_grad_ns;
    case ActionKind::kInputGrad:
      return cost.input_grad_ns;
    case ActionKind::kWeightGrad:
      return cost.weight_grad_ns;
    default:
      return 0;
  }
}

std::int64_t Pipeline::takes(const Actions& actions, std::size_t slot) const {
  const std::size_t end = slot_end(actions, slot);
  if (overlap_ns && end > slot + 1) {
    const auto is_forward = [](const Action& each) { return each.kind == ActionKind::kForward; };
    const auto found = std::find_if(actions.begin() + static_cast<std::ptrdiff_t>(slot),
                                    actions.begin() + static_cast<std::ptrdiff_t>(end), is_forward);
    const Action& forward = found->kind == ActionKind::kForward ? *found : actions[slot];
    return overlap_ns->of(forward.stage % schedule.depth(), forward.micro_batch);
  }
  std::int64_t sum = 0;
  for (std::size_t i = slot; i < end; ++i) sum += takes(actions[i]);
  return sum;
}

}  // namespace pipesim::models
