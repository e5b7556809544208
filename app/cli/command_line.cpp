// Boost.Program_options knows the options; what it leaves to us is which command they belong to.
// A command is an entry of the table below and a file of its own.
#include "app/cli/command_line.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/command_text.hpp"
#include "app/cli/completion.hpp"
#include "app/cli/man_page.hpp"
#include "app/commands/check_command.hpp"
#include "app/commands/compare_command.hpp"
#include "app/commands/diagnose_command.hpp"
#include "app/commands/diff_command.hpp"
#include "app/commands/draw_command.hpp"
#include "app/commands/explain_command.hpp"
#include "app/commands/fix_command.hpp"
#include "app/commands/goal_command.hpp"
#include "app/commands/import_command.hpp"
#include "app/commands/lint_command.hpp"
#include "app/commands/new_command.hpp"
#include "app/commands/opt_command.hpp"
#include "app/commands/reduce_command.hpp"
#include "app/commands/run_command.hpp"
#include "app/commands/starting_scenarios.hpp"
#include "app/commands/sweep_command.hpp"
#include "app/commands/test_command.hpp"
#include "app/commands/why_command.hpp"
#include "app/exit_codes.hpp"
#include "app/input/shard.hpp"
#include "app/input/until.hpp"
#include "app/output/files.hpp"
#include "app/output/views.hpp"
#include "app/version.hpp"
#include "formats/scenario/scenario_schema.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/whole_number.hpp"
#include "models/lint/lint.hpp"
#include "models/search/jitter.hpp"
#include "models/search/parameter_sweep.hpp"
#include "viz/draw/graphviz.hpp"
#include "viz/text/lint_text.hpp"

