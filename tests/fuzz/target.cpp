#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "viz/report/diagnostic_text.hpp"

namespace pipesim::fuzz {

std::vector<Target> targets() {
  std::vector<Target> all = scenario_targets();
  for (const Target& target : file_targets()) all.push_back(target);
  for (const Target& target : evidence_targets()) all.push_back(target);
  for (const Target& target : output_targets()) all.push_back(target);
  return all;
}

void require(bool good, std::string_view what) {
  if (good) return;
  std::fprintf(stderr, "fuzz: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void require_printable(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!models::has_control_characters(line)) continue;
    std::fprintf(stderr, "%s\n", models::printable(line).c_str());
    require(false, "a control character is shown");
  }
}

void show(const models::Diagnostics& diagnostics, const std::string& text) {
  require_printable(viz::diagnostic_text(diagnostics, "input", text, false));
}

void require_scenario(const std::string& text) {
  models::Diagnostics diagnostics;
  if (formats::read_scenario(text, {}, diagnostics)) return;
  std::fprintf(stderr, "%s\n%s", text.c_str(),
               viz::diagnostic_text(diagnostics, "written", text, false).c_str());
  require(false, "what was written is no scenario");
}

std::vector<std::string> parts(const std::string& bytes) {
  constexpr std::string_view kMark = "\n%%%\n";
  std::vector<std::string> result;
  std::size_t begin = 0;
  for (std::size_t end = bytes.find(kMark); end != std::string::npos;
       end = bytes.find(kMark, begin)) {
    result.push_back(bytes.substr(begin, end - begin + 1));
    begin = end + kMark.size();
  }
  result.push_back(bytes.substr(begin));
  return result;
}

}  // namespace pipesim::fuzz
