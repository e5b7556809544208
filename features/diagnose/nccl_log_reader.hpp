// The lines of PyTorch's watchdog and of NCCL in the output of a job that hangs:
// * timeouts, with the sequence numbers of works;
// * the progress of ranks;
// * communicator initializations;
// * links that do not answer;
// * the errors of ranks, and the ends of their processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/outside_text.hpp"

#include "features/diagnose/evidence.hpp"
#include "features/diagnose/hang_reports.hpp"
#include "features/diagnose/join_reports.hpp"
#include "features/diagnose/launcher_report.hpp"
#include "features/diagnose/log_lines.hpp"
#include "features/diagnose/nccl_call_reader.hpp"
#include "features/diagnose/rank_errors.hpp"
#include "features/diagnose/stall_reports.hpp"

namespace pipesim::formats {

/// Combines the lines of several files; ignores all other lines.
class NcclLogReader {
 public:
  /// Reads a file. Returns false, with an error, if no line has evidence. `name` is the name of the
  /// file in places.
  bool read(const std::string& text, models::Diagnostics& diagnostics,
            const std::string& name = {});

  /// Returns timeouts as pending calls, and the progress of ranks. The members of a group are the
  /// ranks that named the group; the default group has all known ranks of the job. A call without a
  /// known group gets its own group, so it matches no other call.
  models::Evidence evidence() const;

  /// Returns notes on other facts: incomplete communicator initializations, link errors, and
  /// missing ranks or numbers.
  std::vector<models::OutsideText> notes() const;

  /// Returns the calls in NCCL's own lines. The result of evidence() does not contain them.
  const NcclCallReader& calls() const { return calls_; }
  models::Evidence call_evidence() const { return calls_.evidence(files_); }

 private:
  using Progress = std::map<std::pair<std::uint32_t, std::uint32_t>,  // by rank and group
                            models::GroupProgress>;
  using GroupRank = std::pair<std::string, std::uint32_t>;  // rank within a group

  /// The rank that wrote a line. `local` is the number after `Rank`, which is a rank in `group`.
  struct Writer {
    std::optional<std::uint32_t> rank;  // rank of the job
    std::optional<std::uint32_t> local;
    models::OutsideText group;  // empty: not named in the line
    models::EvidencePlace place;
  };
  struct Work {
    Writer writer;
    std::uint64_t sequence = 0;
    models::OutsideText op;
    std::int64_t in = 0;
    std::int64_t out = 0;
  };
  /// The progress of a rank in a group.
  struct Count {
    Writer writer;
    std::optional<std::uint64_t> at_work;
    std::int64_t called = 0;
    std::int64_t completed = 0;
  };
  struct Init {
    std::uint32_t ranks = 0;
    std::set<std::uint32_t> begun;  // ranks in the communicator that began its initialization
    std::set<std::uint32_t> done;
  };
  /// An error of a rank that does not follow from the hang.
  struct OwnError {
    models::OutsideText text;
    models::EvidencePlace place;
    bool went_on = false;  // whether the rank logged more about the job later
    bool ended = false;    // whether it certainly ended the process
  };

  bool take_watchdog(const LogLine& line, const models::EvidencePlace& place);
  bool take_work(const std::string& text, const Writer& writer);
  bool take_count(const std::string& text, const Writer& writer);
  bool take_init(std::string_view line);
  bool take_link_error(std::string_view line);
  void take_writer(const std::string& squeezed, Writer& writer);
  std::optional<std::uint32_t> rank_of(const Writer& writer) const;
  bool is_default(const std::string& group) const;
  std::vector<Work> resolved_works() const;
  std::set<std::string> unusable_counts(const std::vector<Work>& works) const;
  std::map<std::string, std::uint32_t> add_groups(const std::vector<Work>& works,
                                                  models::Evidence& evidence) const;
  Progress progress(const std::vector<Work>& works,
                    const std::map<std::string, std::uint32_t>& number,
                    models::Evidence& evidence) const;
  static void add_calls_behind(const models::GroupProgress& progress,
                               std::vector<models::RecordedCall>& calls);
  static void add_works(const std::vector<Work>& works,
                        const std::map<std::string, std::uint32_t>& number,
                        models::Evidence& evidence);
  std::map<std::uint32_t, OwnError> own_errors() const;
  bool is_after_timeout(const models::EvidencePlace& place) const;
  bool went_on_after(std::uint32_t rank, const models::EvidencePlace& place) const;
  std::optional<std::uint32_t> first_dead() const;
  std::optional<std::uint32_t> first_failed() const;
  void add_failures(models::Evidence& evidence) const;
  void add_hosts(models::Evidence& evidence) const;
  void add_notes_of_errors(std::vector<models::OutsideText>& notes) const;
  std::uint32_t rank_count() const;
  static std::string note_of(const std::string& id, const Init& init);
  void add_notes_of_unplaced(std::vector<models::OutsideText>& notes) const;

  std::vector<std::string> files_;
  std::set<std::uint32_t> seen_;     // job ranks that wrote any line
  std::set<std::uint32_t> alarmed_;  // ranks that logged a failed call without its number
  std::vector<Work> works_;
  std::vector<Count> counts_;
  std::map<GroupRank, std::uint32_t> rank_of_local_;
  std::map<std::string, std::string> descriptions_;  // descriptions by group name
  std::map<std::string, Init> inits_;
  std::uint32_t most_ranks_ = 0;  // largest size of a communicator
  HangReports reports_;
  StallReports stalls_;
  JoinReports joins_;
  NcclCallReader calls_;
  RankErrors errors_;
  LauncherReport launcher_;
  std::optional<std::int64_t> first_timeout_;  // time of day, in seconds
  // Number of link errors by text: "status 12 from peer 10.0.0.3".
  std::map<std::string, std::uint64_t> link_errors_;
};

}  // namespace pipesim::formats
