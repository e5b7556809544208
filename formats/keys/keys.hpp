// Every key of the scenario format: one table for each kind of map. A new key is a row in keys.cpp
// and the code that reads it.
#pragma once

#include <span>
#include <string_view>

#include "formats/yaml/key_table.hpp"

namespace pipesim::formats::keys {

extern const KeyTable kScenario, kRegularGroup, kCluster, kLinkClasses, kLinkClass, kThread,
    kThreadBlock, kStream, kCommunicators, kCommunicator, kDefaults, kDevice, kEvent;
extern const KeyTable kActor, kRegister, kRead, kCollective, kOutsideInput;
extern const KeyTable kProgram, kWait, kUndecided;
extern const KeyTable kSchedule, kScheduleRows, kStageCollective, kStageOps, kStageCompute,
    kStageCall;
extern const KeyTable kModel, kModelInput, kLayer, kOp, kGradient, kVariable, kSystemCosts,
    kParallel, kTrain;
extern const KeyTable kRankFault, kLinkFault, kPortFault, kDeniedFault, kGuards;
extern const KeyTable kExpectation, kTimeBounds, kIdle, kMemoryBounds;

/// The tables of steps, of calls in a group, and of faults. What a map has decides which it is.
std::span<const KeyTable* const> steps();
std::span<const KeyTable* const> calls_of_group();
std::span<const KeyTable* const> faults();

/// `passes`, and the options of one pass.
const KeyTable& passes();
const KeyTable& options_of(std::string_view pass);

/// The words that a named type stands for: `verdict`, `algorithm`. Of other types none.
std::vector<std::string> words_of(std::string_view type);

/// All kinds of map, and the parts that several of them share.
std::vector<const KeyTable*> all_tables();
std::span<const KeyTable* const> shared_tables();
std::span<const KeyTable* const> shared_by_steps();

}  // namespace pipesim::formats::keys
