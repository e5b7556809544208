// One edit of a scenario: a patch, and a sentence that describes it. docs/how-to/fix.md lists the
// kinds of edits.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// The extent of an edit's effect. Among equally good fixes, fix prefers the one with the smaller
/// reach.
enum class Reach : std::uint8_t {
  kLocal,     // a parameter, an actor, or a step on all its ranks
  kJob,       // communicators, schedules, or a step on some of its ranks
  kLaunches,  // the order of all launches
  kSettings,  // hardware and environment settings
};

/// A kind of edit. JSON reports its name.
struct EditKind {
  std::string_view name;
  Reach reach = Reach::kLocal;
  // Whether such edits are variants of each other: the same edit at other steps or on other ranks.
  // Reports show the best variant first, and only one of two variants with the same effect.
  bool has_variants = false;
  // Whether the report counts such an edit if it cannot be written as a patch.
  bool counts_unwritten = false;
};

namespace edit_kinds {

// Edits of parameters, actors and devices. Columns: name, reach, has_variants, counts_unwritten.
inline constexpr EditKind kParameter{"switch", Reach::kLocal, false, true};
inline constexpr EditKind kStream{"stream", Reach::kLocal, false, true};
inline constexpr EditKind kSlots{"slots", Reach::kLocal, false, true};
inline constexpr EditKind kInit{"communicators at the start", Reach::kJob, false, true};
inline constexpr EditKind kActorOrder{"order", Reach::kLocal, false, true};
inline constexpr EditKind kResident{"resident", Reach::kSettings, false, true};
inline constexpr EditKind kHardwareQueues{"hardware queues", Reach::kSettings, false, true};
inline constexpr EditKind kLaunchQueue{"launch queue", Reach::kSettings, false, true};
inline constexpr EditKind kEager{"eager", Reach::kSettings, true, false};
inline constexpr EditKind kLaunchOrder{"launch order", Reach::kLaunches, true, true};
// Edits of host programs and schedules.
inline constexpr EditKind kAfter{"order", Reach::kLocal, true, false};
inline constexpr EditKind kBatch{"batch", Reach::kLocal, true, true};
inline constexpr EditKind kMove{"move", Reach::kLocal, true, true};
inline constexpr EditKind kMoveOnSome{"move", Reach::kJob, true, false};
inline constexpr EditKind kOneOrder{"one order", Reach::kJob, true, false};
inline constexpr EditKind kCommunicator{"communicator", Reach::kJob, true, false};
inline constexpr EditKind kEverywhere{"on all ranks", Reach::kLocal, true, false};
inline constexpr EditKind kCopy{"add", Reach::kJob, true, false};
inline constexpr EditKind kOtherEnd{"other end", Reach::kJob, true, false};
inline constexpr EditKind kDrop{"drop", Reach::kLocal, true, false};
inline constexpr EditKind kValue{"value", Reach::kLocal, true, false};
inline constexpr EditKind kMessages{"messages", Reach::kJob, true, false};
inline constexpr EditKind kRow{"row", Reach::kLocal, true, false};

}  // namespace edit_kinds

struct Edit {
  const EditKind* kind = &edit_kinds::kParameter;
  std::string text{};   // description: "rank 1: recv pp before send pp"
  std::string patch{};  // keys of a patch, as YAML; empty: the scenario has no place for the edit
  RankSet on{};         // ranks to edit; empty: all ranks that have the step
  std::array<Place, 2> steps{};  // places of the edited steps of host programs, if any
  bool alters = false;           // whether the edited job may compute something else
  // Whether the edit is the same as another edit, but moves the other one of two steps.
  bool is_variant = false;
  bool turns_on = false;  // whether it changes a parameter from off to on
  // Text for an edit that did not help, if edits with smaller numbers did not help either.
  std::string_view range{};
};

/// Returns the descriptions of `edits`, joined.
std::string text_of(const std::vector<Edit>& edits);

/// Whether any of `edits` may change what the job computes.
bool alters_any(const std::vector<Edit>& edits);

/// Returns the name of a step, with its line in the user's program: "recv pp (ring.py:11 irecv)".
std::string step_text(const ActorTemplate& step);

/// Returns "ranks 0 and 1".
std::string ranks_text(const RankSet& ranks);

/// Returns the affected ranks as the beginning of a sentence: "rank 1: ". Empty: all ranks.
std::string ranks_prefix(const RankSet& ranks);

}  // namespace pipesim::models
