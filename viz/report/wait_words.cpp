// The words for waits: a table with one row per kind, and the functions that fill in names.
#include "viz/report/wait_words.hpp"

#include <array>

#include <fmt/format.h>

#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::OpInfo;
using models::OpStage;
using models::Wait;
using sim::CallKind;
using sim::Step;
using sim::WaitKind;
using sim::WaitNodeKind;

bool is_for_op(const Wait& wait) { return wait.to.kind == WaitNodeKind::kOp; }

/// A phrase about a wait, with names in braces: "needs data from {other}".
class Pattern {
 public:
  // A row of the table has a phrase or a function. NOLINTBEGIN(google-explicit-constructor)
  constexpr Pattern(const char* text) : text_(text) {}
  /// `never`: phrase for a target that is not an op, and therefore never happens.
  constexpr Pattern(const char* text, const char* never) : text_(text), never_(never) {}
  /// `choose` returns the phrase for a wait.
  constexpr Pattern(const char* (*choose)(const Wait&)) : choose_(choose) {}
  // NOLINTEND(google-explicit-constructor)

  const char* of(const Wait& wait) const {
    if (choose_ != nullptr) return choose_(wait);
    return never_ == nullptr || is_for_op(wait) ? text_ : never_;
  }

 private:
  const char* text_ = "";
  const char* never_ = nullptr;
  const char* (*choose_)(const Wait&) = nullptr;
};

/// The words for a kind of wait. Names in braces, in each pattern: `other` (the target), `call`
/// (the matching call of a send or recv), `op` (the waiting op), `reg`, `lock`, `holder` and
/// `link`.
struct WaitWords {
  WaitKind kind;
  /// Predicate of the waiting op.
  Pattern waits;
  /// Name for people; empty: the name in JSON.
  std::string_view label{};
  /// Text before `waits` in a sentence about the op: "is ".
  Pattern before_waits = "";
  /// Sentence why a rank never does what the op waits for. Further names in braces: `ranks` (the
  /// missing ranks), `s` and `are` (by the number of ranks), `waiter`, `details` (of the waiting
  /// op) and `waits`.
  Pattern never_comes = "{ranks} never call{s} {op}{details}";
  /// Whether `never_comes` also says what the waiting op does.
  bool names_waiter = false;
  /// `never_comes` if the target is the outside.
  Pattern outside = "{waiter} {waits}";
  /// `never_comes` in a picture.
  Pattern picture = "never calls it";
  /// Advice for the user if a rank never does what the op waits for; empty: find the missing call.
  std::string_view advice{};
  /// Rule of NCCL that causes such waits, if nobody has measured the rule.
  std::string_view unmeasured{};
};

// ---------------------------------------------------------------------------------------------
// Phrases that depend on more than the kind of the target

const char* stream_order_text(const Wait& wait) {
  return holds_stream(wait) ? "blocks its stream until {other} is done" : "queued behind {other}";
}

const char* stream_order_verb(const Wait& wait) { return holds_stream(wait) ? "" : "is "; }

// A step of a recorded script that is no `get` stands for what the rank did when its record ended.
const char* unended_text(const Wait& wait) {
  return wait.from.op.recorded_name.empty() ? "{waiter} waits for a key that no rank sets"
                                            : "{waiter}{details} has not ended";
}

const char* data_text(const Wait& wait) {
  return wait.control ? "needs signal '{reg}' from {other}" : "needs data from {other}";
}

const char* init_text(const Wait& wait) {
  if (!is_for_op(wait)) return "waits for {other}, which never joins the communicator";
  return wait.to.op.stage >= OpStage::kLaunched ? "waits for the device to finish {other}"
                                                : "waits for {other} to join the communicator";
}

// Describes a wait of a host, or of an op whose host thread is blocked elsewhere.
const char* host_wait_text(const Wait& wait) {
  if (wait.from.op.step == Step::kHostStep) return "blocks its host until {other} is done";
  // The host thread drives several ranks, and is in a step of another rank.
  return wait.from.op.stage >= OpStage::kLaunched
             ? "waits until its host thread has finished {other}"
             : "its host thread is blocked in {other}";
}

const char* host_wait_verb(const Wait& wait) {
  return wait.from.op.step == Step::kHostStep ? "" : "has not been called: ";
}

const char* kernel_slots_text(const Wait& wait) {
  const bool of_host = wait.from.op.call && !wait.from.op.collective;
  return of_host ? "waits for one of gloo's two workers, held by {other}"
                 : "waits for a kernel slot held by {other}";
}

const char* message_text(const Wait& wait) {
  if (wait.to.kind == WaitNodeKind::kOutside) return "waits for a send that no rank posts";
  if (wait.from.op.from_any) {
    return is_for_op(wait) ? "waits for a send of any rank, such as {other}"
                           : "waits for a send of any rank; {other} posts none";
  }
  return is_for_op(wait) ? "waits for {call}, {other}"
                         : "waits for {call}, which {other} never posts";
}

const char* missing_message_text(const Wait& wait) {
  return wait.from.op.from_any
             ? "{ranks} never send{s} what {waiter} waits for (recv from any rank)"
             : "{ranks} never post{s} {call} of {waiter}";
}

