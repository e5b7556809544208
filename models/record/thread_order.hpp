// Calls of several threads of a rank. A record has them in the order in which they came.
#pragma once

#include <string>
#include <vector>

#include "models/record/channels.hpp"
#include "models/record/record.hpp"

namespace pipesim::models {

/// What record_basis says of calls of several threads.
inline constexpr const char* kThreadsBasis =
    "several threads called: their order here is one of many";

/// What record_basis says where a rank came to rest in a call of one thread, and another one ran.
inline constexpr const char* kRunningThreadsBasis =
    "the record ends while another thread of a rank runs, which may call what others wait for";

/// The name of a thread, without the number by which the record tells threads of one name apart.
std::string thread_name(const std::string& label);

/// Which threads of which ranks make calls of a group, a sentence each without its period.
std::vector<std::string> threads_that_call(const Record& record);

/// The same of threads of which the order decides what meets what under these rules. gloo matches
/// the collectives of a group by number, and messages by group, ranks and tag. NCCL runs kernels in
/// the order of their launches, whatever their groups are.
std::vector<std::string> threads_that_race(const Record& record, RecordRules rules);

}  // namespace pipesim::models
