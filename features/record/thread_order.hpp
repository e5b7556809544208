// Calls from several threads of one rank. A record lists them in arrival order.
#pragma once

#include <string>
#include <vector>

#include "features/record/channels.hpp"
#include "features/record/record.hpp"

namespace pipesim::models {

/// Sentence of record_basis() for calls from several threads.
inline constexpr const char* kThreadsBasis =
    "several threads called: their order here is one of many";

/// Sentence of record_basis() for a rank that is blocked in a call of one thread while another
/// thread runs.
inline constexpr const char* kRunningThreadsBasis =
    "the record ends while another thread of a rank runs, which may call what others wait for";

/// Sentence of record_basis() for threads that make calls and also use a lock, a queue or a store
/// in one of several possible orders.
inline constexpr const char* kLockOrderBasis =
    "threads share a lock, a queue or a client of the store, and call meanwhile: their order may "
    "differ";

/// Returns the name of a thread, without the number that distinguishes threads of one name in a
/// record.
std::string thread_name(const std::string& label);

/// Reports the threads of each rank whose calls the record does not order. Each result is one
/// sentence without its period.
std::vector<std::string> threads_that_call(const Record& record);

/// Reports the threads whose order decides which calls match under `rules`, as sentences like those
/// of threads_that_call(). Under gloo's rules, collectives match by group and sequence number, and
/// sends by group, ranks and tag. Under NCCL's rules, kernels run in launch order, across all
/// groups.
std::vector<std::string> threads_that_race(const Record& record, RecordRules rules);

}  // namespace pipesim::models
