// A state file stores the inputs of a run. explain reruns it, compares the verdict and fingerprint
// with the file, and then offers every view of `pipesim run`.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/state_input.hpp"
#include "app/output/files.hpp"
#include "app/output/views.hpp"
#include "app/version.hpp"
#include "formats/files/state_file.hpp"
#include "models/measure/expectation.hpp"
#include "models/search/jitter.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

std::string versions(const formats::SavedState& state) {
  return state.made_by == version()
             ? fmt::format("made by this version, pipesim {}", state.made_by)
             : fmt::format("made by pipesim {}; this is {}", state.made_by, version());
}

[[noreturn]] void refuse_other_end(const formats::SavedState& state,
                                   const models::Simulation& simulation, TextInput& file) {
  const models::Explanation& found = simulation.explanation;
  const bool same_version = state.made_by == version();
  models::Diagnostic& error =
      file.diagnostics().error({}, models::Code::kSchema,
                               fmt::format("{}, {} simulates it differently", versions(state),
                                           same_version ? "but it" : "which"));
  error.notes.push_back(
      fmt::format("the file says {}, fingerprint {}; here it is {}, fingerprint {}",
                  models::verdict_name(state.verdict), viz::fingerprint_text(state.fingerprint),
                  models::verdict_name(found.verdict), viz::fingerprint_text(found.fingerprint)));
  error.notes.emplace_back(same_version
                               ? "the file was changed, or one of the two is a modified build"
                               : fmt::format("open it with pipesim {}", state.made_by));
  file.fail();
}

// Returns the command line that saved the state, in the form of made_by().
std::vector<std::string> words_of_run(const formats::SavedState& state, bool all) {
  const auto shown = [](const std::string& path) {
    if (path == shown_path("-")) return std::string("-");
    return path.starts_with('/') ? path.substr(path.find_last_of('/') + 1) : path;
  };
  std::vector<std::string> words = {"run", shown(state.path)};
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  std::vector<formats::Setting> settings = state.settings;
  std::optional<std::string> reading;  // --reading; always the last setting
  if (!settings.empty() && settings.back().first == "reading") {
    reading = settings.back().second;
    settings.pop_back();
  }
  for (const auto& [name, value] : settings) add("--set", fmt::format("{}={}", name, value));
  for (const formats::PatchText& patch : state.patches) add("--patch", shown(patch.path));
  if (reading) add("--reading", *reading);
  if (!state.until.empty()) add("--until", state.until);
  if (state.jitter.varies()) add("--jitter", models::jitter_text(state.jitter));
  if (state.jitter.seed > 0) add("--seed", std::to_string(state.jitter.seed));
  if (all) words.emplace_back("--all");
  return words;
}

int run_explain(const Arguments& arguments, const Console& console) {
  Views asked = views(arguments, false);
  const std::string& path = arguments.one_file();
  TextInput file = TextInput::read(path, formats::kMaxStateBytes, console);
  const formats::SavedState state =
      file.require(formats::read_state(file.text(), file.diagnostics()));
  const std::string shown = shown_path(path);
  const Rerun rerun = run_again(
      state, fmt::format("{} in {}", state.path, shown), versions(state),
      {.keep_act_times = asked.need_timeline(), .keep_log = asked.need_log()}, file, console);
  if (rerun.interrupted) {
    console.err << fmt::format("{}: interrupted before the saved state was reached\n", shown);
    return kExitInterrupted;
  }
  const models::Explanation& end = rerun.simulation.explanation;
  if (end.verdict != state.verdict || end.fingerprint != state.fingerprint) {
    refuse_other_end(state, rerun.simulation, file);
  }
  asked.made_by = made_by(words_of_run(state, asked.all));
  return show(rerun.scenario.graph, rerun.simulation, state.path, asked, console);
}

}  // namespace

Command explain_command() {
  return {
      .name = "explain",
      .about = "Open a run that 'run --save-state' saved",
      .usage = {"FILE [options]"},
      .description =
          {"Opens a run saved with 'pipesim run --save-state FILE' ('-' reads standard input), on "
           "any machine, and prints the same report. FILE contains the scenario."},
      .options = {report_options(), report_file_options(), general_options()},
      .examples = {"pipesim explain hang.json", "pipesim explain hang.json --stacks",
                   "pipesim run job.yaml --save-state - | pipesim explain - --json"},
      .exit_status =
          "that of the run: 0 it completes, 1 it hangs, 3 undecided (a limit was reached "
          "first), 130 interrupted; 2 invalid usage, not a state file, or a state that "
          "this pipesim does not reproduce; 74 a file could not be read or written",
      .pages = {"docs/how-to/inspect.md"},
      .run = run_explain,
  };
}

}  // namespace pipesim::app
