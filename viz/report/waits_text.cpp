#include <algorithm>
#include <cstdint>
#include <set>

#include <fmt/format.h>

#include "models/graph/diagnostics.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::OpInfo;
using models::Wait;

std::int64_t rank_step(std::uint32_t from, std::uint32_t to) {
  return std::int64_t{to} - std::int64_t{from};
}

bool same_op(const OpInfo& a, const OpInfo& b) {
  return a.name == b.name && a.number == b.number && a.stream == b.stream && a.stage == b.stage &&
         a.step == b.step && a.at == b.at && a.statement == b.statement &&
         a.micro_batch == b.micro_batch && a.call_name == b.call_name;
}

// Whether two waits differ only in their ranks, and have the same distance between their ranks.
bool same_but_rank(const Wait& a, const Wait& b) {
  return a.kind == b.kind && a.reg == b.reg && a.lock == b.lock && a.link == b.link &&
         a.any == b.any && a.to.kind == b.to.kind && same_op(a.from.op, b.from.op) &&
         same_op(a.to.op, b.to.op) && a.needed.has_value() == b.needed.has_value() &&
         rank_step(a.from.rank, a.to.rank) == rank_step(b.from.rank, b.to.rank);
}

// A run of waits in which every `period` waits repeat on other ranks.
struct RepeatedWaits {
  std::size_t period = 0;  // number of waits that repeat; 0: none
  std::size_t count = 0;   // number of repetitions
  std::int64_t step = 0;   // distance between the ranks of successive periods
};

RepeatedWaits run_at(const std::vector<Wait>& waits, std::size_t begin) {
  constexpr std::size_t kMaxPeriod = 8;
  constexpr std::size_t kMinCount = 4;
  for (std::size_t period = 1; period <= kMaxPeriod && begin + period < waits.size(); ++period) {
    RepeatedWaits run{period, 1,
                      rank_step(waits[begin].from.rank, waits[begin + period].from.rank)};
    std::size_t same = 0;
    for (std::size_t i = begin; i + period < waits.size(); ++i, ++same) {
      const Wait& a = waits[i];
      const Wait& b = waits[i + period];
      if (!same_but_rank(a, b) || rank_step(a.from.rank, b.from.rank) != run.step) break;
    }
    run.count += same / period;
    if (run.count >= kMinCount && run.step != 0) return run;
  }
  return {};
}

// Returns the progress of an op, unless the text of the wait includes it.
std::string stage_before(const OpInfo& op) {
  if (op.stage != models::OpStage::kEntered) return stage_text(op) + ", ";
  if (op.step == sim::Step::kHostStep) return "";
  return op.step == sim::Step::kLaunchQueue ? "launching, " : stage_text(op) + ", ";
}

class WaitsText {
 public:
  WaitsText(const std::vector<Wait>& waits, bool cycle, const TextOptions& options)
      : waits_(waits),
        cycle_(cycle),
        options_(options),
        digits_(std::to_string(waits.size()).size()) {}

  std::string run(bool fold) {
    for (std::size_t i = 0; i < waits_.size();) {
      const RepeatedWaits found = fold ? run_at(waits_, i) : RepeatedWaits();
      if (found.period == 0) {
        add(i++);
        continue;
      }
      const std::size_t last = i + (found.count - 1) * found.period;
      for (std::size_t j = i; j < i + found.period; ++j) add(j);
      add_folded(i + found.period, last, found);
      for (i = last; i < last + found.period; ++i) add(i);
    }
    return std::move(text_);
  }

 private:
  void add(std::size_t i) {
    const Wait& wait = waits_[i];
    const OpInfo& op = wait.from.op;
    std::string where = op.of_group ? std::string() : models::printable(op.stream);
    // The statement in a GOAL file already names the cpu.
    if (!where.empty() && op.statement.empty()) {
      where.insert(0, op.on_host ? "thread " : "stream ");
    }
    const auto add_detail = [&](const std::string& detail) {
      if (!detail.empty()) where += (where.empty() ? "" : ", ") + models::printable(detail);
    };
    if (op.micro_batch > 0) add_detail(fmt::format("micro-batch {}", op.micro_batch));
    add_detail(op.statement);
    add_detail(op.at);
    const std::string name = fmt::format("rank {}  {}", op.rank, models::printable(op_text(op)));
    text_ +=
        paragraph(fmt::format("{:>{}}  {}{}", i + 1, digits_, styled(options_, ansi::kBold, name),
                              where.empty() ? "" : fmt::format(" ({})", where)),
                  options_.width, kIndent, kIndent + digits_ + 4);
    const bool closes = cycle_ && i + 1 == waits_.size();
    text_ +=
        paragraph(models::printable(fmt::format("{}{}{}{}", stage_before(op), wait_text(wait),
                                                wait.any ? " (one of several alternatives)" : "",
                                                closes && waits_.size() > 1 ? " (back to 1)" : "")),
                  options_.width, kIndent + digits_ + 4, kIndent + digits_ + 4);
  }

  void add_folded(std::size_t begin, std::size_t end, const RepeatedWaits& run) {
    std::set<std::uint32_t> ranks;
    for (std::size_t i = begin; i < end; i += run.period) ranks.insert(waits_[i].from.rank);
    bool crosses = false;
    for (std::size_t i = begin; i < begin + run.period; ++i) {
      crosses = crosses || waits_[i].from.rank != waits_[i].to.rank;
    }
    std::string whom;
    if (crosses && run.step == 1) whom = ", each waiting for the next rank";
    if (crosses && run.step == -1) whom = ", each waiting for the previous rank";
    if (crosses && run.step != 1 && run.step != -1) {
      whom = fmt::format(", each waiting for the rank {} {}", run.step > 0 ? run.step : -run.step,
                         run.step > 0 ? "above it" : "below it");
    }
    text_ += paragraph(fmt::format("{}-{}  {}: the same{}", begin + 1, end,
                                   ranks_text({ranks.begin(), ranks.end()}), whom),
                       options_.width, kIndent, kIndent + digits_ + 4);
  }

  static constexpr std::size_t kIndent = 2;

  const std::vector<Wait>& waits_;
  const bool cycle_;
  const TextOptions& options_;
  const std::size_t digits_;
  std::string text_;
};

}  // namespace

std::string waits_text(const std::vector<Wait>& waits, bool cycle, bool fold,
                       const TextOptions& options) {
  return WaitsText(waits, cycle, options).run(fold);
}

}  // namespace pipesim::viz