namespace pipesim::app {
namespace {

namespace po = boost::program_options;

/// What the user typed makes no sense. The message says why.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Arguments = std::vector<std::string>;
using formats::EvidenceKind;

struct Command {
  std::string_view name;
  std::string_view about;
  int (*run)(const Arguments& arguments, const Console& console);
  std::string_view help;  // above the options
  po::options_description (*options)();
};

// How the end of a run is looked at.
void add_views(po::options_description& options) {
  auto add = options.add_options();
  const auto file = [](const char* name) { return po::value<std::string>()->value_name(name); };
  add("json", "print the report as JSON (docs/reference/json.md)");
  add("stacks", "print where every host thread stands, as py-spy dumps a real job, instead");
  add("log", file("FILE"),
      "write the log of all ranks, with a line before and after each launch; - prints it instead");
  add("log-dir", file("DIR"), "write the log of each rank to DIR/rank_N.log");
  add("timeline", "also print when each stream works and waits, as wide as the terminal");
  add("trace", file("FILE"),
      "write a trace for ui.perfetto.dev, FILE.json or FILE.json.gz; with {rank} in its name a "
      "file "
      "for each rank (docs/how-to/trace.md)");
  add("schedule", file("FILE"), "write the pipeline schedule that ran as PyTorch's CSV");
  add("dot", file("FILE"), "write the wait-for graph for Graphviz");
  add("html", file("FILE"),
      "write one page that shows it all, to open in a browser (docs/how-to/html.md)");
  add("all", "list and draw every wait, not only those of the cycle");
  add("color", file("WHEN"), "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
}

void add_patch(po::options_description_easy_init& add) {
  add("patch", po::value<Arguments>()->value_name("FILE"),
      "change the scenario by a patch (docs/reference/patch.md); may be given several times, and "
      "they are "
      "done in that order");
}

po::options_description run_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("set", po::value<Arguments>()->value_name("NAME=VALUE"),
      "set a parameter of the scenario; may be given several times");
  add_patch(add);
  add("params", "list the parameters of the scenario and stop");
  add("until", po::value<std::string>()->value_name("WHEN"),
      "stop all ranks there and report the state: a time (12ms), or the moment when a rank enters "
      "an act (rank0:gather#3)");
  add("engine", po::value<std::string>()->value_name("WHICH"),
      "auto (the default), events or sweep: how to run it; what comes out is the same "
      "(docs/explanation/performance.md)");
  add("replay", po::value<std::string>()->value_name("FILE"),
      "run in the order that 'pipesim check --order' has written, with the settings it was found "
      "with");
  add("jitter", po::value<std::string>()->value_name("HOW"),
      "vary all durations: by 10% or so at most, or free, of any magnitude (docs/how-to/sweep.md)");
  add("seed", po::value<std::string>()->value_name("N"), "which of these timings; 0");
  add("save-state", po::value<std::string>()->value_name("FILE"),
      "write the end state to a file for 'pipesim explain'; - prints it instead of the report");
  add("loggops", po::value<std::string>()->value_name("PARAMETERS"),
      "the network of a GOAL file: L=2500,o=1500,g=1000,G=6,O=0,S=65535 is what is not given");
  add_views(options);
  return options;
}

po::options_description explain_options() {
  po::options_description options("Options");
  add_views(options);
  return options;
}

po::options_description check_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  const auto file = [](const char* name) { return po::value<std::string>()->value_name(name); };
  add("set", po::value<Arguments>()->value_name("NAME=VALUE"),
      "set a parameter of the scenario; may be given several times");
  add_patch(add);
  add("states", po::value<std::int64_t>()->value_name("N")->default_value(200'000),
      "the budget: how many states with more than one way on are followed");
  add("seconds", po::value<std::int64_t>()->value_name("N"),
      "stop after that time; what was covered by then depends on the machine");
  add("order", file("FILE"), "write the order that hangs, for 'pipesim run --replay'; - prints it");
  add("promela", file("FILE"),
      "also write the plan as a model for SPIN, which answers the same question; - only prints it");
  add("json", "print the answer as JSON (docs/reference/json.md)");
  add("dot", file("FILE"), "write the wait-for graph of the hang for Graphviz");
  add("all", "list and draw every wait of the hang, not only those of the cycle");
  add("color", file("WHEN"), "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

po::options_description test_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  add("filter,k", text("REGEX"), "only tests whose name contains this regular expression");
  add("jobs,j", po::value<int>()->value_name("N"),
      "how many run at the same time; as many as there are cores");
  add("junit", text("FILE"), "write the results as JUnit XML; - prints that instead");
  add("update", "put what was found in place of exact times and cycle lengths that differ");
  add("update-verdicts", "the same, also of verdicts and causes: look at the difference");
  add("quiet,q", "do not list what passed");
  add("color", text("WHEN"), "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

po::options_description sweep_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  const auto several = [](const char* name) { return po::value<Arguments>()->value_name(name); };
  add("vary", several("NAME=VALUES"),
      "a parameter and its values: 1..8, 1ms..9ms:2ms, a,b,c; several make all combinations. "
      "'jitter' is by how much durations vary: 0,10%,50%,free");
  add("seeds", text("N"), "so many random timings of each; without jitter they vary by 10%");
  add("first-seed", text("S"), "the number of the first timing; 0");
  add("set", several("NAME=VALUE"), "set a parameter in all runs; may be given several times");
  add("jobs,j", po::value<int>()->value_name("N"),
      "how many run at the same time; as many as there are cores");
  add("output,o", text("FILE"),
      "keep runs there as they end: the same command goes on from there ({shard}: its number)");
  add("shard", text("I/N"), "do only part I of N; auto: that which MPI or Slurm says");
  add("merge", "FILE... are the outputs of all shards: put them together");
  add("json", "print the result as JSON (docs/reference/json.md)");
  add("csv", text("FILE"), "write a row for each run; - prints that instead");
  add("plot", text("FILE"), "draw the result as SVG");
  add("color", text("WHEN"), "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

po::options_description diff_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  const auto settings = [] { return po::value<Arguments>()->value_name("NAME=VALUE"); };
  add("set", settings(), "set a parameter on both sides; may be given several times");
  add("set-a", settings(), "the same, on the first side only");
  add("set-b", settings(), "the same, on the second side only");
  add("json", "print the differences as JSON (docs/reference/json.md)");
  add("all", "leave nothing out of long lists");
  add("color", po::value<std::string>()->value_name("WHEN"),
      "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

po::options_description draw_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  add("what", text("WHAT"),
      "timeline (the default), wait-for, tasks, stages or memory: what the picture shows");
  add("output,o", text("FILE"), "the picture; its ending says how: .svg, .png, .pdf or .dot");
  add("ranks", text("RANKS"), "only these, as 0..3,7");
  add("all", "fold nothing: each rank for itself, and every wait");
  add("set", po::value<Arguments>()->value_name("NAME=VALUE"),
      "set a parameter of the scenario; may be given several times");
  add_patch(add);
  add("jitter", text("HOW"), "vary all durations, as for 'pipesim run'");
  add("seed", text("N"), "which of these timings; 0");
  add("color", text("WHEN"), "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kRunHelp =
    "Usage: pipesim run FILE [options]\n"
    "\n"
    "Simulates the scenario in FILE (- is standard input) and says whether it completes; if it\n"
    "hangs, who waits for whom, and why. A FILE that ends with .csv is a pipeline schedule of "
    "PyTorch,\n"
    "one that ends with .goal a program in LogGOPSim's format (docs/reference/goal.md).\n"
    "\n"
    "Examples:\n"
    "  pipesim run scenarios/swin_2x2x2.yaml\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --set acc=2 --set bwd_dst_buffer=backward\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --patch fix.yaml\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --dot hang.dot\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --html hang.html\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --json | jq .cycle\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --trace swin.json.gz\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --until rank1:nccl-1998#2\n"
    "  pipesim run scenarios/deepspeed_loss_broadcast.yaml --stacks\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --log - | grep 'node0:1' | tail\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --save-state hang.json\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --jitter 10% --seed 17\n"
    "  pipesim run schedule.csv --set forward=2ms --set messages=pg\n"
    "  pipesim run allreduce.goal --loggops L=1000,G=1\n"
    "\n"
    "Exit code: 0 it completes, 1 it hangs, 2 bad input or usage, 3 a limit was reached first,\n"
    "74 a file could not be read or written, 130 interrupted.\n"
    "\n";

std::string help_of_run() {
  std::ostringstream text;
  text << kRunHelp << run_options();
  return text.str();
}

constexpr std::string_view kCheckHelp =
    "Usage: pipesim check FILE [options]\n"
    "\n"
    "Says whether the scenario in FILE (- is standard input) can hang in any order: however long\n"
    "acts, launches and inputs take. 'run' shows one timing, this all of them "
    "(docs/explanation/check.md).\n"
    "\n"
    "  proved         no order hangs\n"
    "  hang possible  an order was found that hangs; the report is of the run in that order\n"
    "  hang certain   every order hangs\n"
    "  undecided      none was found before the budget ran out\n"
    "\n"
    "Examples:\n"
    "  pipesim check scenarios/swin_2x2x2.yaml --states 10000\n"
    "  pipesim check scenarios/pipeline_1f1b.yaml --set stages=512 --set micro_batches=1024\n"
    "  pipesim check scenarios/buffer_on_the_wrong_stream.yaml --order order.json\n"
    "  pipesim run scenarios/buffer_on_the_wrong_stream.yaml --replay order.json\n"
    "\n"
    "Exit code: 0 proved, 1 a hang is possible or certain, 2 bad input or usage, 3 undecided, 74 "
    "a\n"
    "file could not be read or written, 130 interrupted.\n"
    "\n";

std::string help_of_check() {
  std::ostringstream text;
  text << kCheckHelp << check_options();
  return text.str();
}

po::options_description why_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("set", po::value<Arguments>()->value_name("NAME=VALUE"),
      "set a parameter of the scenario; may be given several times");
  add_patch(add);
  add("jitter", po::value<std::string>()->value_name("HOW"),
      "vary all durations, as for 'pipesim run'");
  add("seed", po::value<std::string>()->value_name("N"), "which of these timings; 0");
  add("json", "print the answer as JSON (docs/reference/json.md)");
  add("color", po::value<std::string>()->value_name("WHEN"),
      "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kWhyHelp =
    "Usage: pipesim why FILE ACT [options]\n"
    "\n"
    "Runs the scenario in FILE (- is standard input) and says why ACT is not done: the waits that "
    "lead\n"
    "from it to what everything waits for in the end. ACT is as reports write it, 'rank 1 "
    "gather#2',\n"
    "or rank1:gather#2.\n"
    "\n"
    "Examples:\n"
    "  pipesim why scenarios/swin_2x2x2.yaml 'rank 7 H2#4'\n"
    "  pipesim why scenarios/rank_segfault.yaml 'rank 3 step#1' --json | jq .chain\n"
    "\n"
    "Exit code: 0 the act is done, 1 it never will be, 2 bad input or usage, 3 a limit was "
    "reached\n"
    "first, 74 a file could not be read, 130 interrupted.\n"
    "\n";

po::options_description reduce_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("output,o", po::value<std::string>()->value_name("FILE"),
      "write the small scenario there, not to standard output");
  add("set", po::value<Arguments>()->value_name("NAME=VALUE"),
      "set a parameter of the scenario; may be given several times");
  add_patch(add);
  add("json", "with -o: print what was done as JSON (docs/reference/json.md)");
  add("color", po::value<std::string>()->value_name("WHEN"),
      "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kReduceHelp =
    "Usage: pipesim reduce FILE [options]\n"
    "\n"
    "Makes the hanging scenario in FILE (- is standard input) smaller while its hang stays the "
    "same\n"
    "(docs/how-to/reduce.md): fewer ranks, micro-batches, actors, waits and times, for a bug "
    "report. What "
    "is\n"
    "left has no parameters, and expects its verdict.\n"
    "\n"
    "Examples:\n"
    "  pipesim reduce scenarios/swin_2x2x2.yaml -o small.yaml && pipesim run small.yaml\n"
    "  pipesim reduce job.yaml --set dp=8 > small.yaml\n"
    "\n"
    "Exit code: 0 written, 2 bad input or usage, or nothing that hangs, 74 a file could not be "
    "read or\n"
    "written, 130 interrupted: what was reached is written.\n"
    "\n";

std::string help_of_reduce() {
  std::ostringstream text;
  text << kReduceHelp << reduce_options();
  return text.str();
}

std::string help_of_why() {
  std::ostringstream text;
  text << kWhyHelp << why_options();
  return text.str();
}

constexpr std::string_view kDrawHelp =
    "Usage: pipesim draw FILE -o PICTURE [options]\n"
    "\n"
    "Runs the scenario in FILE (- is standard input) and draws it (docs/how-to/draw.md):\n"
    "\n"
    "  timeline  what each stream of each rank did when, and what it waits for at the end\n"
    "  wait-for  who waits for whom when it hangs, with the cycle\n"
    "  tasks     the task graph: what runs where, what feeds what, with how many slots\n"
    "  stages    pipeline stages and groups of ranks, and what goes between them\n"
    "  memory    what is in use on each rank over time\n"
    "\n"
    "Examples:\n"
    "  pipesim draw scenarios/swin_2x2x2.yaml -o timeline.svg\n"
    "  pipesim draw scenarios/swin_2x2x2.yaml --what wait-for -o hang.png\n"
    "  pipesim draw scenarios/pipeline_1f1b.yaml --set kind=gpipe -o gpipe.pdf\n"
    "\n"
    "Exit code: 0 there is a picture, whatever it shows; 2 bad input or usage, or nothing to draw; "
    "74\n"
    "a file could not be read or written, 130 interrupted.\n"
    "\n";

std::string help_of_draw() {
  std::ostringstream text;
  text << kDrawHelp << draw_options();
  return text.str();
}

constexpr std::string_view kExplainHelp =
    "Usage: pipesim explain FILE [options]\n"
    "\n"
    "Opens an end state that 'pipesim run --save-state' has written (- is standard input), on "
    "this\n"
    "machine or another, and reports as that run did. The scenario is in the file.\n"
    "\n"
    "Examples:\n"
    "  pipesim explain hang.json\n"
    "  pipesim explain hang.json --stacks\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --save-state - | pipesim explain - --json\n"
    "\n"
    "Exit code: that of the run (0 it completes, 1 it hangs, 3 a limit was reached first, 130\n"
    "interrupted); 2 bad usage, no state file, or one that comes out otherwise here; 74 a file\n"
    "could not be read or written.\n"
    "\n";

std::string help_of_explain() {
  std::ostringstream text;
  text << kExplainHelp << explain_options();
  return text.str();
}

constexpr std::string_view kDiffHelp =
    "Usage: pipesim diff A [B] [options]\n"
    "\n"
    "Compares two runs: what differs between their task graphs, how they end, where they first\n"
    "differ, what got slower, and what changed places on a stream. A and B are scenarios, states\n"
    "that 'pipesim run --save-state' has written, or reports of 'pipesim run --json' (of which "
    "only\n"
    "the end is known); - is standard input. Without B: A with the settings of each side.\n"
    "\n"
    "Examples:\n"
    "  pipesim diff scenarios/swin_2x2x2.yaml --set-b acc=2\n"
    "  pipesim diff before.yaml after.yaml --json\n"
    "  git show HEAD:scenarios/swin_2x2x2.yaml | pipesim diff - scenarios/swin_2x2x2.yaml\n"
    "\n"
    "Exit code: 0 they are the same, 1 they differ, 2 bad input or usage, 74 a file could not be\n"
    "read, 130 interrupted.\n"
    "\n";

std::string help_of_diff() {
  std::ostringstream text;
  text << kDiffHelp << diff_options();
  return text.str();
}

constexpr std::string_view kTestHelp =
    "Usage: pipesim test [FILE|DIR]... [options]\n"
    "\n"
    "Runs scenarios and compares what comes out with what they expect (docs/how-to/test.md). A "
    "folder\n"
    "stands for all scenarios below it; without any: 'scenarios' if that is there, else this "
    "folder.\n"
    "Each entry of 'expect' is a test, called like the file and what it sets: 'a.yaml [acc=2]'.\n"
    "\n"
    "Examples:\n"
    "  pipesim test\n"
    "  pipesim test scenarios/swin_2x2x2.yaml --filter acc=2\n"
    "  pipesim test my_scenarios --junit results.xml --quiet\n"
    "  pipesim test my_scenarios --update && git diff\n"
    "\n"
    "Exit code: 0 all is as expected, 1 something is not, 2 a scenario cannot be run, nothing to\n"
    "test, or bad usage, 74 a file could not be read or written, 130 interrupted.\n"
    "\n";

std::string help_of_test() {
  std::ostringstream text;
  text << kTestHelp << test_options();
  return text.str();
}

po::options_description opt_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("passes", po::value<std::string>()->value_name("PASSES")->default_value(""),
      "the passes in their order: a,b=VALUE,c:OPTION=VALUE; none: check and print");
  add("set", po::value<Arguments>()->value_name("NAME=VALUE"),
      "set a parameter of the scenario; may be given several times");
  add("list", "list the passes with their options and stop");
  add("print-after-all", "print the task graph after each pass, to standard error");
  add("explain-boxing",
      "print how the tensors of a model are boxed, as OneFlow's boxing log does, and no graph");
  add("verify-each", po::value<std::string>()->value_name("on|off")->default_value("on"),
      "check all rules after each pass, and name the one that broke a rule; off: only at the end");
  add("color", po::value<std::string>()->value_name("WHEN"),
      "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

po::options_description import_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("output,o", po::value<std::string>()->value_name("FILE"), "write there, and print nothing");
  add("csv", "write a schedule file again, in PyTorch's present words, instead of a scenario");
  add("lower", "add the sends and receives that PyTorch adds to a schedule that only computes");
  add("fsdp", "add what FSDP does too: UNSHARD, RESHARD, REDUCE_GRAD; with --lower");
  add("color", po::value<std::string>()->value_name("WHEN"), "auto (the default), always or never");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kSweepHelp =
    "Usage: pipesim sweep FILE [options]\n"
    "       pipesim sweep --merge FILE... [options]\n"
    "\n"
    "Runs the scenario in FILE (- is standard input) in all combinations of some settings, and "
    "each "
    "of\n"
    "these in many random timings, on all cores; says how many do not complete, in which ways, and "
    "how\n"
    "long the others take. Shards of a sweep can run on many machines (docs/how-to/sweep.md).\n"
    "\n"
    "Examples:\n"
    "  pipesim sweep scenarios/swin_2x2x2.yaml --vary acc=1..8\n"
    "  pipesim sweep scenarios/swin_2x2x2.yaml --vary acc=1..8 --vary jitter=0,10%,50% --seeds "
    "400\n"
    "  pipesim sweep scenarios/swin_2x2x2.yaml --vary bwd_dst_buffer=forward,backward --plot "
    "a.svg\n"
    "  pipesim sweep step.yaml --seeds 100000 -o runs.jsonl\n"
    "  pipesim sweep step.yaml --seeds 100000 --shard 3/64 -o part3.jsonl\n"
    "  pipesim sweep --merge part*.jsonl --csv runs.csv\n"
    "\n"
    "Exit code: 0 all runs complete, 1 some do not, 2 bad input or usage, 74 a file could not be "
    "read\n"
    "or written, 130 interrupted; of a shard: 0 its runs are done, however they end.\n"
    "\n";

std::string help_of_sweep() {
  std::ostringstream text;
  text << kSweepHelp << sweep_options();
  return text.str();
}

constexpr std::string_view kOptHelp =
    "Usage: pipesim opt FILE [options]\n"
    "       pipesim opt --list\n"
    "\n"
    "Runs scheduler passes on the task graph of the scenario in FILE (- is standard input), "
    "checks\n"
    "its rules after each, and prints the graph that comes out as a scenario. "
    "docs/how-to/passes.md says\n"
    "which passes there are and how to write one. Before those of --passes, a scenario with a "
    "model\n"
    "has its own passes run, which make tasks of it; if --passes names one of these, only those "
    "that\n"
    "it names are run.\n"
    "\n"
    "Options of a pass follow it after colons; 'pass=VALUE' gives its first one. A value in "
    "'single\n"
    "quotes' may have commas, colons and equal signs in it.\n"
    "\n"
    "Examples:\n"
    "  pipesim opt scenarios/swin_2x2x2.yaml --passes move-to-stream=BdstBuf:stream=backward\n"
    "  pipesim opt scenarios/swin_2x2x2.yaml --passes order-collectives=tp | pipesim run -\n"
    "  pipesim opt scenarios/swin_2x2x2.yaml --set acc=2 --passes canonicalize\n"
    "  pipesim opt scenarios/swin_2x2x2_from_model.yaml --explain-boxing\n"
    "\n"
    "Exit code: 0 the graph is printed; 2 bad input or usage, a rule is broken, or a pass "
    "refuses;\n"
    "74 a file could not be read.\n"
    "\n";

std::string help_of_opt() {
  std::ostringstream text;
  text << kOptHelp << opt_options();
  return text.str();
}

constexpr std::string_view kImportHelp =
    "Usage: pipesim import torch-schedule FILE [options]\n"
    "       pipesim import oneflow-plan FILE [options]\n"
    "\n"
    "Reads a pipeline schedule of PyTorch (CSV, a row per rank; - is standard input), or the plan\n"
    "of a compiled graph that OneFlow dumps as text (job_NAME_plan), and prints a scenario that "
    "does\n"
    "it. --csv, --lower and --fsdp are for schedules.\n"
    "\n"
    "Examples:\n"
    "  pipesim import torch-schedule schedule.csv -o schedule.yaml\n"
    "  pipesim import torch-schedule compute.csv --lower --csv -o comms.csv\n"
    "  pipesim import oneflow-plan log/job_GraphBase_0_plan | pipesim run -\n"
    "\n"
    "Exit code: 0 done, 2 bad input or usage, 74 a file could not be read or written.\n"
    "\n";

std::string help_of_import() {
  std::ostringstream text;
  text << kImportHelp << import_options();
  return text.str();
}

po::options_description fix_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("set", po::value<Arguments>()->value_name("NAME=VALUE"),
      "set a parameter of the scenario, which then stays; may be given several times");
  add_patch(add);
  add("output,o", po::value<std::string>()->value_name("DIR"),
      "write the patches to DIR/fix_1.yaml, DIR/fix_2.yaml, ...");
  add("json", "print the changes as JSON (docs/reference/json.md)");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kFixHelp =
    "Usage: pipesim fix FILE [options]\n"
    "\n"
    "Finds the smallest changes after which the scenario in FILE (- is standard input) does not "
    "hang\n"
    "any more: other values of its parameters, another stream, more slots, one order of two\n"
    "collectives, and more (docs/how-to/fix.md). Each is told with the wait that it removes, how "
    "sure it "
    "is,\n"
    "what it costs, and a patch that 'pipesim run --patch' takes. The best is the first.\n"
    "\n"
    "Examples:\n"
    "  pipesim fix scenarios/swin_2x2x2.yaml\n"
    "  pipesim fix scenarios/swin_2x2x2.yaml -o fixes\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --patch fixes/fix_1.yaml\n"
    "\n"
    "Exit code: 0 there is a change, or nothing to fix; 1 none was found; 2 bad input or usage;\n"
    "3 undecided: a budget ended first; 74 a file could not be read or written; 130 "
    "interrupted.\n"
    "\n";

std::string help_of_fix() {
  std::ostringstream text;
  text << kFixHelp << fix_options();
  return text.str();
}

po::options_description lint_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("set", po::value<Arguments>()->value_name("NAME=VALUE"),
      "set a parameter of the scenario; may be given several times");
  add_patch(add);
  add("ignore", po::value<Arguments>()->value_name("RULE"),
      "say nothing of this rule; may be given several times");
  add("list", "list the rules and stop");
  add("json", "print the findings as JSON (docs/reference/json.md)");
  add("color", po::value<std::string>()->value_name("WHEN"),
      "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kLintHelp =
    "Usage: pipesim lint FILE [options]\n"
    "       pipesim lint --list\n"
    "\n"
    "Names what is legal in the scenario in FILE (- is standard input) but suspect, with the "
    "line,\n"
    "the reason, and the rule, which docs/reference/lint.md describes. Nothing is run: whether it "
    "hangs is "
    "what\n"
    "'pipesim run' says.\n"
    "\n"
    "Examples:\n"
    "  pipesim lint scenarios/swin_2x2x2.yaml\n"
    "  pipesim lint scenarios/swin_2x2x2.yaml --set bwd_dst_buffer=backward --ignore partial-sum\n"
    "\n"
    "Exit code: 0 nothing is suspect, 1 something is, 2 bad input or usage, 74 a file could not "
    "be\n"
    "read.\n"
    "\n";

std::string help_of_lint() {
  std::ostringstream text;
  text << kLintHelp << lint_options();
  return text.str();
}

po::options_description diagnose_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  const auto several = [](const char* name) { return po::value<Arguments>()->value_name(name); };
  add("scenario", text("FILE"),
      "of logs: a scenario of the same job, which says who does a collective with whom, and what "
      "is "
      "forward and backward; the report says whether it ends in the same place");
  add("set", several("NAME=VALUE"), "set a parameter of that scenario");
  add("group", several("RANKS"),
      "of logs: these ranks do collectives together (0,1 or 0-3); may be given several times");
  add("phase", several("NAME=OPS"),
      "of logs: a column of the table, forward=F0,F1,F3; may be given several times");
  add("json", "print the diagnosis as JSON (docs/reference/json.md)");
  add("dot", text("FILE"), "write the wait-for graph for Graphviz");
  add("draw", text("FILE"), "draw it, as .svg, .png or .pdf");
  add("html", text("FILE"), "write one page that shows it, to open in a browser");
  add("as-scenario", text("FILE"),
      "of dumps and logs: write a scenario that hangs in the same way");
  add("all", "list and draw every wait, rank and group");
  add("color", text("WHEN"), "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kDiagnoseHelp =
    "Usage: pipesim diagnose KIND FILE|DIR... [options]\n"
    "\n"
    "Reads what a real job left that hangs, and says who waits for whom in the words of 'run'\n"
    "(docs/how-to/diagnose.md). Kinds of evidence:\n"
    "\n"
    "  flight-recorder   dumps of PyTorch's Flight Recorder, JSON or pickled: a file of each "
    "rank,\n"
    "                    whose name ends with the rank. Nothing in a pickle is executed\n"
    "  nccl-log          the output of a PyTorch job: the watchdog's timeouts, and NCCL's lines\n"
    "  oneflow           logs with a line before and after each launch, of all ranks together or "
    "a\n"
    "                    file of each: OneFlow's with glog, or those of 'pipesim run --log'\n"
    "  boxing            OneFlow's boxing log (CSV): partial sums that are made from broadcasts\n"
    "  stacks            stacks of all ranks as 'py-spy dump' prints them, also collected by srun "
    "or\n"
    "                    pdsh, or those of 'pipesim run --stacks': who stands elsewhere\n"
    "\n"
    "Examples:\n"
    "  pipesim diagnose flight-recorder /tmp/dumps\n"
    "  pipesim diagnose flight-recorder trace_rank_0 trace_rank_1 --json\n"
    "  pipesim diagnose flight-recorder /tmp/dumps --draw hang.svg\n"
    "  pipesim diagnose flight-recorder /tmp/dumps --as-scenario hang.yaml && pipesim run "
    "hang.yaml\n"
    "  pipesim diagnose oneflow logs --group 0,1 --group 2,3\n"
    "  pipesim diagnose oneflow all.log --scenario scenarios/swin_2x2x2.yaml\n"
    "\n"
    "Exit code: 0 nothing wrong found, 1 a hang or a mismatch, 2 bad input or usage, 3 undecided: "
    "the\n"
    "evidence does not say, 74 a file could not be read or written.\n"
    "\n";

po::options_description compare_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("kind", po::value<std::string>()->value_name("KIND"),
      "of evidence, as of 'diagnose': by default what it begins with says it");
  add("set", po::value<Arguments>()->value_name("NAME=VALUE"), "set a parameter of scenarios");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kCompareHelp =
    "Usage: pipesim compare A B [options]\n"
    "\n"
    "Says whether two ends of a job stand in the same place: a simulated and a real one, or two of "
    "the\n"
    "same job. A and B are scenarios (*.yaml), which are run, or evidence "
    "(docs/how-to/diagnose.md).\n"
    "Compared are the verdict, the ranks to blame, which ranks wait, and of two pieces of evidence "
    "at\n"
    "which calls ranks stand, whatever their numbers.\n"
    "\n"
    "Examples:\n"
    "  pipesim compare hang.yaml /tmp/dumps\n"
    "  pipesim compare monday/dumps tuesday/dumps\n"
    "  pipesim compare scenarios/swin_2x2x2.yaml all_ranks.log\n"
    "\n"
    "Exit code: 0 they do, 1 they do not, 2 bad input or usage, 74 a file could not be read.\n"
    "\n";

std::string help_of_compare() {
  std::ostringstream text;
  text << kCompareHelp << compare_options();
  return text.str();
}

std::string help_of_diagnose() {
  std::ostringstream text;
  text << kDiagnoseHelp << diagnose_options();
  return text.str();
}

po::options_description new_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("output,o", po::value<std::string>()->value_name("FILE"),
      "write it there; what is there already is left as it is");
  add("list", "list the kinds and stop");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kNewHelp =
    "Usage: pipesim new [KIND] [options]\n"
    "\n"
    "Prints a scenario to begin your own from: small, it runs as it is, and its comments say what\n"
    "each part is and what to change. Kinds:\n"
    "\n"
    "  program   what the Python of each rank does, step by step (the default)\n"
    "  actors    actors that hand each other what they made, as in OneFlow\n"
    "  model     layers and their layout, of which passes make actors\n"
    "  schedule  a pipeline schedule by its name\n"
    "\n"
    "Examples:\n"
    "  pipesim new -o job.yaml && pipesim run job.yaml\n"
    "  pipesim new schedule | pipesim run -\n"
    "\n"
    "Exit code: 0 done, 2 bad usage, 74 the file is there already or could not be written.\n"
    "\n";

std::string help_of_new() {
  std::ostringstream text;
  text << kNewHelp << new_options();
  return text.str();
}

po::options_description completion_options() {
  po::options_description options("Options");
  options.add_options()("help,h", "print this help");
  return options;
}

constexpr std::string_view kCompletionHelp =
    "Usage: pipesim completion bash|zsh\n"
    "       pipesim completion parameters FILE\n"
    "\n"
    "Prints a script with which the shell completes commands, options, files, and behind --set "
    "the\n"
    "parameters of the scenario. docs/how-to/install.md says where such scripts belong. The second "
    "form "
    "is\n"
    "what they ask: NAME=VALUE of all parameters, a line each, and nothing where FILE is no "
    "scenario.\n"
    "\n"
    "Examples:\n"
    "  source <(pipesim completion bash)\n"
    "  pipesim completion zsh > ~/.zfunc/_pipesim\n"
    "\n"
    "Exit code: 0 done, 2 bad usage.\n"
    "\n";

std::string help_of_completion() {
  std::ostringstream text;
  text << kCompletionHelp << completion_options();
  return text.str();
}

po::options_description help_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("man", "print it as a man page, in roff");
  add("list", "list the names of the commands and stop");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kHelpHelp =
    "Usage: pipesim help [COMMAND] [options]\n"
    "\n"
    "Prints what a command does, with examples, exit codes and all options.\n"
    "\n"
    "Examples:\n"
    "  pipesim help run\n"
    "  pipesim help --man run | man -l -\n"
    "\n"
    "Exit code: 0 done, 2 bad usage.\n"
    "\n";

std::string help_of_help() {
  std::ostringstream text;
  text << kHelpHelp << help_options();
  return text.str();
}

// The nearest option is worth more than the library's words.
[[noreturn]] void explain(const po::error& error, const po::options_description& options) {
  // An option that is not just text is a number, and the library keeps what was found to its text.
  if (const auto* invalid = dynamic_cast<const po::invalid_option_value*>(&error)) {
    const std::string text = error.what();
    const std::size_t begin = text.find('\'') + 1;
    throw UsageError(fmt::format("option '{}' is a whole number, found '{}'",
                                 invalid->get_option_name(),
                                 text.substr(begin, text.find("')", begin) - begin)));
  }
  const auto* unknown = dynamic_cast<const po::unknown_option*>(&error);
  if (unknown == nullptr) throw UsageError(error.what());
  std::string name = unknown->get_option_name();
  name.erase(0, name.find_first_not_of('-'));
  name.erase(std::min(name.find('='), name.size()));
  std::vector<std::string> known;
  for (const auto& option : options.options()) known.push_back(option->long_name());
  const std::string nearest = models::nearest_name(name, known);
  throw UsageError(
      fmt::format("there is no option '{}'{}", unknown->get_option_name(),
                  nearest.empty() ? "" : fmt::format("; did you mean '--{}'?", nearest)));
}

po::variables_map parse(const Arguments& arguments, const po::options_description& visible) {
  po::options_description all;
  all.add(visible);
  all.add_options()("file", po::value<Arguments>());
  po::positional_options_description positional;
  positional.add("file", -1);
  // No guessing: an abbreviation that works today may be ambiguous tomorrow.
  using Style = po::command_line_style::style_t;
  const int style = Style::default_style & ~Style::allow_guessing;
  po::variables_map values;
  try {
    po::store(
        po::command_line_parser(arguments).options(all).positional(positional).style(style).run(),
        values);
    po::notify(values);
  } catch (const po::error& error) {
    explain(error, visible);
  }
  return values;
}

// What the option `name` sets, in the order in which it was given.
std::vector<formats::Setting> settings(const po::variables_map& values, const char* name) {
  std::vector<formats::Setting> result;
  if (values.count(name) == 0) return result;
  for (const std::string& text : values[name].as<Arguments>()) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format("--{} needs NAME=VALUE, found '{}'", name, text));
    }
    result.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

std::string one_file(const po::variables_map& values, std::string_view command) {
  const Arguments files = values.count("file") > 0 ? values["file"].as<Arguments>() : Arguments();
  if (files.size() == 1) return files.front();
  throw UsageError(
      files.empty() ? fmt::format("'pipesim {}' needs a file", command)
                    : fmt::format("'pipesim {}' takes one file, found {}", command, files.size()));
}

// The one scenario of a command, with --patch and --set.
ScenarioFiles scenario_files(const po::variables_map& values, const std::string& path) {
  ScenarioFiles files;
  files.path = path;
  if (values.count("patch") > 0) files.patches = values["patch"].as<Arguments>();
  files.settings = settings(values, "set");
  const auto dashes = std::count(files.patches.begin(), files.patches.end(), "-");
  if (dashes + (files.path == "-" ? 1 : 0) > 1) {
    throw UsageError("standard input is there once: give the others as files");
  }
  return files;
}

ScenarioFiles scenario_files_of(const po::variables_map& values, std::string_view command) {
  return scenario_files(values, one_file(values, command));
}

bool on_or_off(const po::variables_map& values, const char* option) {
  const auto& text = values[option].as<std::string>();
  if (text == "on" || text == "off") return text == "on";
  throw UsageError(fmt::format("--{} is on or off, found '{}'", option, text));
}

Console coloured(const Console& console, const po::variables_map& values) {
  Console result = console;
  if (values.count("color") == 0) return result;
  const auto& when = values["color"].as<std::string>();
  if (when != "auto" && when != "always" && when != "never") {
    throw UsageError(fmt::format("--color is auto, always or never, found '{}'", when));
  }
  if (when != "auto") result.out_colour = result.err_colour = when == "always";
  return result;
}

std::optional<std::string> text_of(const po::variables_map& values, const char* option) {
  if (values.count(option) == 0) return std::nullopt;
  return values[option].as<std::string>();
}

// Of an option that writes a file: standard output has the report.
std::optional<std::string> output_of(const po::variables_map& values, const char* option) {
  std::optional<std::string> path = text_of(values, option);
  if (path == "-") {
    throw UsageError(
        fmt::format("--{} needs the name of a file; one that is called '-' is ./-", option));
  }
  return path;
}

std::optional<Until> until(const po::variables_map& values) {
  const std::optional<std::string> text = text_of(values, "until");
  if (!text) return std::nullopt;
  std::optional<Until> result = parse_until(*text);
  if (result) return result;
  throw UsageError(
      fmt::format("--until needs a time (12ms) or an act (rank0:gather#3), found '{}'", *text));
}

sim::EngineKind engine(const po::variables_map& values) {
  const std::string name = text_of(values, "engine").value_or("auto");
  if (name == "auto") return sim::EngineKind::kAuto;
  if (name == "events") return sim::EngineKind::kEvents;
  if (name == "sweep") return sim::EngineKind::kSweep;
  throw UsageError(fmt::format("--engine is auto, events or sweep, found '{}'", name));
}

// The whole number that the option `name` gives, or `otherwise`.
std::uint64_t number(const po::variables_map& values, const char* name, std::uint64_t otherwise) {
  const std::optional<std::string> text = text_of(values, name);
  if (!text) return otherwise;
  const std::optional<std::uint64_t> found = models::whole_number<std::uint64_t>(*text);
  if (found) return *found;
  throw UsageError(fmt::format("--{} is a whole number, found '{}'", name, *text));
}

sim::Jitter jitter(const po::variables_map& values) {
  const std::optional<std::string> text = text_of(values, "jitter");
  const bool has_seed = values.count("seed") > 0;
  if (!text && has_seed) throw UsageError("--seed goes with --jitter");
  if (!text) return {};
  const std::optional<sim::Jitter> found = models::parse_jitter(*text);
  if (!found) {
    throw UsageError(fmt::format("--jitter is {}, found '{}'", models::kJitterForms, *text));
  }
  sim::Jitter result = *found;
  result.seed = number(values, "seed", 0);
  return result;
}

Views views(const po::variables_map& values, bool state_is_printed) {
  Views result;
  result.quiet = state_is_printed;
  result.json = values.count("json") > 0;
  result.stacks = values.count("stacks") > 0;
  result.all = values.count("all") > 0;
  result.timeline = values.count("timeline") > 0;
  result.dot_path = output_of(values, "dot");
  result.html_path = output_of(values, "html");
  result.schedule_path = output_of(values, "schedule");
  result.log_path = text_of(values, "log");
  result.log_folder = output_of(values, "log-dir");
  result.trace_path = text_of(values, "trace");
  const std::array<std::pair<bool, const char*>, 6> printed = {
      {{result.json, "--json"},
       {result.stacks, "--stacks"},
       {result.timeline, "--timeline"},
       {result.log_path == "-", "--log -"},
       {result.trace_path == "-", "--trace -"},
       {result.quiet, "--save-state -"}}};
  const char* first = nullptr;
  for (const auto& [asked, option] : printed) {
    if (!asked) continue;
    if (first != nullptr) {
      throw UsageError(fmt::format("{} and {} exclude each other", first, option));
    }
    first = option;
  }
  return result;
}

GoalCommand goal_command(const po::variables_map& values) {
  for (const char* option :
       {"set", "patch", "params", "until", "engine", "jitter", "seed", "save-state", "stacks",
        "log", "log-dir", "schedule", "replay", "trace", "timeline", "html"}) {
    if (values.count(option) == 0) continue;
    throw UsageError(fmt::format(
        "--{} is for scenarios: a GOAL file takes --loggops, --json, --dot, --all and --color",
        option));
  }
  GoalCommand command;
  command.path = one_file(values, "run");
  if (const auto parameters = text_of(values, "loggops")) {
    const std::string problem = read_loggops(*parameters, command.parameters);
    if (!problem.empty()) throw UsageError(fmt::format("--loggops: {}", problem));
  }
  command.json = values.count("json") > 0;
  command.all = values.count("all") > 0;
  command.dot_path = output_of(values, "dot");
  return command;
}

int command_run(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, run_options());
  if (values.count("help") > 0) {
    console.out << help_of_run();
    return kExitGood;
  }
  const std::string path = one_file(values, "run");
  // Standard input has no name to tell by.
  const bool has_loggops = values.count("loggops") > 0;
  if (is_goal_path(path) || (path == "-" && has_loggops)) {
    return run_goal(goal_command(values), coloured(console, values));
  }
  if (has_loggops) throw UsageError("--loggops is for GOAL files, whose names end with .goal");
  RunCommand command;
  command.files = scenario_files_of(values, "run");
  command.until = until(values);
  command.engine = engine(values);
  command.jitter = jitter(values);
  command.list_parameters = values.count("params") > 0;
  command.state_path = text_of(values, "save-state");
  command.views = views(values, command.state_path == "-");
  command.replay_path = text_of(values, "replay");
  for (const char* option : {"until", "save-state", "engine", "jitter", "seed"}) {
    if (command.replay_path && values.count(option) > 0) {
      throw UsageError(fmt::format("--replay and --{} exclude each other", option));
    }
  }
  if (command.files.path == "-" && command.replay_path == "-") {
    throw UsageError("standard input is there once: give the other one as a file");
  }
  return run_run(command, coloured(console, values));
}

std::int64_t count_of(const po::variables_map& values, const char* option, std::int64_t most) {
  const std::int64_t found = values[option].as<std::int64_t>();
  if (found >= 1 && found <= most) return found;
  throw UsageError(fmt::format("--{} is a number from 1 to {}, found {}", option, most, found));
}

int command_check(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, check_options());
  if (values.count("help") > 0) {
    console.out << help_of_check();
    return kExitGood;
  }
  constexpr std::int64_t kMostStates = 1'000'000'000;
  constexpr std::int64_t kMostSeconds = std::int64_t{30} * 24 * 3600;
  CheckCommand command;
  command.files = scenario_files_of(values, "check");
  command.max_states = static_cast<std::uint64_t>(count_of(values, "states", kMostStates));
  if (values.count("seconds") > 0) {
    command.seconds = static_cast<std::uint32_t>(count_of(values, "seconds", kMostSeconds));
  }
  command.order_path = text_of(values, "order");
  command.dot_path = output_of(values, "dot");
  command.promela_path = text_of(values, "promela");
  command.json = values.count("json") > 0;
  command.all = values.count("all") > 0;
  if (command.promela_path == "-" && command.order_path == "-") {
    throw UsageError("--promela - and --order - exclude each other");
  }
  if (command.json && command.order_path == "-") {
    throw UsageError("--json and --order - exclude each other");
  }
  return run_check(command, coloured(console, values));
}

int command_reduce(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, reduce_options());
  if (values.count("help") > 0) {
    console.out << help_of_reduce();
    return kExitGood;
  }
  ReduceCommand command;
  command.files = scenario_files_of(values, "reduce");
  if (is_goal_path(command.files.path)) {
    throw UsageError("'pipesim reduce' takes scenarios: a GOAL file has no parts that it drops");
  }
  command.output = text_of(values, "output");
  command.json = values.count("json") > 0;
  if (command.output == "-") command.output.reset();
  if (command.json && !command.output) throw UsageError("--json needs -o FILE for the scenario");
  return run_reduce(command, coloured(console, values));
}

int command_why(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, why_options());
  if (values.count("help") > 0) {
    console.out << help_of_why();
    return kExitGood;
  }
  const Arguments given = values.count("file") > 0 ? values["file"].as<Arguments>() : Arguments();
  if (given.size() != 2) {
    throw UsageError(
        fmt::format("'pipesim why' takes a file and an act, as in \"pipesim why FILE "
                    "'rank 0 gather#3'\"; found {} of the two",
                    given.size()));
  }
  const auto act = parse_act(given[1]);
  if (!act) {
    throw UsageError(fmt::format("an act is written 'rank 0 gather#3', found '{}'",
                                 models::printable(given[1])));
  }
  WhyCommand command;
  command.files = scenario_files(values, given[0]);
  command.act = *act;
  command.json = values.count("json") > 0;
  command.jitter = jitter(values);
  return run_why(command, coloured(console, values));
}

viz::PictureFormat picture_format(const std::string& path) {
  try {
    return viz::picture_format(path);
  } catch (const viz::DrawingError& error) {
    throw UsageError(error.what());
  }
}

int command_draw(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, draw_options());
  if (values.count("help") > 0) {
    console.out << help_of_draw();
    return kExitGood;
  }
  DrawCommand command;
  command.files = scenario_files_of(values, "draw");
  if (is_goal_path(command.files.path)) {
    throw UsageError(
        "'pipesim draw' takes scenarios; 'pipesim run FILE.goal --dot' draws who waits");
  }
  const std::string what = text_of(values, "what").value_or("timeline");
  const auto subject = find_subject(what);
  if (!subject) {
    throw UsageError(
        fmt::format("--what is timeline, wait-for, tasks, stages or memory, found '{}'",
                    models::printable(what)));
  }
  command.subject = *subject;
  const auto path = text_of(values, "output");
  if (!path) throw UsageError("'pipesim draw' needs -o FILE, as in -o picture.svg");
  command.path = *path;
  command.format = picture_format(*path);
  command.ranks = text_of(values, "ranks");
  command.all = values.count("all") > 0;
  command.jitter = jitter(values);
  return run_draw(command, coloured(console, values));
}

int command_explain(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, explain_options());
  if (values.count("help") > 0) {
    console.out << help_of_explain();
    return kExitGood;
  }
  const ExplainCommand command{one_file(values, "explain"), views(values, false)};
  return run_explain(command, coloured(console, values));
}

int command_diff(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, diff_options());
  if (values.count("help") > 0) {
    console.out << help_of_diff();
    return kExitGood;
  }
  const Arguments files = values.count("file") > 0 ? values["file"].as<Arguments>() : Arguments();
  if (files.empty() || files.size() > 2) {
    throw UsageError(fmt::format("'pipesim diff' takes one file or two, found {}", files.size()));
  }
  DiffCommand command;
  command.before.path = files.front();
  command.after.path = files.back();
  for (auto& [side, own] :
       {std::pair(&command.before, "set-a"), std::pair(&command.after, "set-b")}) {
    side->settings = settings(values, "set");
    for (formats::Setting& setting : settings(values, own)) {
      side->settings.push_back(std::move(setting));
    }
  }
  const bool same_settings = command.before.settings == command.after.settings;
  if (files.size() == 1 && same_settings) {
    throw UsageError("one file with one setting is the same: give a second file, or --set-b");
  }
  command.json = values.count("json") > 0;
  command.all = values.count("all") > 0;
  return run_diff(command, coloured(console, values));
}

unsigned jobs(const po::variables_map& values) {
  constexpr int kMostJobs = 1024;
  if (values.count("jobs") == 0) return 0;
  const int found = values["jobs"].as<int>();
  if (found >= 1 && found <= kMostJobs) return static_cast<unsigned>(found);
  throw UsageError(fmt::format("--jobs is a number from 1 to {}, found {}", kMostJobs, found));
}

std::optional<std::regex> filter(const po::variables_map& values) {
  const std::optional<std::string> text = text_of(values, "filter");
  if (!text) return std::nullopt;
  try {
    return std::regex(*text);
  } catch (const std::regex_error&) {
    throw UsageError(fmt::format("--filter needs a regular expression, found '{}'", *text));
  }
}

int command_test(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, test_options());
  if (values.count("help") > 0) {
    console.out << help_of_test();
    return kExitGood;
  }
  TestCommand command;
  if (values.count("file") > 0) command.paths = values["file"].as<Arguments>();
  command.filter = filter(values);
  command.jobs = jobs(values);
  command.junit_path = text_of(values, "junit");
  command.update_names = values.count("update-verdicts") > 0;
  command.update = command.update_names || values.count("update") > 0;
  command.quiet = values.count("quiet") > 0;
  const auto& paths = command.paths;
  if (command.update && std::find(paths.begin(), paths.end(), "-") != paths.end()) {
    throw UsageError("standard input cannot be updated");
  }
  return run_test(command, coloured(console, values));
}

models::SweptVariable swept_variable(const std::string& text) {
  std::string problem;
  auto variable = models::parse_variable(text, problem);
  if (!variable) throw UsageError(fmt::format("--vary: {}", problem));
  if (variable->name != models::kJitterVariable) return std::move(*variable);
  for (const std::string& value : variable->values) {
    if (models::parse_jitter(value)) continue;
    throw UsageError(
        fmt::format("--vary jitter: each is {}, found '{}'", models::kJitterForms, value));
  }
  return std::move(*variable);
}

models::ParameterGrid grid(const po::variables_map& values) {
  models::ParameterGrid grid;
  const Arguments texts = values.count("vary") > 0 ? values["vary"].as<Arguments>() : Arguments();
  const std::vector<formats::Setting> fixed = settings(values, "set");
  for (const std::string& text : texts) {
    models::SweptVariable variable = swept_variable(text);
    const std::string& name = variable.name;
    for (const models::SweptVariable& other : grid.variables) {
      if (other.name == name) throw UsageError(fmt::format("--vary {} is given twice", name));
    }
    for (const formats::Setting& setting : fixed) {
      if (setting.first != name) continue;
      throw UsageError(fmt::format("--vary {0} and --set {0} exclude each other", name));
    }
    grid.variables.push_back(std::move(variable));
  }
  if (values.count("seeds") > 0) grid.jitter = "10%";
  grid.seeds = number(values, "seeds", 1);
  grid.first_seed = number(values, "first-seed", 0);
  if (grid.seeds == 0 || grid.seeds > models::kMostCases) {
    throw UsageError(
        fmt::format("--seeds is a number from 1 to {}, found {}", models::kMostCases, grid.seeds));
  }
  constexpr std::uint64_t kMostSeed = std::numeric_limits<std::uint64_t>::max();
  if (grid.first_seed > kMostSeed - (grid.seeds - 1)) {
    throw UsageError(fmt::format("--first-seed {} and {} behind it go beyond the last seed, {}",
                                 grid.first_seed, grid.seeds - 1, kMostSeed));
  }
  return grid;
}

SweepViews sweep_views(const po::variables_map& values) {
  SweepViews views;
  views.json = values.count("json") > 0;
  views.csv_path = text_of(values, "csv");
  views.plot_path = output_of(values, "plot");
  if (views.json && views.csv_path == "-")
    throw UsageError("--json and --csv - exclude each other");
  return views;
}

int command_merge(const po::variables_map& values, const Console& console) {
  for (const char* option : {"vary", "seeds", "first-seed", "set", "jobs", "output", "shard"}) {
    if (values.count(option) == 0) continue;
    throw UsageError(
        fmt::format("--{} and --merge exclude each other: the files say what was run", option));
  }
  MergeCommand command;
  if (values.count("file") > 0) command.paths = values["file"].as<Arguments>();
  if (command.paths.empty()) throw UsageError("--merge needs the outputs of all shards");
  command.views = sweep_views(values);
  return run_merge(command, console);
}

void check_shard(const SweepCommand& command, bool is_auto) {
  if (command.output == "-") throw UsageError("-o needs a file");
  if (!command.shard) return;
  if (!command.output) throw UsageError("--shard needs -o FILE, for --merge");
  if (is_auto && command.output->find("{shard}") == std::string::npos) {
    throw UsageError(
        "all shards would write to one file: put {shard} into its name, as in "
        "-o part{shard}.jsonl");
  }
  const SweepViews& views = command.views;
  if (views.json || views.csv_path || views.plot_path) {
    throw UsageError("--json, --csv and --plot go with --merge: a shard does not have all results");
  }
}

int command_sweep(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, sweep_options());
  if (values.count("help") > 0) {
    console.out << help_of_sweep();
    return kExitGood;
  }
  if (values.count("merge") > 0) return command_merge(values, coloured(console, values));
  SweepCommand command;
  command.path = one_file(values, "sweep");
  if (is_goal_path(command.path)) {
    throw UsageError(
        "a GOAL file has no parameters and no timings: 'pipesim sweep' takes scenarios");
  }
  command.settings = settings(values, "set");
  command.grid = grid(values);
  command.jobs = jobs(values);
  command.output = text_of(values, "output");
  command.views = sweep_views(values);
  const std::optional<std::string> shard = text_of(values, "shard");
  if (shard) {
    std::string problem;
    command.shard = parse_shard(
        *shard, [](const char* name) { return std::getenv(name); }, problem);
    if (!command.shard) throw UsageError(problem);
  }
  check_shard(command, shard == "auto");
  return run_sweep(command, coloured(console, values));
}

int command_opt(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, opt_options());
  if (values.count("help") > 0) {
    console.out << help_of_opt();
    return kExitGood;
  }
  const models::PassRegistry shipped = models::shipped_passes();
  const models::PassRegistry& registry = console.passes == nullptr ? shipped : *console.passes;
  if (values.count("list") > 0) {
    console.out << pass_list(registry);
    return kExitGood;
  }
  OptCommand command;
  command.path = one_file(values, "opt");
  command.settings = settings(values, "set");
  command.passes = values["passes"].as<std::string>();
  command.verify_each = on_or_off(values, "verify-each");
  command.print_after_all = values.count("print-after-all") > 0;
  command.explain_boxing = values.count("explain-boxing") > 0;
  return run_opt(command, registry, coloured(console, values));
}

std::vector<std::string> ignored_rules(const po::variables_map& values) {
  if (values.count("ignore") == 0) return {};
  std::vector<std::string> known;
  for (const models::LintRule& rule : models::lint_rules()) known.emplace_back(rule.name);
  const auto& names = values["ignore"].as<Arguments>();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = models::nearest_name(name, known);
    throw UsageError(fmt::format(
        "--ignore: there is no rule '{}'{}", name,
        nearest.empty() ? "; see --list" : fmt::format("; did you mean '{}'?", nearest)));
  }
  return names;
}

int command_fix(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, fix_options());
  if (values.count("help") > 0) {
    console.out << help_of_fix();
    return kExitGood;
  }
  FixCommand command;
  command.files = scenario_files_of(values, "fix");
  if (is_goal_path(command.files.path)) {
    throw UsageError("'pipesim fix' takes scenarios: a GOAL file has nothing that it changes");
  }
  command.json = values.count("json") > 0;
  command.folder = output_of(values, "output");
  return run_fix(command, console);
}

