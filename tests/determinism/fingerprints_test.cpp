// The determinism contract within one process, and across builds: fingerprints.tsv has the
// fingerprints of every earlier build. A fingerprint there changes only with an entry under Results
// in CHANGELOG.md. The twin (tests/scenarios) checks that the fingerprints are right, not only
// unchanged.
#include <map>
#include <sstream>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/words.hpp"

using namespace pipesim;

namespace {

// Returns "acc=2 bwd_dst_buffer=own", or "-" without settings.
std::string key_of(const testing::Settings& settings) {
  std::string key;
  for (const auto& [name, value] : settings) {
    if (!key.empty()) key += ' ';
    key.append(name).append("=").append(value);
  }
  return key.empty() ? "-" : key;
}

std::map<std::string, std::string> stored_fingerprints() {
  std::map<std::string, std::string> stored;
  std::istringstream lines(testing::file_text("tests/determinism/fingerprints.tsv"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.rfind('\t');
    if (!line.empty() && line.front() != '#') stored[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return stored;
}

std::string reports(const std::string& path, const testing::Settings& settings) {
  const formats::Scenario scenario = testing::load(path, settings);
  const models::Simulation simulation = testing::simulate(scenario.graph);
  const viz::Report report{scenario.graph, simulation.explanation, {}, {}, {}, {}, {}};
  return viz::text_report(report, {}) + viz::json_report(report);
}

}  // namespace

TEST_CASE("every scenario and setting has its stored fingerprint", "[determinism]") {
  std::map<std::string, std::string> stored = stored_fingerprints();
  for (const std::string& path : testing::scenario_paths()) {
    std::vector<testing::Settings> all = {{}};
    for (const models::Expectation& expectation : testing::load(path).expectations) {
      if (!expectation.with.empty()) all.push_back(expectation.with);
    }
    for (const testing::Settings& settings : all) {
      const std::string key = path + "\t" + key_of(settings);
      const std::string found = viz::fingerprint_text(testing::explain(path, settings).fingerprint);
      INFO("the line of fingerprints.tsv: " << key << "\t" << found);
      CHECK(stored[key] == found);
      stored.erase(key);
    }
  }
  for (const auto& [key, fingerprint] : stored) FAIL_CHECK("nothing runs " << key);
}

TEST_CASE("two runs in one process give the same bytes", "[determinism]") {
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    CHECK(reports(path, {}) == reports(path, {}));
  }
}
