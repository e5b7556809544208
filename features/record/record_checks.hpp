// Mistakes that a record shows before any simulation, and the assumptions of a verdict about the
// record.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "features/record/record.hpp"

namespace pipesim::models {

/// A mistake that shows only when the lines of several ranks are compared.
struct RecordFinding {
  Code code = Code::kNone;
  std::string message;             // names the lines of the compared ranks
  std::vector<std::string> notes;  // consequences and advice
};

/// The channel for each clashing `new_group` number; add_clashes() in host_steps.cpp adds the
/// channels.
using NewGroupClashes = std::map<std::int64_t, std::uint32_t>;

/// Returns the numbers of `new_group` under which ranks create different groups, with all members
/// of these groups, in order. Members find each other in the store by this number alone, in all
/// versions of PyTorch.
std::map<std::int64_t, std::vector<std::uint32_t>> clashing_new_groups(const Record& record);

/// Whether numbers clash, and all groups under one number are disjoint. A rank then reads one of
/// several addresses under a key, depending on timing, so these groups may hang.
bool only_disjoint_groups_clash(const Record& record);

/// Reports groups created in different orders, collectives that match but come from different
/// lines, and mismatched splits of all_to_all.
std::vector<RecordFinding> check_record(const Record& record);

/// Sentence of record_basis() for recvs from any source.
inline constexpr const char* kAnySourceBasis =
    "a recv from any source took the message that came first here";

/// Beginning of the sentence of record_basis() for a record that lacks calls.
inline constexpr const char* kIncompleteBasis = "calls are missing in the record: ";

/// Sentence of record_basis() for a key that is deleted while other ranks may still wait for it.
inline constexpr const char* kDeletedKeyBasis =
    "a rank deletes a key of the store that others wait for: who waits later than here hangs";

/// Returns the assumptions of a verdict, facts that may differ in a real run: made-up values, cut
/// ranks, polls. Each result is one sentence without its period.
std::vector<std::string> record_basis(const Record& record);

}  // namespace pipesim::models