bool is_for_own_rank(const Wait& wait) { return wait.to.rank == wait.from.rank; }

const char* dead_rank_text(const Wait& wait) {
  return is_for_own_rank(wait) ? "cannot end: the device of {other} failed"
                               : "waits for {other}, which died";
}

const char* dead_rank_root(const Wait& wait) {
  return is_for_own_rank(wait) ? "the device of {ranks} failed" : "{ranks} {are} dead";
}

const char* dead_rank_picture(const Wait& wait) {
  return is_for_own_rank(wait) ? "its device failed" : "died";
}

// ---------------------------------------------------------------------------------------------
// The table

// Returns the words for a step of a collective algorithm. `waits` names the counter that the step
// waits for; the sentence about a wait without end repeats it.
constexpr WaitWords of_algorithm(WaitKind kind, const char* waits, const char* never) {
  WaitWords words{.kind = kind, .waits = {waits, never}};
  words.never_comes = "{waiter} {waits}";
  words.names_waiter = true;
  return words;
}

constexpr std::array<WaitWords, sim::kWaitKindCount> kWords = {{
    {.kind = WaitKind::kStreamOrder, .waits = stream_order_text, .before_waits = stream_order_verb},
    {.kind = WaitKind::kData, .waits = data_text},
    {.kind = WaitKind::kCreditData,
     .waits = "waits for {other} to free a slot of register '{reg}'"},
    {.kind = WaitKind::kCreditControl,
     .waits = "waits for {other} to free a slot of register '{reg}'"},
    {.kind = WaitKind::kPeerOfCollective,
     .waits = {"waits for {other} to join", "waits for {other}, which never joins"}},
    {.kind = WaitKind::kCommunicatorInit,
     .waits = init_text,
     .label = "communicator init",
     .never_comes = "{ranks} never join{s} the communicator of {op}{details}",
     .advice = "Next: initialize this communicator on all its ranks before its first use, or find "
               "out why these ranks never call it."},
    {.kind = WaitKind::kFirstMessage,
     .waits = {"blocks its host until {other} is called (first use connects the ranks)",
               "blocks its host: {other} never posts {call} (first use connects the ranks)"},
     .never_comes = missing_message_text},
    {.kind = WaitKind::kFirstCollective,
     .waits = {"blocks its host until {other} is called (first use connects the ranks)",
               "blocks its host: {other} never calls it (first use connects the ranks)"},
     .unmeasured = "NCCL connects the ranks at the first collective of each kind, which blocks "
                   "their hosts (rule 9.7; from NCCL's source, 2.22 or later; not measured)"},
    {.kind = WaitKind::kHostMeeting,
     .waits = {"blocks its host until {other} is called",
               "blocks its host: {other} never calls it"}},
    {.kind = WaitKind::kLaunchQueue,
     .waits = "waits for the launch queue, which is full behind {other}"},
    {.kind = WaitKind::kHostWait,
     .waits = host_wait_text,
     .before_waits = host_wait_verb,
     .outside = unended_text},
    {.kind = WaitKind::kOutsideInput, .waits = "waits for input from outside"},
    {.kind = WaitKind::kKernelSlots, .waits = kernel_slots_text, .label = "kernel slots"},
    {.kind = WaitKind::kPeerOfMessage,
     .waits = message_text,
     .label = "send/recv",
     .never_comes = missing_message_text,
     .names_waiter = true},
    {.kind = WaitKind::kLock,
     .waits = {"waits for lock '{lock}' held by thread '{holder}', which is in {other}",
               "waits for lock '{lock}' held by thread '{holder}', which has no work left on "
               "{other}"},
     .never_comes = "{ranks} thread '{holder}' never releases lock '{lock}'",
     .advice = "Next: find out why this lock is never released."},
    {.kind = WaitKind::kProgress,
     .waits = {"has its match, but moves no data until {other} is called (the library advances "
               "only inside calls)",
               "has its match, but moves no data: {other} makes no more calls (the library "
               "advances only inside calls)"},
     .never_comes = "{ranks} make{s} no more calls, in which {op}{details} could advance",
     .advice = "Next: wait for this call before the host waits for anything else."},
    {.kind = WaitKind::kDeadRank,
     .waits = dead_rank_text,
     .never_comes = dead_rank_root,
     .picture = dead_rank_picture},
    {.kind = WaitKind::kFailedLink,
     .waits = "cannot reach {other} over {link}",
     .never_comes = "{waiter} {waits}",
     .names_waiter = true,
     .picture = "cannot be reached"},
    {.kind = WaitKind::kAborted,
     .waits = "waits for {other}, which has aborted the communicator",
     .never_comes = "{waiter} {waits}",
     .names_waiter = true,
     .picture = "has aborted the communicator",
     .advice = "Next: once one rank aborts a communicator, let all its ranks abort it."},
    {.kind = WaitKind::kRequires, .waits = "needs {other} to end first"},
    {.kind = WaitKind::kIRequires, .waits = "needs {other} to start first"},
    {.kind = WaitKind::kCallOrder, .waits = "called after {other}", .before_waits = "is "},
    of_algorithm(WaitKind::kSlot, "waits for a slot that {other} frees",
                 "waits for a slot that {other} never frees"),
    of_algorithm(WaitKind::kDependency, "depends on {other}",
                 "waits for a step that never signals completion"),
    of_algorithm(WaitKind::kSignal, "waits for a signal from {other}",
                 "waits for a signal that {other} never sends"),
    of_algorithm(WaitKind::kSemaphore, "waits for a semaphore that {other} releases",
                 "waits for a semaphore that is never released"),
    of_algorithm(WaitKind::kBarrier, "waits at a barrier for {other}",
                 "waits at a barrier for a thread block that is missing"),
    of_algorithm(WaitKind::kPacket, "waits for a packet from {other}",
                 "waits for a packet that is never written"),
}};
static_assert(sim::has_row_per_kind(kWords), "each kind of wait has its words, in their order");