int command_lint(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, lint_options());
  if (values.count("help") > 0) {
    console.out << help_of_lint();
    return kExitGood;
  }
  if (values.count("list") > 0) {
    console.out << viz::lint_rule_list();
    return kExitGood;
  }
  LintCommand command;
  command.files = scenario_files_of(values, "lint");
  if (is_goal_path(command.files.path)) {
    throw UsageError("'pipesim lint' takes scenarios: a GOAL file has no groups and no streams");
  }
  command.ignored = ignored_rules(values);
  command.json = values.count("json") > 0;
  return run_lint(command, coloured(console, values));
}

int command_import(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, import_options());
  if (values.count("help") > 0) {
    console.out << help_of_import();
    return kExitGood;
  }
  Arguments files = values.count("file") > 0 ? values["file"].as<Arguments>() : Arguments();
  const bool plan = !files.empty() && files.front() == "oneflow-plan";
  if (files.empty() || (!plan && files.front() != "torch-schedule")) {
    throw UsageError(
        files.empty()
            ? "'pipesim import' needs what to import: torch-schedule or oneflow-plan"
            : fmt::format("'pipesim import' knows torch-schedule and oneflow-plan, found '{}'",
                          files.front()));
  }
  if (files.size() != 2) {
    throw UsageError(fmt::format("'pipesim import {}' takes one file, found {}", files.front(),
                                 files.size() - 1));
  }
  ImportCommand command;
  command.path = files.back();
  command.output = text_of(values, "output");
  command.lower = values.count("lower") > 0;
  command.fsdp = values.count("fsdp") > 0;
  command.csv = values.count("csv") > 0;
  if (plan && (command.csv || command.lower || command.fsdp)) {
    throw UsageError("--csv, --lower and --fsdp go with 'pipesim import torch-schedule'");
  }
  if (command.fsdp && !command.lower) throw UsageError("--fsdp goes with --lower");
  if (plan) return run_import_plan(command, coloured(console, values));
  return run_import_schedule(command, coloured(console, values));
}

