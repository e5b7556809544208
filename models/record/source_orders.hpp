// Recvs from any source: from which ranks else they could take their messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/record/record.hpp"

namespace pipesim::models {

/// Ways in which the recvs from any source of a record can be served. In each run of the real
/// program they are served in one of them, or it stops before; so where each of them is proved with
/// these sources fixed, the program is. The reverse does not hold: some may be impossible, because
/// a message is sent too late.
struct SourceOrders {
  std::vector<std::pair<std::uint32_t, std::size_t>> recvs;  // rank, entry
  std::vector<std::vector<std::uint32_t>> orders;            // a source for each recv
  bool complete = true;                                      // else there are more than `orders`
};

/// At most `max` of them. A message goes to a recv of its group, tag and receiver, and each is
/// taken once.
SourceOrders source_orders(const Record& record, std::size_t max);

/// The record in which the recvs took these.
Record with_sources(Record record, const SourceOrders& all,
                    const std::vector<std::uint32_t>& order);

}  // namespace pipesim::models