const WaitWords& words_of(WaitKind kind) { return kWords[static_cast<std::size_t>(kind)]; }

// ---------------------------------------------------------------------------------------------
// Names

// Replaces the names that every pattern can use, and those of `more`.
template <typename... More>
std::string filled(const char* pattern, const Wait& wait, const More&... more) {
  return fmt::format(fmt::runtime(pattern), fmt::arg("call", matching_text(wait.from.op)),
                     fmt::arg("op", op_text(wait.from.op)), fmt::arg("reg", wait.reg),
                     fmt::arg("lock", wait.lock), fmt::arg("holder", wait.holder),
                     fmt::arg("link", wait.link), more...);
}

// Describes `wait`; `other` names its target.
std::string text_of(const Wait& wait, std::string_view other) {
  return filled(words_of(wait.kind).waits.of(wait), wait, fmt::arg("other", other));
}

// Names the target of a wait, as seen from the waiting rank.
std::string other_text(const Wait& wait) {
  if (!is_for_op(wait)) return party_text(wait.to);
  const std::string op = quoted_if_implied(wait.to.op);
  return is_for_own_rank(wait) ? op : fmt::format("rank {}'s {}", wait.to.rank, op);
}

}  // namespace

std::string_view kind_label(WaitKind kind) {
  const std::string_view label = words_of(kind).label;
  return label.empty() ? sim::facts(kind).name : label;
}

bool holds_stream(const Wait& wait) {
  return wait.kind == WaitKind::kStreamOrder &&
         (wait.from.op.stage == OpStage::kStarted || wait.from.op.stream != wait.to.op.stream);
}

std::string_view matching_text(const OpInfo& op) {
  if (op.call == CallKind::kSend) return "the matching recv";
  return op.call == CallKind::kReceive ? "the matching send" : "the matching call";
}

std::string wait_text(const Wait& wait) {
  const OpInfo& other = wait.needed ? *wait.needed : wait.to.op;
  // If the target is in the waiter's call, the rank alone identifies the target.
  const bool same_call =
      sim::facts(wait.kind).joins && is_for_op(wait) &&
      !(wait.kind == WaitKind::kCommunicatorInit && wait.to.op.stage >= OpStage::kLaunched) &&
      op_text(wait.from.op) == op_text(other);
  const std::string rank = fmt::format("rank {}", wait.to.rank);
  if (!wait.needed) return text_of(wait, same_call ? rank : other_text(wait));
  return same_call
             ? text_of(wait, fmt::format("{} (still at {})", rank, quoted_if_implied(wait.to.op)))
             : fmt::format("{}, but {} is blocked in its own {}",
                           text_of(wait, fmt::format("{}'s {}", rank, quoted_if_implied(other))),
                           rank, quoted_if_implied(wait.to.op));
}

std::string wait_predicate(const Wait& wait) {
  return words_of(wait.kind).before_waits.of(wait) + wait_text(wait);
}

std::string edge_text(const Wait& wait) {
  constexpr std::string_view kOther = "it";
  if (wait.needed) return wait_text(wait);
  std::string text = text_of(wait, kOther);
  if (!text.ends_with(kOther)) return text;
  text.resize(text.find_last_not_of(" ,", text.size() - kOther.size() - 1) + 1);
  return text;
}

std::string root_text(const Wait& first, const RootNames& names) {
  const WaitWords& words = words_of(first.kind);
  const Pattern& pattern = first.to.kind == WaitNodeKind::kRank ? words.never_comes : words.outside;
  return filled(pattern.of(first), first, fmt::arg("ranks", names.ranks),
                fmt::arg("s", names.one ? "s" : ""), fmt::arg("are", names.one ? "is" : "are"),
                fmt::arg("waiter", names.waiter), fmt::arg("waits", wait_text(first)),
                fmt::arg("details", names.details));
}

bool names_waiter(const Wait& first) {
  return first.to.kind != WaitNodeKind::kRank || words_of(first.kind).names_waiter;
}

std::string_view root_label(const Wait& first) { return words_of(first.kind).picture.of(first); }

std::string_view root_advice(WaitKind kind) { return words_of(kind).advice; }

std::string_view unmeasured_rule(WaitKind kind) { return words_of(kind).unmeasured; }

}  // namespace pipesim::viz
