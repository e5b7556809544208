// Kinds of mistakes that pipesim reports. Each kind has an id such as E0201, which messages show.
// docs/reference/errors.md explains the kinds; `pipesim help E0201` prints its section.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace pipesim::models {

/// The number in an id, such as 201 for E0201; its hundreds select the topic. A number is never
/// reused for another kind of mistake.
enum class Code : std::uint16_t {
  kNone = 0,  // findings of `pipesim lint` have the name of a rule instead

  kYamlSyntax = 101,
  kInvalidUtf8,
  kYamlAlias,
  kOneDocument,
  kDuplicateKey,
  kBadName,
  kLimit,
  kSchema,

  kUnknownKey = 201,
  kMissingKey,
  kConflictingKeys,
  kWrongType,
  kOutOfRange,
  kUnknownWord,
  kDuplicateName,
  kEmpty,
  kChoice,

  kExpressionSyntax = 301,
  kExpressionType,
  kUnit,
  kArithmetic,
  kDependsOnRank,
  kUnknownParameter,
  kParameterValue,

  kUnknownActor = 401,
  kUnknownKind,
  kUnknownRegister,
  kUnknownStream,
  kUnknownGroup,
  kUnknownBlock,
  kUnknownEvent,
  kUnknownOp,

  kUnknownRank = 501,
  kRankSet,
  kRankCount,
  kGroupLayout,
  kNotInGroup,
  kUnknownHost,
  kNoLink,
  kNoCluster,

  kNoCount = 601,
  kRates,
  kControlAndData,
  kNoProducer,
  kInPlace,
  kThreadOrder,
  kProgramCount,
  kBlockCall,
  kStoreKey,
  kTwoStreams,
  kUseAfter,
  kNoTime,

  kSignature = 701,
  kStages,
  kUnknownPass,
  kPassSyntax,
  kPassOption,
  kPassOrder,
  kPassTarget,
  kBrokenGraph,

  kScheduleShape = 801,
  kScheduleAction,
  kScheduleOrder,

  kFault = 901,
  kExpectation,
  kUnmet,

  kNotAPatch = 1001,
  kPatchTarget,

  kNoEvidence = 1101,
  kDump,
  kPickle,
  kDumpRank,
  kLogFormat,
  kPlanText,
  kPlanTasks,
  kPlanTaskType,
  kRecordLine,
  kRecordRanks,
  kNewGroupOrder,
  kOtherLine,
  kSplits,
  kContradiction,

  kGoalSyntax = 1201,
  kGoalRank,
  kGoalLabel,
  kGoalUnmatched,

  kOwnFile = 1301,
  kOtherRun,
  kShards,

  kNothingToDo = 1401,
  kEngine,
  kCannotReduce,
  kPictureFormat = 1405,
  kPictureSize,
  kGraphviz,

  kUnknownCommand = 1501,
  kUnknownOption,
  kArguments,
  kOptionValue,
  kOptionConflict,
  kOptionNeeds,
  kStandardStreams,

  kFile = 1601,
  kFileExists,
  kMemory,

  kAlgorithmSyntax = 1701,
  kAlgorithm,
  kAlgorithmIgnored,
};

struct CodeInfo {
  Code code = Code::kNone;
  std::string topic;
  std::string title;    // short phrase without a full stop
  std::string about;    // the mistake and its remedy, in a few sentences
  std::string example;  // a diff whose '-' lines have the mistake; can be empty
};

/// Returns all codes, sorted by id.
std::span<const CodeInfo> all_codes();

/// Returns the id of `code`, such as "E0201".
std::string code_id(Code code);

/// Returns the help line that points to `pipesim help ID`.
std::string code_help(Code code);

/// Returns the code with the id `id`, in upper or lower case; nullptr if there is none.
const CodeInfo* find_code(std::string_view id);

/// An error in a user's request. The message names the reason, and `help` the remedy.
class UserError : public std::runtime_error {
 public:
  UserError(Code code, const std::string& message, std::string help = {})
      : std::runtime_error(message), code_(code), help_(std::move(help)) {}

  Code code() const { return code_; }
  const std::string& help() const { return help_; }

 private:
  Code code_;
  std::string help_;
};

}  // namespace pipesim::models
