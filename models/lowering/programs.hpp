// The programs of host threads: the number of occurrences of each step, and their expansion.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/placement.hpp"
#include "models/lowering/rank_diagnostics.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

class Programs {
 public:
  Programs(const TaskGraph& graph, const Placement& placement, RankDiagnostics& diagnostics)
      : graph_(graph), placement_(placement), diagnostics_(diagnostics) {
    for (const HostThread& thread : graph.threads) steps_.emplace_back(thread.program, graph.ranks);
  }

  /// Returns the number of ops of a step: its occurrences in its program.
  std::int64_t count(sim::ActorId id);

  /// Checks that each actor occurs in programs once per op; `ops` is indexed by ActorId.
  void check_counts(const std::vector<std::int64_t>& ops);

  /// Checks the limit on the total length of all programs, because the plan stores every op.
  void check_size(const std::vector<std::int64_t>& ops);

  /// Expands the programs into the plan. `threads` is indexed by rank, then template.
  void make(const std::vector<std::vector<sim::ThreadId>>& threads, sim::PlanBuilder& builder);

 private:
  using Counts = std::unordered_map<std::uint32_t, std::int64_t>;  // keyed by actor template

  // An index of the program steps that a rank may run. In a pipeline, each rank has its own block.
  class StepsOfRanks {
   public:
    StepsOfRanks(const std::vector<ProgramStep>& program, std::uint32_t ranks);

    /// Calls `visit` for each step of `rank`, in program order.
    template <typename Visit>
    void for_each(std::uint32_t rank, const Visit& visit) const {
      const auto end = of_rank_.begin() + first_[rank + 1];
      auto own = of_rank_.begin() + first_[rank];
      for (const std::uint32_t i : of_many_) {
        for (; own != end && *own < i; ++own) visit(program_[*own]);
        visit(program_[i]);
      }
      for (; own != end; ++own) visit(program_[*own]);
    }

   private:
    const std::vector<ProgramStep>& program_;
    std::vector<std::uint32_t> of_many_;
    std::vector<std::uint32_t> of_rank_;  // steps of `rank`: [first_[rank], first_[rank + 1])
    std::vector<std::uint32_t> first_;
  };

  void count_program(std::uint32_t thread, std::uint32_t rank, Counts& counts);
  void count_step(const ProgramStep& step, std::uint32_t rank, std::int64_t times, Counts& counts);
  void count_list(const ShortList<std::uint32_t>& list, std::int64_t times, Counts& counts);
  void expand(const ProgramStep& step, std::uint32_t rank, std::vector<sim::ActorId>& ops) const;
  void expand_list(const ShortList<std::uint32_t>& list, std::uint32_t rank,
                   std::vector<sim::ActorId>& ops) const;
  void check_locks(std::uint32_t rank, const std::vector<sim::ActorId>& ops);
  void check_destroyed(std::uint32_t rank, const std::vector<sim::ActorId>& ops);
  bool destroys_any() const;

  const TaskGraph& graph_;
  const Placement& placement_;
  RankDiagnostics& diagnostics_;
  std::vector<StepsOfRanks> steps_;        // indexed by thread template
  std::vector<std::int64_t> list_counts_;  // indexed by actor template; 0 between uses
  std::int64_t program_ops_ = 0;           // total length of all programs
  // Keyed by thread template and rank.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Counts> program_counts_;
};

}  // namespace pipesim::models
