// Reads facts.json, the facts of 'pipesim collect' about the processes of a job. Each host has one
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "formats/document/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/outside_text.hpp"

#include "features/diagnose/evidence.hpp"

namespace pipesim::formats {

/// The maximum size of a file of facts, in bytes.
inline constexpr std::size_t kMaxFactsBytes = std::size_t{64} << 20;

/// Combines the facts of all hosts: the size of the job, the process of each rank, and the ranks
/// whose process has ended or is stopped.
class FactsReader {
 public:
  /// Reads a file. Returns false, with an error, if the file has no facts.
  bool read(const std::string& text, models::Diagnostics& diagnostics, const std::string& name);

  /// Returns the processes of the ranks. Facts show no calls.
  const models::Evidence& evidence() const { return evidence_; }

  /// Returns notes on facts that decide nothing alone, and on ranks that no file names.
  std::vector<models::OutsideText> notes() const;

 private:
  models::RankEvidence& at(std::uint32_t rank);
  void add_process(const YamlValue& object, const std::string& host, models::EvidencePlace place);
  void add_gone(const YamlValue& object, const std::string& host, models::EvidencePlace place);

  models::Evidence evidence_;
  std::set<std::uint32_t> named_;  // ranks that files name
  std::vector<models::OutsideText> notes_;
};

}  // namespace pipesim::formats
