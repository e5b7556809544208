// Runs one piece of work a given number of times, for bench/compare, which counts the instructions
// or compares the seconds.
//
//   bench_work                        the names of all pieces
//   bench_work NAME small|large RUNS  prepares and runs NAME, prints the seconds of each run
//
// Small sizes are for callgrind and take a few million instructions; large sizes are for the clock
// and take tens of milliseconds.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "bench/hangs.hpp"
#include "bench/plans.hpp"
#include "bench/texts.hpp"
#include "sim/assert.hpp"
#include "sim/engine.hpp"
#include "sim/event_queue.hpp"
#include "viz/pictures/wait_for_dot.hpp"

namespace pipesim::bench {

/// Runs `work`. bench/compare counts the instructions of this function, by its name, and ignores
/// the rest of the program.
void measured(const std::function<void()>& work);

[[gnu::noinline]] void measured(const std::function<void()>& work) {
  work();
  // Prevents a tail call, which would end this function before its work.
  asm volatile("");
}

namespace {

using Work = std::function<void()>;

Work event_queue(bool large) {
  return [events = large ? 1'000'000 : 100'000] {
    sim::EventQueue queue;
    for (std::uint32_t i = 0; i < 1024; ++i) {
      queue.push(sim::Time{1 + i % 7}, sim::Priority::kDevice, {sim::EventKind::kOpEnds, i});
    }
    for (int i = 0; i < events; ++i) {
      const sim::Event event = queue.pop();
      queue.push(sim::Time{queue.now().ns + 1 + i % 13}, sim::Priority::kDevice, event);
    }
    PIPESIM_CHECK(!queue.empty());
  };
}

Work run_of(sim::Plan plan, sim::EngineKind engine, sim::RunEnd end) {
  return [plan = std::move(plan), engine, end] {
    sim::RunOptions options;
    options.engine = engine;
    PIPESIM_CHECK(sim::run(plan, options).end == end);
  };
}

models::TaskGraph pipeline(bool large, Hang hang = Hang::kNone) {
  return large ? one_f_one_b(512, 256, hang) : one_f_one_b(64, 64, hang);
}

Work events(bool large) {
  return run_of(plan_of(pipeline(large)), sim::EngineKind::kEvents, sim::RunEnd::kCompleted);
}

Work sweep(bool large) {
  return run_of(plan_of(large ? one_f_one_b(512, 1024) : pipeline(false)),
                sim::EngineKind::kFixedOrder, sim::RunEnd::kCompleted);
}

Work actor_events(bool large) {
  return run_of(actors(large ? 1024 : 64, 8, 32), sim::EngineKind::kEvents,
                sim::RunEnd::kCompleted);
}

Work hang_events(bool large) {
  return run_of(plan_of(pipeline(large, Hang::kAtEnd)), sim::EngineKind::kEvents,
                sim::RunEnd::kStuck);
}

Work make_schedule(bool large) {
  return [large] { PIPESIM_CHECK(pipeline(large).pipeline.has_value()); };
}

Work lowering_of(models::TaskGraph graph) {
  return [graph = std::move(graph)] { PIPESIM_CHECK(lowered(graph).plan.op_count > 0); };
}

Work lower_schedule(bool large) { return lowering_of(pipeline(large)); }

Work lower_actors(bool large) {
  return lowering_of(graph_of(actor_text(large ? 512 : 16, 100, 10, false)));
}

Work nccl_mode_of(std::string text) {
  return [text = std::move(text)] { PIPESIM_CHECK(!graph_of(text).actors.empty()); };
}

Work read_actors(bool large) { return nccl_mode_of(actor_text(8, large ? 4000 : 200, 4, false)); }

Work read_program(bool large) { return nccl_mode_of(program_text(8, large ? 4000 : 200)); }

std::uint32_t stuck(bool large) { return large ? 100'000 : 5000; }

Work wait_graph(bool large) {
  return [run = hung_pipeline(stuck(large))] {
    const sim::WaitGraph waits = sim::wait_graph(run.lowered.plan, run.outcome.state);
    PIPESIM_CHECK(waits.edges.size() == run.waits.edges.size());
  };
}

Work explanation(bool large) {
  return [run = hung_pipeline(stuck(large))] { PIPESIM_CHECK(!explained(run).cycle.empty()); };
}

Work dot(bool large) {
  const HungRun run = hung_pipeline(large ? 5000 : 1000);
  viz::WaitPicture picture;
  picture.cycle = explained(run).cycle;
  picture.all_waits = all_waits(run);
  picture.fold = false;
  return [picture] { PIPESIM_CHECK(!viz::wait_for_dot(picture).empty()); };
}

struct Piece {
  const char* name;
  Work (*make)(bool large);
};

constexpr Piece kPieces[] = {
    {"event_queue", event_queue},
    {"events", events},
    {"actor_events", actor_events},
    {"hang_events", hang_events},
    {"sweep", sweep},
    {"make_schedule", make_schedule},
    {"lower_schedule", lower_schedule},
    {"lower_actors", lower_actors},
    {"read_actors", read_actors},
    {"read_program", read_program},
    {"wait_graph", wait_graph},
    {"explanation", explanation},
    {"dot", dot},
};

int run_piece(const Piece& piece, bool large, int runs) {
  const Work work = piece.make(large);
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    measured(work);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%.9f\n", took.count());
  }
  return 0;
}

int main_of(int argc, char** argv) {
  if (argc == 1) {
    for (const Piece& piece : kPieces) std::printf("%s\n", piece.name);
    return 0;
  }
  const std::string_view size = argc == 4 ? argv[2] : "";
  const int runs = argc == 4 ? std::atoi(argv[3]) : 0;
  if ((size == "small" || size == "large") && runs > 0) {
    for (const Piece& piece : kPieces) {
      if (std::string_view(argv[1]) == piece.name) return run_piece(piece, size == "large", runs);
    }
  }
  std::fprintf(stderr, "usage: bench_work [NAME small|large RUNS]\n");
  return 2;
}

}  // namespace
}  // namespace pipesim::bench

int main(int argc, char** argv) { return pipesim::bench::main_of(argc, argv); }
