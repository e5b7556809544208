// Reports of runtimes about calls that not all ranks have made: Horovod's stall inspector, and
// XLA's rendezvous of devices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/outside_text.hpp"

#include "features/diagnose/evidence.hpp"
#include "features/diagnose/log_lines.hpp"

namespace pipesim::formats {

class StallReports {
 public:
  /// Reads a line of a report. Returns false for other lines.
  bool take(const LogLine& line, const models::EvidencePlace& place);

  /// Returns one more than the largest rank in the reports.
  std::uint32_t ranks() const;

  /// Adds the reported calls to `evidence`, which must have all ranks.
  void add_to(models::Evidence& evidence) const;

  void add_notes(std::vector<models::OutsideText>& notes) const;

 private:
  /// The tensors that a rank has not submitted, as Horovod's coordinator lists them.
  struct Stalled {
    std::vector<models::OutsideText> tensors;
    models::EvidencePlace place;
  };
  /// A rendezvous of XLA: its participants, and the participants that wait.
  struct Rendezvous {
    std::string kind;
    std::optional<std::uint64_t> id;
    std::set<std::uint32_t> members;
    std::map<std::uint32_t, models::EvidencePlace> waiting;
  };

  bool take_horovod(std::string_view line, const models::EvidencePlace& place);
  bool take_xla(std::string_view text, const models::EvidencePlace& place);
  void add_horovod(models::Evidence& evidence) const;
  void add_xla(models::Evidence& evidence) const;

  bool within_ = false;                         // whether the current lines are a list of Horovod
  std::map<std::uint32_t, Stalled> stalled_;    // by the rank that misses the tensors
  std::map<std::string, Rendezvous> meetings_;  // by their keys
};

}  // namespace pipesim::formats
