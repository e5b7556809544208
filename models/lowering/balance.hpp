// How often each actor acts: the balance equations of a graph with rates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pipesim::models {

/// `producer` fills a slot per `acts_per_fill` acts, `consumer` takes one per `acts_per_take`.
struct RatedEdge {
  std::uint32_t producer = 0;
  std::uint32_t consumer = 0;
  std::uint32_t acts_per_fill = 1;
  std::uint32_t acts_per_take = 1;
};

/// Why there is no answer. For kUneven and kContradiction `edge` is where it shows.
struct BalanceError {
  enum class Kind : std::uint8_t {
    kUneven,         // the acts of one end are not a whole number for those of the other
    kContradiction,  // the edge asks for another number than the graph already gave
    kTooMany,        // more acts than a plan can count
    kUnknown,        // no source says how often `actor` acts
  };
  Kind kind = Kind::kUnknown;
  std::uint32_t edge = 0;
  std::uint32_t actor = 0;
  std::int64_t found = 0;   // acts of the consumer (or, against the arrow, the producer) so far
  std::int64_t wanted = 0;  // what the edge asks for instead
};

/// The acts of each of `given.size()` actors, from those that are given (not negative) along all
/// edges in both directions: acts(producer) / acts_per_fill = acts(consumer) / acts_per_take.
/// Linear. Errors are appended, one per edge that does not balance, then one per actor without any
/// number; the result is complete only if there are none.
///
/// Source: E. A. Lee, D. G. Messerschmitt, "Synchronous Data Flow", Proc. IEEE 75 (1987).
std::vector<std::int64_t> balance(const std::vector<std::int64_t>& given,
                                  const std::vector<RatedEdge>& edges,
                                  std::vector<BalanceError>& errors);

}  // namespace pipesim::models
