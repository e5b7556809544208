#include <cstdint>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"

#include "features/live/live_options.hpp"

namespace pipesim::app {
namespace {

constexpr std::uint64_t kMaxSeconds = 86'400;

int run_watch(const Arguments& arguments, const Console& console) {
  for (const char* option : {"every", "quiet", "patience"}) {
    arguments.number(option, 1, kMaxSeconds, 1);
  }
  become_live_module("pipesim.watch", arguments, console);
}

OptionGroup hang_options() {
  return {
      "When a job hangs",
      {{.name = "every", .value = "SECONDS", .about = "Time between two looks", .otherwise = "1"},
       {.name = "quiet",
        .value = "SECONDS",
        .about = "No rank moves for this time: longer than the job ever pauses",
        .otherwise = "5"},
       {.name = "patience",
        .value = "SECONDS",
        .about = "Some ranks wait this long for one that works, as for a checkpoint",
        .otherwise = "300"},
       {.name = "once",
        .about = "End as soon as the job is seen to move: for cron, or a Kubernetes probe"}}};
}

OptionGroup watch_report_options() {
  return {"Report",
          {{.name = "record",
            .value = "DIR|FILE",
            .about = "A record of the job's script ('pipesim record'), or a scenario of the job: "
                     "says whether the job will hang again"},
           {.name = "json", .about = "Print events as lines of JSON"},
           {.name = "prometheus",
            .value = "FILE",
            .about = "Write metrics after each look, for Prometheus' textfile collector",
            .output = true}}};
}

}  // namespace

Command watch_command() {
  return {
      .name = "watch",
      .about = "Watch a job on this host, and diagnose it once it hangs",
      .usage = {"[options]"},
      .description =
          {"Looks at the ranks of the PyTorch job on this host once a second: at the processor "
           "time "
           "of their main threads, and at the numbers of their calls if they have a debug server. "
           "Prints nothing while the job moves. Once nothing moves, compares two stacks of each "
           "rank; if these are equal too, gathers the evidence as 'pipesim collect' does, prints "
           "the diagnosis, and ends.",
           "Waits for a job if there is none yet, and ends with the job. On several hosts, run it "
           "on each of them."},
      .options = {live_job_options(), hang_options(), watch_report_options(), general_options()},
      .examples = {"pipesim watch -o /shared/hang", "pipesim watch --quiet 60 --json --once",
                   "pipesim watch --record record/ || scancel --signal TERM $SLURM_JOB_ID"},
      .exit_status =
          "0 the job has ended (--once: moves, or is not there), 1 it hangs, 2 wrong "
          "usage, 3 it does not move, and nothing shows why, 130 interrupted",
      .pages = {"docs/how-to/my-job-hangs.md"},
      .run = run_watch,
  };
}

}  // namespace pipesim::app
