// Records in tests, given as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

#include "features/check/check.hpp"
#include "features/record/record_ends.hpp"
#include "features/record/record_reader.hpp"
#include "features/record/record_scenario.hpp"

namespace pipesim::testing {

/// Returns the files of a record: record.json, and a file per rank, made from the rank's lines
/// without the header. Group g0 has all ranks.
inline std::vector<formats::RecordText> record_files(const std::string& backend,
                                                     const std::vector<std::string>& ranks) {
  const std::string world = std::to_string(ranks.size());
  std::vector<formats::RecordText> files = {
      {"record.json", "{\"record\": 1, \"world\": " + world + ", \"command\": [\"job.py\"], " +
                          "\"backend\": \"" + backend + "\"}"}};
  std::string all;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    all += (rank == 0 ? "" : ", ") + std::to_string(rank);
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string number = std::to_string(rank);
    files.push_back({"rank" + number + ".jsonl",
                     "{\"record\": 1, \"rank\": " + number + ", \"world\": " + world + "}\n" +
                         "{\"def\": \"g0\", \"group\": \"0\", \"ranks\": [" + all + "]}\n" +
                         ranks[rank]});
  }
  return files;
}

inline models::Record record_of(const std::string& backend, const std::vector<std::string>& ranks) {
  models::Diagnostics diagnostics;
  auto record = formats::read_record(record_files(backend, ranks), diagnostics);
  INFO(text_of(diagnostics));
  REQUIRE(record.has_value());
  return std::move(*record);
}

/// Returns the answer of `check` by the rules of `backend`, or by the rules of each group's backend
/// if `backend` is "own".
inline sim::Answer answer_of(models::Record record, const std::string& backend,
                             const Settings& settings = {}) {
  models::drop_calls_after_cuts(record);
  models::add_later_calls(record);
  const auto rules = backend == "nccl"   ? models::RecordRules::kNccl
                     : backend == "gloo" ? models::RecordRules::kGloo
                                         : models::RecordRules::kOwn;
  const std::string text = formats::record_scenario(record, rules, "job");
  models::Diagnostics diagnostics;
  const auto scenario = formats::read_scenario(text, settings, diagnostics);
  INFO(text << text_of(diagnostics));
  REQUIRE(scenario.has_value());
  auto lowered = models::lower(scenario->graph, diagnostics);
  INFO(text_of(diagnostics));
  REQUIRE(lowered.has_value());
  return models::check(scenario->graph, std::move(*lowered), sim::ExploreOptions{})
      .exploration.answer;
}

/// Whether `check` proves by the rules of `backend` that no interleaving hangs.
inline bool is_proved(const models::Record& record, const std::string& backend,
                      const Settings& settings = {}) {
  return answer_of(record, backend, settings) == sim::Answer::kProved;
}

}  // namespace pipesim::testing
