#include "features/fix/edit.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "models/outside_text.hpp"
#include "viz/report/words.hpp"

namespace pipesim::models {

std::string text_of(const std::vector<Edit>& edits) {
  std::string text;
  for (const Edit& edit : edits) text += (text.empty() ? "" : "; and ") + edit.text;
  return text;
}

bool alters_any(const std::vector<Edit>& edits) {
  return std::any_of(edits.begin(), edits.end(), [](const Edit& edit) { return edit.alters; });
}

std::string step_text(const ActorTemplate& step) {
  const std::string& at = step.step->at;
  return at.empty() ? step.name : fmt::format("{} ({})", step.name, printable(at));
}

std::string ranks_text(const RankSet& ranks) {
  return viz::ranks_text({ranks.begin(), ranks.end()});
}

std::string ranks_prefix(const RankSet& ranks) {
  return ranks.empty() ? "" : ranks_text(ranks) + ": ";
}

}  // namespace pipesim::models
