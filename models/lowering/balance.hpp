// The number of ops of each actor: the balance equations of a graph with rates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pipesim::models {

/// An edge with rates: `producer` fills a slot per `ops_per_fill` ops, `consumer` takes one per
/// `ops_per_take` ops.
struct RatedEdge {
  std::uint32_t producer = 0;
  std::uint32_t consumer = 0;
  std::uint32_t ops_per_fill = 1;
  std::uint32_t ops_per_take = 1;
};

/// A reason why the rates of a graph do not balance. Except for kUnknown, `edge` is the edge that
/// does not balance.
struct BalanceError {
  enum class Kind : std::uint8_t {
    kUneven,         // the number of ops at one end of the edge gives a fraction at the other
    kContradiction,  // the edge requires a different number of ops than earlier edges
    kTooMany,        // `actor` has more ops than a plan can count
    kUnknown,        // no source determines the number of ops of `actor`
  };
  Kind kind = Kind::kUnknown;
  std::uint32_t edge = 0;
  std::uint32_t actor = 0;
  std::int64_t found = 0;   // ops of `actor` so far; kTooMany: ops of the other actor
  std::int64_t wanted = 0;  // required ops; kUneven: required divisor; kTooMany: the limit
};

/// Returns the number of ops of each actor. `given` has an entry per actor: its number of ops, or a
/// negative number if unknown. Propagates the known numbers along all edges in both directions:
/// ops(producer) / ops_per_fill = ops(consumer) / ops_per_take. Takes linear time. Appends one
/// error per edge that does not balance or, if all edges balance, one per actor without a number.
/// The result is complete only if there are no errors.
///
/// Source: E. A. Lee, D. G. Messerschmitt, "Synchronous Data Flow", Proc. IEEE 75 (1987).
std::vector<std::int64_t> balance(const std::vector<std::int64_t>& given,
                                  const std::vector<RatedEdge>& edges,
                                  std::vector<BalanceError>& errors);

}  // namespace pipesim::models
