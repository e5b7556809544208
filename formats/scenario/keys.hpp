// Every key of the scenario format, in one table for each kind of map. The rows of plain structs
// are those of models/graph/fields.hpp; all other keys are rows in keys.cpp or step_keys.cpp, plus
// the code that reads them.
#pragma once

#include <span>
#include <string_view>

#include "formats/document/key_table.hpp"
#include "sim/plan.hpp"

namespace pipesim::formats::keys {

extern const KeyTable kScenario, kRegularGroup, kCluster, kLinkClasses, kLinkClass, kThread,
    kThreadBlock, kStream, kCommunicators, kCommunicator, kDefaults, kDevice, kLock, kEvent;
extern const KeyTable kActor, kRegister, kRead, kCollective, kOutsideInput;
extern const KeyTable kProgram, kWait, kUndecided;
extern const KeyTable kSchedule, kScheduleRows, kStageCollective, kStageOps, kStageCompute,
    kStageCall;
extern const KeyTable kModel, kModelInput, kLayer, kOp, kGradient, kVariable, kSystemCosts,
    kParallel, kTrain;
extern const KeyTable kRankFault, kLinkFault, kPortFault, kDeniedFault, kTimeouts;
extern const KeyTable kExpectation, kTimeBounds, kIdle, kMemoryBounds;

/// Return the tables of steps, of calls in a group, or of faults. The keys of a map decide which
/// table applies.
std::span<const KeyTable* const> steps();
std::span<const KeyTable* const> calls_of_group();
std::span<const KeyTable* const> faults();

/// A step that only uses the object that it names: `lock: gil`.
struct ObjectStep {
  const char* word;  // the key
  sim::Role role;
  bool shared = false;  // whether its event is a key that all ranks share
};
std::span<const ObjectStep> object_steps();

/// Return the keys of `passes`, or the options of one pass.
const KeyTable& passes();
const KeyTable& options_of(std::string_view pass);

/// Returns the words of a named type such as `verdict` or `algorithm`; empty for other types.
std::vector<std::string> words_of(std::string_view type);

/// Return the tables of all kinds of map, or only the tables that several kinds, or several steps,
/// share.
std::vector<const KeyTable*> all_tables();
std::span<const KeyTable* const> shared_tables();
std::span<const KeyTable* const> shared_by_steps();

}  // namespace pipesim::formats::keys
