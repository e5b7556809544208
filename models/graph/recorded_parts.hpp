// The parts of training steps in a recorded script, for pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/outside_text.hpp"

namespace pipesim::models {

/// A part of a recorded rank's training step: the forward or backward of a micro-batch, or the
/// optimizer.
struct RecordedPart {
  enum class Kind : std::uint8_t { kForward, kBackward, kOptimizer };
  Kind kind = Kind::kForward;
  std::uint32_t iteration = 0;  // number of optimizer steps before the part
  std::uint32_t number = 0;     // index among the parts of its kind in the iteration, from 0
  OutsideText at;               // line of its first call; may be empty
};

/// The parts of each rank's training steps. The Recorded of a record also implements this
/// interface.
class RecordedParts {
 public:
  RecordedParts() = default;
  RecordedParts(const RecordedParts&) = delete;
  RecordedParts& operator=(const RecordedParts&) = delete;
  virtual ~RecordedParts() = default;

  /// Returns the parts of a rank, in program order.
  virtual const std::vector<RecordedPart>& parts(std::uint32_t rank) const = 0;

  /// Returns the index in parts() of the part that makes execution `number` (from 1) of the
  /// scenario's op `op`; nullopt if the record does not show one.
  virtual std::optional<std::uint32_t> part(std::uint32_t rank, const std::string& op,
                                            std::uint32_t number) const = 0;
};

}  // namespace pipesim::models
