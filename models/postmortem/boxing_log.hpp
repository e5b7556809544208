// How tensors get from the signature of their producer to that of their consumer, as OneFlow logged
// it.
#pragma once

#include <cstddef>
#include <string>

#include "models/outside_text.hpp"

namespace pipesim::models {

/// One row, as it stands in the log; of an eager boxing a step of its way, without ops.
struct LoggedBoxing {
  std::size_t line = 0;
  OutsideText producer;
  OutsideText consumer;
  OutsideText placement;  // of the consumer
  OutsideText from;       // "(B, B)"
  OutsideText to;
  OutsideText tensor;
  OutsideText shape;
  OutsideText builder;

  /// Whether a dimension of the placement goes from broadcast to partial sum: then some ranks read
  /// the tensor and the others zeros, which differ in what they wait for.
  bool makes_partial_sum() const;
};

}  // namespace pipesim::models
