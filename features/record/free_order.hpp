// Timing effects of gloo and its store that no interleaving of host programs shows: sends and recvs
// whose Work is not kept, waits that time out, and keys that are set twice. Also reads of made-up
// values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "features/record/record.hpp"

namespace pipesim::models {

/// Reports the sends that gloo may cancel: Python collected their Works before anything waited for
/// them. Each result is one sentence without its period.
std::vector<std::string> dropped_sends(const Record& record);

/// The recvs that gloo may cancel: Python collected their Works before anything waited for them.
struct DroppedRecvs {
  // Recvs that may break a gloo connection: a send matches them, and their rank uses the connection
  // afterwards. Each recv is one sentence without its period.
  std::vector<std::string> breaking;
  // Whether a recv's buffer is smaller than a send that it can match. If gloo does not cancel the
  // recv, the send ends the process of its rank.
  bool any_smaller = false;
};

DroppedRecvs dropped_recvs(const Record& record, RecordRules rules);

/// Reports timed-out waits for gloo sends and recvs: after such a timeout, gloo closes the rank's
/// connections in the group. Each result is one sentence without its period.
std::vector<std::string> closed_connections(const Record& record, RecordRules rules);

/// Removes the sends that gloo may cancel. Returns the changed record.
Record with_cancelled_sends(Record record);

/// Returns the record with the waits of non-root ranks for small gloo reduces removed, or nullopt
/// if there is no such reduce. In a real run, some of these ranks wait for some members: gloo sums
/// the tensor in one chunk per rank, and does not pass on empty chunks.
std::optional<Record> with_early_reduces(const Record& record, RecordRules rules);

/// Reports the store keys that several ranks set to different values. Each result is one sentence
/// without its period.
std::vector<std::string> keys_set_twice(const Record& record);

/// Reports the lines at which the script reads made-up values. Each result is one sentence without
/// its period.
std::vector<std::string> reads_of_made_up(const Record& record);

}  // namespace pipesim::models
