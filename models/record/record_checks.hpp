// What a record shows before anything runs, and on what a verdict about it rests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/record/record.hpp"

namespace pipesim::models {

/// A mistake that the lines of several ranks show together.
struct RecordFinding {
  Code code = Code::kNone;
  std::string message;             // names both lines
  std::vector<std::string> notes;  // what follows from it, and what to do
};

/// By the number of a new_group in the store: its channel, in host_steps.cpp.
using NewGroupClashes = std::map<std::int64_t, std::uint32_t>;

/// Numbers of `new_group` under which ranks make different groups, with all members of these, in
/// order. Members find each other in the store by this number alone, in all versions of PyTorch.
std::map<std::int64_t, std::vector<std::uint32_t>> clashing_new_groups(const Record& record);

/// Whether there are such numbers, and none of them has groups that share a rank. Which of the
/// addresses under a key a rank reads then depends on time, so they may hang.
bool only_disjoint_groups_clash(const Record& record);

/// Groups made in another order, collectives that meet from different lines though they fit, and
/// splits of all_to_all that disagree.
std::vector<RecordFinding> check_record(const Record& record);

/// What record_basis says of recvs from any source.
inline constexpr const char* kAnySourceBasis =
    "a recv from any source took the message that came first here";

/// What record_basis says of a key that is deleted while others may still wait for it.
inline constexpr const char* kDeletedKeyBasis =
    "a rank deletes a key of the store that others wait for: who waits later than here hangs";

/// What may be different in a real run: values that were made up, ranks that were cut, polls. In
/// words, a sentence each without its period.
std::vector<std::string> record_basis(const Record& record);

}  // namespace pipesim::models
