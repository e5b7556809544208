#include "app/commands/shared_options.hpp"

#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/input/input_kinds.hpp"
#include "app/version.hpp"
#include "models/result/jitter.hpp"
#include "viz/report/annotations.hpp"

namespace pipesim::app {

Option set_option() {
  return {.name = "set",
          .value = "NAME=VALUE",
          .about = "Set a parameter of the scenario (repeatable)",
          .repeats = true};
}

Option rules_option() {
  return {
      .name = "rules",
      .value = "RULES",
      .about = "Backend whose rules apply to a record (default: the backend that the script uses)",
      .choices = {"gloo", "nccl"}};
}

Option all_waits_option() {
  return {.name = "all", .about = "List and draw every wait, not only those of the cycle"};
}

Option dot_option() {
  return {.name = "dot",
          .value = "FILE",
          .about = "Write the wait-for graph for Graphviz",
          .output = true};
}

Option json_option(const std::string& what) {
  return {.name = "json", .about = fmt::format("Print {} as JSON", what), .output = true};
}

Option jobs_option() {
  return {.name = "jobs",
          .letter = 'j',
          .value = "N",
          .about = "Run N at the same time (default: one per core)",
          .output = true};
}

OptionGroup scenario_options() {
  return {
      "Scenario",
      {set_option(),
       {.name = "patch",
        .value = "FILE",
        .about = "Apply a patch to the scenario (repeatable, applied in order)",
        .repeats = true},
       {.name = "reading",
        .value = "MODEL",
        .about = "NCCL model to assume: contract (a send may block until its recv), real (sends "
                 "complete into NCCL's buffers), cold (as real, and ranks connect at first use)",
        .choices = {"contract", "real", "cold"}},
       rules_option()}};
}

OptionGroup general_options() {
  return {"General options",
          {{.name = "color",
            .value = "WHEN",
            .about = "When to use colors; NO_COLOR is respected",
            .choices = {"auto", "always", "never"},
            .otherwise = "auto",
            .output = true}}};
}

std::string rules_of(const Arguments& arguments, const std::string& path) {
  if (!arguments.declares("rules") || !arguments.has("rules")) return {};
  if (is_foreign_path(path)) return arguments.value("rules");
  throw UsageError(models::Code::kOptionConflict, "'--rules' is for records",
                   "scenarios do not need it");
}

ScenarioFiles scenario_files(const Arguments& arguments, const std::string& path) {
  require_scenario(arguments.command(), path);
  std::vector<std::string> inputs = arguments.all("patch");
  inputs.push_back(path);
  check_one_standard_input(inputs);
  auto settings = arguments.settings("set");
  if (arguments.declares("reading") && arguments.has("reading")) {
    settings.emplace_back("reading", arguments.value("reading"));
  }
  return {path, arguments.all("patch"), std::move(settings), rules_of(arguments, path)};
}

ScenarioFiles scenario_files(const Arguments& arguments) {
  return scenario_files(arguments, arguments.one_file());
}

Option format_option() {
  return {.name = "format",
          .value = "FORMAT",
          .about = "Print problems for CI instead: annotations of GitHub, SARIF 2.1.0, JUnit XML",
          .choices = {"github", "sarif", "junit"}};
}

void print_annotations(const std::string& format, const std::vector<viz::Annotation>& annotations,
                       const Console& console) {
  console.out << (format == "github" ? viz::github_commands(annotations)
                                     : viz::sarif(annotations, version()));
}

Option jitter_option() {
  return {.name = "jitter",
          .value = "HOW",
          .about =
              "Vary all durations at random: by at most a percentage, as in 10%, or 'free' for "
              "any duration"};
}

Option seed_option() {
  return {.name = "seed", .value = "N", .about = "Random seed of --jitter (default: 0)"};
}

sim::Jitter jitter(const Arguments& arguments) {
  arguments.require("seed", "jitter");
  const auto text = arguments.text("jitter");
  if (!text) return {};
  auto found = models::parse_jitter(*text);
  if (!found) {
    throw UsageError(models::Code::kOptionValue,
                     fmt::format("invalid value '{}' for '--jitter'", *text),
                     fmt::format("expected {}", models::kJitterForms));
  }
  found->seed = arguments.number("seed", 0, std::numeric_limits<std::uint64_t>::max(), 0);
  return *found;
}

unsigned jobs(const Arguments& arguments) {
  constexpr std::uint64_t kMaxJobs = 1024;
  return static_cast<unsigned>(arguments.number("jobs", 1, kMaxJobs, 0));
}

OptionGroup report_options() {
  return {
      "Report",
      {json_option("the report"),
       {.name = "by-class",
        .about = "With --json: one item of 'ranks' per class of identical ranks",
        .output = true},
       {.name = "stacks",
        .about =
            "Print the stack of every host thread in the format of py-spy instead of the report",
        .output = true},
       {.name = "timeline",
        .about = "Also print when each stream works and when it waits",
        .output = true},
       all_waits_option()}};
}

OptionGroup report_file_options() {
  return {"Output files",
          {{.name = "html",
            .value = "FILE",
            .about = "Write a self-contained HTML page",
            .output = true},
           {.name = "trace",
            .value = "FILE",
            .about = "Write a trace for ui.perfetto.dev, as FILE.json or FILE.json.gz; '{rank}' in "
                     "the name writes one file per rank",
            .output = true},
           dot_option(),
           {.name = "log",
            .value = "FILE",
            .about = "Write the log of all ranks, with a line before and after each launch ('-' "
                     "prints it instead of the report)",
            .output = true},
           {.name = "log-dir",
            .value = "DIR",
            .about = "Write the log of each rank to DIR/rank_N.log",
            .output = true},
           {.name = "schedule",
            .value = "FILE",
            .about = "Write the pipeline schedule that ran in PyTorch's CSV format",
            .output = true}}};
}

Views views(const Arguments& arguments) {
  Views result;
  result.made_by = made_by(arguments);
  result.job = job_words(arguments);
  result.json = arguments.has("json");
  result.by_class = arguments.has("by-class");
  if (result.by_class && !result.json) {
    throw UsageError(models::Code::kOptionConflict, "'--by-class' is for '--json'",
                     "the text report already groups identical ranks");
  }
  result.stacks = arguments.has("stacks");
  result.all = arguments.has("all");
  result.timeline = arguments.has("timeline");
  result.dot_path = arguments.output_file("dot");
  result.html_path = arguments.output_file("html");
  result.schedule_path = arguments.output_file("schedule");
  result.log_path = arguments.text("log");
  result.log_folder = arguments.output_file("log-dir");
  result.trace_path = arguments.text("trace");
  const char* printed = nullptr;
  for (const auto& [is_asked, option] : {std::pair{result.json, "--json"},
                                         {result.stacks, "--stacks"},
                                         {result.timeline, "--timeline"},
                                         {result.log_path == "-", "--log -"},
                                         {result.trace_path == "-", "--trace -"}}) {
    if (!is_asked) continue;
    if (printed != nullptr) {
      throw UsageError(models::Code::kOptionConflict,
                       fmt::format("'{}' and '{}' cannot be used together", printed, option),
                       "only one of them can go to standard output");
    }
    printed = option;
  }
  return result;
}

}  // namespace pipesim::app