// "0,1,4-7"
std::vector<std::uint32_t> rank_list(const std::string& text) {
  constexpr std::uint64_t kMostRank = (1U << 20) - 1;
  std::set<std::uint32_t> ranks;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = models::whole_number<std::uint64_t>(part.substr(0, dash));
    const auto last =
        dash == part.size() ? first : models::whole_number<std::uint64_t>(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last > kMostRank) {
      throw UsageError(fmt::format("--group is a list of ranks (0,1 or 0-3), found '{}'", text));
    }
    for (std::uint64_t rank = *first; rank <= *last; ++rank) {
      ranks.insert(static_cast<std::uint32_t>(rank));
    }
    begin = end + 1;
  }
  return {ranks.begin(), ranks.end()};
}

// What logs do not say.
void add_hints(const po::variables_map& values, DiagnoseCommand& command) {
  if (command.kind != EvidenceKind::kLaunchLog) {
    for (const char* option : {"scenario", "set", "group", "phase"}) {
      if (values.count(option) > 0) throw UsageError(fmt::format("--{} is for logs", option));
    }
    return;
  }
  if (values.count("group") > 0) {
    for (const auto& text : values["group"].as<Arguments>()) {
      command.groups.push_back(rank_list(text));
    }
  }
  for (const auto& [name, ops] : settings(values, "phase")) {
    auto& phase = command.phases.emplace_back(name, std::vector<std::string>());
    for (std::size_t begin = 0; begin <= ops.size();) {
      const std::size_t end = std::min(ops.find(',', begin), ops.size());
      phase.second.push_back(ops.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (const auto scenario = text_of(values, "scenario")) {
    command.scenario = ScenarioFiles{*scenario, {}, settings(values, "set")};
  } else if (values.count("set") > 0) {
    throw UsageError("--set goes with --scenario");
  }
}

// The kind of evidence that users call `name`; `what` is what was to say it.
formats::EvidenceKind evidence_kind(const std::string& name, const char* what) {
  if (const auto kind = formats::find_evidence_kind(name)) return *kind;
  const auto& known = formats::evidence_kinds();
  const std::string nearest = models::nearest_name(name, known);
  throw UsageError(
      fmt::format("{} is one of {}, found '{}'{}", what, fmt::join(known, ", "), name,
                  nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
}

int command_diagnose(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, diagnose_options());
  if (values.count("help") > 0) {
    console.out << help_of_diagnose();
    return kExitGood;
  }
  Arguments files = values.count("file") > 0 ? values["file"].as<Arguments>() : Arguments();
  if (files.empty()) {
    throw UsageError(fmt::format("'pipesim diagnose' needs a kind of evidence: {}",
                                 fmt::join(formats::evidence_kinds(), ", ")));
  }
  DiagnoseCommand command;
  command.kind = evidence_kind(files.front(), "the kind of evidence");
  command.paths.assign(files.begin() + 1, files.end());
  if (command.paths.empty()) {
    throw UsageError(fmt::format("'pipesim diagnose {}' needs files or folders", files.front()));
  }
  command.json = values.count("json") > 0;
  command.all = values.count("all") > 0;
  command.dot_path = output_of(values, "dot");
  command.picture_path = output_of(values, "draw");
  if (command.picture_path) picture_format(*command.picture_path);  // before all work
  command.html_path = output_of(values, "html");
  command.scenario_path = output_of(values, "as-scenario");
  add_hints(values, command);
  const bool is_boxing = command.kind == EvidenceKind::kBoxing;
  if (command.scenario_path && (is_boxing || command.kind == EvidenceKind::kStacks)) {
    throw UsageError("--as-scenario is for dumps and logs: others do not say what ranks call");
  }
  if (is_boxing && (command.dot_path || command.picture_path || command.html_path)) {
    throw UsageError("--dot, --draw and --html are not for boxings: they wait for nobody");
  }
  return run_diagnose(command, coloured(console, values));
}

int command_compare(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, compare_options());
  if (values.count("help") > 0) {
    console.out << help_of_compare();
    return kExitGood;
  }
  const Arguments files = values.count("file") > 0 ? values["file"].as<Arguments>() : Arguments();
  if (files.size() != 2) {
    throw UsageError(fmt::format("'pipesim compare' takes two ends, found {}", files.size()));
  }
  std::optional<EvidenceKind> kind;
  if (const auto name = text_of(values, "kind")) {
    kind = evidence_kind(*name, "--kind");
    if (kind == EvidenceKind::kBoxing) throw UsageError("a boxing log is no end of a job");
  }
  if (files.front() == "-" && files.back() == "-") {
    throw UsageError("standard input is there once: give the other one as a file");
  }
  return run_compare({files.front(), files.back(), kind, settings(values, "set")}, console);
}

po::options_description schema_options() {
  po::options_description options("Options");
  options.add_options()("help,h", "print this help");
  return options;
}

constexpr std::string_view kSchemaHelp =
    "Usage: pipesim schema\n"
    "\n"
    "Prints the JSON Schema (draft-07) of scenario files: with it an editor completes keys, says "
    "what\n"
    "they mean and marks mistakes (docs/reference/scenario-format.md).\n"
    "\n"
    "Examples:\n"
    "  pipesim schema > scenario.schema.json\n"
    "\n"
    "A scenario beside that file names it in a comment:\n"
    "  # yaml-language-server: $schema=scenario.schema.json\n"
    "\n";

int command_schema(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, schema_options());
  if (values.count("help") > 0) {
    console.out << kSchemaHelp << schema_options();
    return kExitGood;
  }
  if (values.count("file") > 0) throw UsageError("'pipesim schema' takes no file");
  console.out << formats::scenario_schema();
  return kExitGood;
}

int command_new(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, new_options());
  if (values.count("help") > 0) {
    console.out << help_of_new();
    return kExitGood;
  }
  if (values.count("list") > 0) {
    console.out << kind_list();
    return kExitGood;
  }
  const Arguments given = values.count("file") > 0 ? values["file"].as<Arguments>() : Arguments();
  if (given.size() > 1) {
    throw UsageError(
        fmt::format("'pipesim new' takes one kind, found {}; a file goes with -o", given.size()));
  }
  std::vector<std::string> kinds;
  for (const StartingScenario& scenario : starting_scenarios()) kinds.emplace_back(scenario.kind);
  NewCommand command;
  command.kind = given.empty() ? kinds.front() : given.front();
  if (std::find(kinds.begin(), kinds.end(), command.kind) == kinds.end()) {
    const std::string nearest = models::nearest_name(command.kind, kinds);
    throw UsageError(fmt::format(
        "there is no kind '{}'{}", models::printable(command.kind),
        nearest.empty() ? "; see --list" : fmt::format("; did you mean '{}'?", nearest)));
  }
  command.output = text_of(values, "output");
  return run_new(command, console);
}

int command_completion(const Arguments& arguments, const Console& console);
int command_help(const Arguments& arguments, const Console& console);

constexpr std::array kCommands = {
    Command{"run", "simulate a scenario and say whether it hangs, and why", command_run, kRunHelp,
            run_options},
    Command{"check", "say whether any order of the acts hangs, not only one", command_check,
            kCheckHelp, check_options},
    Command{"explain", "open an end state that run has saved, and report as run did",
            command_explain, kExplainHelp, explain_options},
    Command{"reduce", "make a hanging scenario smaller while it hangs alike", command_reduce,
            kReduceHelp, reduce_options},
    Command{"why", "say why one act is not done", command_why, kWhyHelp, why_options},
    Command{"diff", "compare two runs, or two settings of one scenario", command_diff, kDiffHelp,
            diff_options},
    Command{"test", "hold scenarios against what they expect", command_test, kTestHelp,
            test_options},
    Command{"draw", "draw it: timeline, who waits, task graph, stages, memory", command_draw,
            kDrawHelp, draw_options},
    Command{"fix", "find the smallest changes after which it does not hang", command_fix, kFixHelp,
            fix_options},
    Command{"lint", "name what is legal but suspect, before any run", command_lint, kLintHelp,
            lint_options},
    Command{"sweep", "run a scenario in many settings and random timings", command_sweep,
            kSweepHelp, sweep_options},
    Command{"opt", "run scheduler passes on a task graph and print what comes out", command_opt,
            kOptHelp, opt_options},
    Command{"diagnose", "say from dumps and logs of a real hang who waits for whom",
            command_diagnose, kDiagnoseHelp, diagnose_options},
    Command{"compare", "say whether two hangs stand in the same place", command_compare,
            kCompareHelp, compare_options},
    Command{"new", "write a scenario to begin your own from", command_new, kNewHelp, new_options},
    Command{"import", "make a scenario from a file of another tool", command_import, kImportHelp,
            import_options},
    Command{"schema", "print the JSON Schema of scenario files, for editors", command_schema,
            kSchemaHelp, schema_options},
    Command{"completion", "print a script with which a shell completes command lines",
            command_completion, kCompletionHelp, completion_options},
    Command{"help", "print this help, or that of a command", command_help, kHelpHelp, help_options},
};

constexpr std::string_view kAbout =
    "will this distributed training step finish, and if not, who waits for whom?";

// What --help says of the program, but for the line above it.
std::string main_text() {
  std::string text =
      "Usage: pipesim COMMAND [options]\n"
      "\n"
      "'pipesim help COMMAND' or 'pipesim COMMAND --help' says more; 'pipesim --version' says "
      "which\n"
      "version this is.\n"
      "\n"
      "Commands:\n";
  for (const Command& command : kCommands) {
    text += fmt::format("  {:10}  {}\n", command.name, command.about);
  }
  text +=
      "\n"
      "Examples:\n"
      "  pipesim run scenarios/swin_2x2x2.yaml\n"
      "  pipesim new -o job.yaml && pipesim run job.yaml\n"
      "\n"
      "docs/tutorial/from-hang-to-test.md goes from a hang of one's own to its fix and a test.\n"
      "\n"
      "Exit code: 0 as wished, 1 not, 2 bad input or usage, 3 undecided, 74 a file could not be "
      "read "
      "or\n"
      "written, 130 interrupted.\n";
  return text;
}

std::string main_help() { return fmt::format("pipesim: {}\n\n{}", kAbout, main_text()); }

const Command& find_command(const std::string& name) {
  const auto* found = std::find_if(kCommands.begin(), kCommands.end(),
                                   [&](const Command& command) { return command.name == name; });
  if (found != kCommands.end()) return *found;
  std::vector<std::string> known;
  for (const Command& command : kCommands) known.emplace_back(command.name);
  const std::string nearest = models::nearest_name(name, known);
  throw UsageError(
      fmt::format("there is no command '{}'{}", name,
                  nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
}

// What an option can be, or with "" the first argument of a command, where that is a list.
std::vector<std::string> words_for(std::string_view command, std::string_view option) {
  std::vector<std::string> words;
  if (option == "color") return {"auto", "always", "never"};
  if (option == "engine") return {"auto", "events", "sweep"};
  if (option == "verify-each") return {"on", "off"};
  if (option == "what") return {"timeline", "wait-for", "tasks", "stages", "memory"};
  if (option == "ignore") {
    for (const models::LintRule& rule : models::lint_rules()) words.emplace_back(rule.name);
  }
  if (option == "kind" || (option.empty() && command == "diagnose")) {
    return formats::evidence_kinds();
  }
  if (!option.empty()) return words;
  if (command == "import") return {"torch-schedule", "oneflow-plan"};
  if (command == "completion") return {"bash", "zsh"};
  if (command == "new") {
    for (const StartingScenario& scenario : starting_scenarios()) words.emplace_back(scenario.kind);
  }
  if (command == "help") {
    for (const Command& other : kCommands) words.emplace_back(other.name);
  }
  return words;
}

CommandText text_of(const Command& command) {
  CommandText text;
  text.name = command.name;
  text.about = command.about;
  text.help = command.help;
  text.words = words_for(command.name, "");
  const po::options_description options = command.options();
  for (const auto& option : options.options()) {
    OptionText& added = text.options.emplace_back();
    added.name = option->long_name();
    // "-o [ --output ]", or "--output".
    const std::string forms = option->format_name();
    if (forms.size() > 1 && forms[1] != '-') added.letter = forms[1];
    if (option->semantic()->max_tokens() > 0) added.value = option->semantic()->name();
    added.about = option->description();
    added.words = words_for(command.name, added.name);
  }
  return text;
}

int command_completion(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, completion_options());
  if (values.count("help") > 0) {
    console.out << help_of_completion();
    return kExitGood;
  }
  const Arguments given = values.count("file") > 0 ? values["file"].as<Arguments>() : Arguments();
  if (given.size() == 2 && given.front() == "parameters") {
    console.out << parameter_words(given.back());
    return kExitGood;
  }
  if (given.size() != 1 || (given.front() != "bash" && given.front() != "zsh")) {
    throw UsageError(fmt::format(
        "'pipesim completion' takes the name of a shell: bash or zsh, found {}",
        given.size() == 1 ? fmt::format("'{}'", given.front()) : std::to_string(given.size())));
  }
  std::vector<CommandText> texts;
  for (const Command& command : kCommands) texts.push_back(text_of(command));
  console.out << (given.front() == "bash" ? bash_completion(texts) : zsh_completion(texts));
  return kExitGood;
}

std::string main_man_page() {
  CommandText text;
  text.about = kAbout;
  text.help = main_text();
  std::vector<std::string> others;
  for (const Command& command : kCommands)
    others.push_back(fmt::format("pipesim-{}", command.name));
  return man_page(text, others);
}

std::string man_page_of(const std::string& name) {
  return man_page(text_of(find_command(name)), {"pipesim"});
}

int command_help(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, help_options());
  const Arguments given = values.count("file") > 0 ? values["file"].as<Arguments>() : Arguments();
  if (given.size() > 1) {
    throw UsageError(fmt::format("'pipesim help' takes one command, found {}", given.size()));
  }
  if (values.count("list") > 0) {
    for (const Command& command : kCommands) console.out << command.name << '\n';
    return kExitGood;
  }
  if (values.count("man") > 0 && values.count("help") == 0) {
    console.out << (given.empty() ? main_man_page() : man_page_of(given.front()));
    return kExitGood;
  }
  if (values.count("help") > 0 || (!given.empty() && given.front() == "help")) {
    console.out << help_of_help();
    return kExitGood;
  }
  if (given.empty()) {
    console.out << main_help();
    return kExitGood;
  }
  return find_command(given.front()).run({"--help"}, console);
}

int dispatch(const Arguments& arguments, const Console& console) {
  if (arguments.empty()) {
    console.err << main_help();
    return kExitUsage;
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h") return command_help({}, console);
  if (first == "--version") {
    console.out << fmt::format("pipesim {}\n", version());
    return kExitGood;
  }
  return find_command(first).run({arguments.begin() + 1, arguments.end()}, console);
}

// Which help says more after a mistake in `arguments`.
std::string help_for(const Arguments& arguments) {
  const std::string name = arguments.empty() ? std::string() : arguments.front();
  const bool is_command = std::any_of(kCommands.begin(), kCommands.end(),
                                      [&](const Command& command) { return command.name == name; });
  // That of 'help' would not say which commands there are.
  return is_command && name != "help" ? "pipesim help " + name : "pipesim --help";
}

// What arguments and names of files bring into messages goes to a terminal.
std::string shown(std::string_view message) {
  std::string result;
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    if (begin > 0) result += '\n';
    result += models::printable(message.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, const Console& console) {
  try {
    const int code = dispatch(arguments, console);
    console.out.flush();
    if (console.out.fail()) throw FileError("cannot write to standard output");
    return code;
  } catch (const UsageError& error) {
    console.err << fmt::format("pipesim: error: {}\n  help: see '{}'\n", shown(error.what()),
                               help_for(arguments));
    return kExitUsage;
  } catch (const FileError& error) {
    console.err << fmt::format("pipesim: error: {}\n", shown(error.what()));
    return kExitFile;
  } catch (const std::bad_alloc&) {
    console.err << "pipesim: error: out of memory\n";
    return kExitUndecided;
  } catch (const std::length_error&) {  // more than any memory
    console.err << "pipesim: error: out of memory\n";
    return kExitUndecided;
  }
}

}  // namespace pipesim::app
