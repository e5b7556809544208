#include "pipesim/verify.hpp"

#include <optional>
#include <stdexcept>

#include "library/graph_data.hpp"

#include "features/algorithm/algorithm_file.hpp"
#include "features/algorithm/verify_algorithm.hpp"
#include "features/algorithm/verify_report.hpp"

namespace pipesim {

Verification verify(const std::string& text, const VerifyOptions& options,
                    const std::string& name) {
  models::Diagnostics diagnostics;
  const auto algorithm = formats::read_algorithm(text, diagnostics);
  if (!algorithm) library::throw_mistakes(diagnostics, name, text);
  models::VerifyOptions how;
  how.slots = options.slots;
  how.bytes = options.bytes;
  try {
    models::VerifyReport report = models::verify(*algorithm, how);
    report.changes = models::try_changes(*algorithm, report, how);
    const viz::VerifyView view{name, *algorithm, report, false};
    Verification result;
    result.verdict = models::words_of(report.verdict).name;
    result.correct = report.verdict == models::AlgoVerdict::kCorrect;
    result.undecided = report.verdict == models::AlgoVerdict::kUndecided;
    for (const viz::Section& each : viz::verify_questions(view)) {
      result.answers.push_back(
          {each.id(), viz::verify_answer(each), each.lines().front().style != nullptr});
    }
    result.report = viz::verify_text(view, {});
    result.json = viz::verify_report(view).json();
    return result;
  } catch (const std::length_error& error) {
    throw Error(name + ": " + error.what());
  }
}

}  // namespace pipesim
