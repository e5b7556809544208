#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"

#include "features/live/live_options.hpp"

namespace pipesim::app {
namespace {

int run_collect(const Arguments& arguments, const Console& console) {
  become_live_module("pipesim.collect", arguments, console);
}

}  // namespace

Command collect_command() {
  return {
      .name = "collect",
      .about = "Gather the evidence of a job that hangs now, on this host, and diagnose it",
      .usage = {"[-o DIR] [options]"},
      .description =
          {"Finds the ranks of the PyTorch job on this host (torchrun, srun, mpirun, mp.spawn) and "
           "writes what shows their state into DIR: stacks, dumps of the Flight Recorder, a report "
           "of NCCL's RAS, the ends of the logs, and facts about their processes. Then runs "
           "'pipesim diagnose DIR'. It takes about 3 s, and stops no process.",
           "For a job on several hosts, run it on each of them with one shared DIR: srun, pdsh or "
           "kubectl exec. The stacks come from py-spy if it is installed. Nothing leaves this "
           "machine, and the values of variables are not read."},
      .options = {live_job_options(),
                  {"Report",
                   {{.name = "only-collect",
                     .about = "Do not diagnose: for all hosts but the last"},
                    json_option("the diagnosis")}},
                  general_options()},
      .examples =
          {"pipesim collect", "pipesim collect -o /shared/hang --job 4711.0",
           "srun --jobid 4711 --overlap --ntasks-per-node 1 pipesim collect -o /shared/hang "
           "--only-collect"},
      .exit_status = "that of 'pipesim diagnose'; 2 also if there is no job, or a choice of jobs",
      .pages = {"docs/how-to/my-job-hangs.md"},
      .run = run_collect,
  };
}

}  // namespace pipesim::app
