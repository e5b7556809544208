// OneFlow's boxing log: the conversions of tensors from the signature of the producer to the
// signature of the consumer.
#pragma once

#include <cstddef>
#include <string>

#include "models/outside_text.hpp"

namespace pipesim::models {

/// One row of the log. An eager boxing has one row per step, and these rows name no ops.
struct LoggedBoxing {
  std::size_t line = 0;
  OutsideText producer;
  OutsideText consumer;
  OutsideText placement;  // placement of the consumer
  OutsideText from;       // signature before the conversion: "(B, B)"
  OutsideText to;
  OutsideText tensor;
  OutsideText shape;
  OutsideText builder;

  /// Whether a dimension of the placement changes from broadcast to partial sum. Some ranks then
  /// read the tensor and other ranks read zeros, so their waits differ.
  bool makes_partial_sum() const;
};

}  // namespace pipesim::models
