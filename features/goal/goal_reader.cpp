// Reads GOAL in one pass, without splitting the text into tokens. After a mistake, the reader skips
// the rest of the line, so that one run reports several mistakes.
//
// Collects the dependencies of a rank. At the end of the rank, sorts the dependencies by the op
// that must come first.
#include "features/goal/goal_reader.hpp"

#include <algorithm>
#include <cstring>
#include <memory_resource>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "models/characters.hpp"

namespace pipesim::formats {
namespace {

using models::Diagnostic;
using models::Diagnostics;
using models::is_digit;
using models::Place;
using sim::LogGopsKind;
using sim::LogGopsOp;
using sim::LogGopsProgram;

constexpr std::size_t kMaxMistakes = 20;
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62;
constexpr std::uint64_t kMaxUnits = 256;  // maximum number of cpus or nics of a rank

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_of_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

bool is_op(std::string_view word, LogGopsKind& kind) {
  if (word.size() != 4) return false;
  if (word == "send") {
    kind = LogGopsKind::kSend;
  } else if (word == "recv") {
    kind = LogGopsKind::kReceive;
  } else if (word == "calc") {
    kind = LogGopsKind::kCalculate;
  } else {
    return false;
  }
  return true;
}

class GoalReader {
 public:
  GoalReader(std::string_view text, Diagnostics& diagnostics)
      : text_(text),
        diagnostics_(diagnostics),
        at_(text.data()),
        end_(text.data() + text.size()),
        line_begin_(at_) {}

  std::optional<GoalFile> run();

 private:
  struct Dependency {
    std::uint32_t on = 0;         // index of an op
    std::uint32_t dependent = 0;  // index of an op, with or without kAtStart
  };

  // These functions return false after a mistake, which they report.
  bool statement();
  bool comment();
  bool num_ranks();
  bool open_rank();
  bool close_rank(const char* behind);
  bool labelled(std::string_view label);
  bool dependency(std::string_view label, std::uint32_t flag);
  bool op(LogGopsKind kind, const char* begin, std::string_view label);
  bool calculation(LogGopsOp& op);
  bool message(LogGopsOp& op);
  bool peer(LogGopsOp& op);
  bool tag(LogGopsOp& op, bool& given);
  bool unit(const char* what, std::uint8_t& value, bool& given);
  bool read_number(const char* what, std::uint64_t most, std::uint64_t& value);
  bool end_of_statement(const char* or_else);

  std::optional<std::uint32_t> known(std::string_view label);
  void finish();
  char peek() const { return at_ < end_ ? *at_ : '\0'; }
  void skip_blanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
  }
  void next_line() {
    ++at_;
    ++line_;
    line_begin_ = at_;
  }
  bool at_line_end() const {
    return at_ == end_ || *at_ == '\n' || (*at_ == '\r' && at_ + 1 < end_ && at_[1] == '\n');
  }
  std::string_view word() {
    const char* begin = at_;
    while (at_ < end_ && is_of_word(*at_)) ++at_;
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }
  bool accept(std::string_view literal) {
    const auto left = static_cast<std::size_t>(end_ - at_);
    if (left < literal.size() || std::memcmp(at_, literal.data(), literal.size()) != 0)
      return false;
    at_ += literal.size();
    return true;
  }
  Place place_of(const char* where) const {
    return {line_, static_cast<std::uint32_t>(where - line_begin_ + 1)};
  }
  Diagnostic& error(const char* where, models::Code code, std::string message) {
    return diagnostics_.error(place_of(where), code, std::move(message));
  }
  bool expected(const std::string& what);
  std::string found() const;
  std::uint32_t line_of(std::uint32_t op) const;

  std::string_view text_;
  Diagnostics& diagnostics_;
  const char* at_;
  const char* end_;
  const char* line_begin_;
  std::uint32_t line_ = 1;
  GoalFile file_;
  LogGopsProgram& program_ = file_.program;
  // Ops by label, in the current rank.
  using Labels = std::pmr::unordered_map<std::string_view, std::uint32_t>;
  std::pmr::monotonic_buffer_resource labels_memory_;
  std::optional<Labels> labels_;
  std::vector<Dependency> dependencies_;  // dependencies of the current rank
  std::vector<std::uint32_t> opened_;     // first line of each rank, or 0
  std::optional<std::uint32_t> rank_;     // the current rank
  std::uint32_t open_line_ = 0;           // line where the current rank begins
};

std::optional<GoalFile> GoalReader::run() {
  if (text_.size() > kMaxGoalBytes) {
    diagnostics_.error({}, models::Code::kLimit,
                       fmt::format("the file has {} bytes, but at most {} can be read",
                                   text_.size(), kMaxGoalBytes));
    return std::nullopt;
  }
  // Reserved memory that stays unused costs nothing, because its pages are never touched.
  constexpr std::size_t kMinBytesOfAnOp = 32;
  const std::size_t likely = text_.size() / kMinBytesOfAnOp;
  program_.ops.reserve(likely);
  program_.required.reserve(likely);
  program_.dependents_begin.reserve(likely);
  program_.dependents.reserve(likely);
  file_.offsets.reserve(likely);
  program_.dependents_begin.push_back(0);
  while (diagnostics_.error_count() < kMaxMistakes) {
    skip_blanks();
    if (at_ == end_) break;
    if (at_line_end()) {
      if (*at_ == '\r') ++at_;
      next_line();
    } else if (!statement()) {
      while (at_ < end_ && *at_ != '\n') ++at_;
    }
  }
  if (!diagnostics_.has_errors()) finish();
  if (diagnostics_.has_errors()) return std::nullopt;
  return std::move(file_);
}

void GoalReader::finish() {
  if (rank_) {
    error(at_, models::Code::kGoalSyntax,
          fmt::format("the file ends inside rank {}: expected '}}' to close it", *rank_))
        .notes.push_back(fmt::format("the rank begins in line {}", open_line_));
  } else if (program_.rank_count == 0) {
    error(at_, models::Code::kGoalRank, "'num_ranks' is missing")
        .notes.emplace_back("a GOAL file begins with 'num_ranks N', then 'rank 0 {'");
  }
}

// Describes the next word for messages.
std::string GoalReader::found() const {
  if (at_ == end_) return "the end of the file";
  if (at_line_end()) return "the end of the line";
  constexpr std::ptrdiff_t kMax = 24;
  const char* stop = at_ + 1;
  if (is_of_word(*at_)) {
    while (stop < end_ && stop - at_ < kMax && is_of_word(*stop)) ++stop;
  } else if (*at_ == '-') {
    while (stop < end_ && stop - at_ < kMax && is_digit(*stop)) ++stop;
  } else if (*at_ == '/' && stop < end_ && (*stop == '/' || *stop == '*')) {
    ++stop;
  }
  return fmt::format("'{}'", std::string_view(at_, static_cast<std::size_t>(stop - at_)));
}

bool GoalReader::expected(const std::string& what) {
  Diagnostic& told =
      error(at_, models::Code::kGoalSyntax, fmt::format("expected {}, found {}", what, found()));
  if (peek() == '/') {
    told.notes.emplace_back("put the comment on a line of its own");
  } else if (peek() == '}') {
    told.notes.emplace_back("'}' goes on a line after the last statement");
  }
  return false;
}

bool GoalReader::statement() {
  const char c = *at_;
  if (c == '/') return comment();
  if (c == '}') return close_rank(at_ + 1);
  if (!is_letter(c)) {
    return expected("a statement: an op, a label, 'rank', '}' or a comment");
  }
  const char* begin = at_;
  const std::string_view first = word();
  LogGopsKind kind{};
  if (is_op(first, kind)) return op(kind, begin, {});
  if (first == "rank") return open_rank();
  if (first == "num_ranks") return num_ranks();
  return labelled(first);
}

bool GoalReader::comment() {
  const Place place = place_of(at_);
  if (accept("//")) {
    while (at_ < end_ && *at_ != '\n') ++at_;
    return true;
  }
  if (!accept("/*")) return expected("a statement or a comment");
  while (at_ < end_) {
    if (accept("*/")) return true;
    if (*at_ == '\n') {
      next_line();
    } else {
      ++at_;
    }
  }
  diagnostics_.error(place, models::Code::kGoalSyntax, "unterminated comment: expected '*/'");
  return false;
}

bool GoalReader::num_ranks() {
  const char* begin = at_ - std::strlen("num_ranks");
  if (!opened_.empty()) {
    error(begin, models::Code::kGoalRank, "'num_ranks' is given twice");
    return false;
  }
  skip_blanks();
  const char* where = at_;
  std::uint64_t count = 0;
  if (!read_number("number of ranks", sim::kMaxLogGopsRanks, count)) return false;
  if (count == 0) {
    error(where, models::Code::kGoalRank, "'num_ranks' must be at least 1");
    return false;
  }
  program_.rank_count = static_cast<std::uint32_t>(count);
  program_.rank_begin = decltype(program_.rank_begin)(program_.rank_count, 0);
  program_.rank_end = program_.rank_begin;
  opened_.resize(program_.rank_count);
  return true;
}

bool GoalReader::open_rank() {
  const char* begin = at_ - std::strlen("rank");
  if (rank_) {
    error(begin, models::Code::kGoalSyntax,
          fmt::format("rank {} is not closed: expected '}}'", *rank_))
        .notes.push_back(fmt::format("it begins in line {}", open_line_));
    close_rank(begin + std::strlen("rank"));
  }
  skip_blanks();
  const char* where = at_;
  std::uint64_t rank = 0;
  if (!read_number("rank", sim::kMaxLogGopsRanks - 1, rank)) return false;
  if (opened_.empty()) {
    // Reports this only once: the other statements make no sense without 'num_ranks'.
    error(begin, models::Code::kGoalRank, "expected 'num_ranks' before the first rank")
        .notes.emplace_back("a GOAL file begins with 'num_ranks N'");
    at_ = end_;
    return false;
  }
  if (rank >= program_.rank_count) {
    error(where, models::Code::kGoalRank,
          fmt::format("there is no rank {}: 'num_ranks' is {}", rank, program_.rank_count));
    rank = program_.rank_count - 1;  // so that the statements of this rank are checked
  } else if (opened_[rank] != 0) {
    error(where, models::Code::kGoalRank, fmt::format("rank {} is given twice", rank))
        .notes.push_back(fmt::format("the first is in {}", models::line_text({opened_[rank], 1})));
  } else {
    opened_[rank] = line_;
  }
  skip_blanks();
  if (!accept("{")) return expected("'{'");
  rank_ = static_cast<std::uint32_t>(rank);
  open_line_ = line_;
  // Most ranks have the same number of labels as the previous rank.
  const std::size_t likely = labels_ ? labels_->size() : 0;
  labels_.reset();
  labels_memory_.release();
  labels_.emplace(likely, &labels_memory_);
  program_.rank_begin[sim::RankId{*rank_}] = static_cast<std::uint32_t>(program_.ops.size());
  return true;
}

// Sorts the dependencies of the rank by the op that must come first. Dependencies on one op stay in
// file order.
bool GoalReader::close_rank(const char* behind) {
  if (!rank_) {
    error(at_, models::Code::kGoalSyntax, "unmatched '}'");
    return false;
  }
  at_ = behind;
  const sim::RankId rank{*rank_};
  const std::uint32_t first = program_.rank_begin[rank];
  const auto end = static_cast<std::uint32_t>(program_.ops.size());
  program_.rank_end[rank] = end;
  // The last entry is already the end of the previous rank's ops.
  std::vector<std::uint32_t>& begins = program_.dependents_begin;
  const std::uint32_t before = begins.back();
  begins.resize(std::size_t{end} + 1, 0);
  for (const Dependency& it : dependencies_) ++begins[it.on + 1];
  for (std::uint32_t op = first; op < end; ++op) begins[op + 1] += begins[op];
  program_.dependents.resize(std::size_t{before} + dependencies_.size());
  // Writing moves each begin to its end, which is the begin of the next op.
  for (const Dependency& it : dependencies_) program_.dependents[begins[it.on]++] = it.dependent;
  for (std::uint32_t op = end; op > first; --op) begins[op] = begins[op - 1];
  begins[first] = before;
  dependencies_.clear();
  rank_.reset();
  return true;
}

bool GoalReader::labelled(std::string_view label) {
  skip_blanks();
  if (peek() == ':') {
    ++at_;
    skip_blanks();
    const char* begin = at_;
    LogGopsKind kind{};
    if (is_op(word(), kind)) return op(kind, label.data(), label);
    at_ = begin;
    return expected("'send', 'recv' or 'calc'");
  }
  const char* begin = at_;
  const std::string_view second = word();
  if (second == "requires") return dependency(label, 0);
  if (second == "irequires") return dependency(label, LogGopsProgram::kAtStart);
  at_ = begin;
  Diagnostic& told = error(
      at_, models::Code::kGoalSyntax,
      fmt::format("expected ':', 'requires' or 'irequires' after '{}', found {}", label, found()));
  const std::vector<std::string> words = {"send", "recv", "calc", "rank", "num_ranks"};
  const std::string nearest = models::nearest_name(label, words);
  if (!nearest.empty()) told.notes.push_back(fmt::format("did you mean '{}'?", nearest));
  return false;
}

// Returns the op with this label, or nullopt after an error.
std::optional<std::uint32_t> GoalReader::known(std::string_view label) {
  const auto found = labels_->find(label);
  if (found != labels_->end()) return found->second;
  error(label.data(), models::Code::kGoalLabel,
        fmt::format("label '{}' is not defined in rank {} above this line", label, *rank_))
      .notes.emplace_back("'LABEL: send ...' defines it; labels hold in their rank, from there on");
  return std::nullopt;
}

bool GoalReader::dependency(std::string_view label, std::uint32_t flag) {
  skip_blanks();
  if (!is_letter(peek())) return expected("a label");
  const std::string_view other = word();
  if (!rank_) {
    error(label.data(), models::Code::kGoalSyntax, fmt::format("'{}' is outside a rank", label));
    return false;
  }
  const std::optional<std::uint32_t> dependent = known(label);
  const std::optional<std::uint32_t> on = known(other);
  if (!dependent || !on) return false;
  if (!end_of_statement("the end of the line")) return false;
  dependencies_.push_back({*on, *dependent | flag});
  ++program_.required[*dependent];
  return true;
}

bool GoalReader::op(LogGopsKind kind, const char* begin, std::string_view label) {
  if (!rank_) {
    error(begin, models::Code::kGoalSyntax, "an op must be inside a rank")
        .notes.emplace_back("'rank N {' opens one");
    return false;
  }
  LogGopsOp op;
  op.kind = kind;
  op.rank = *rank_;
  if (!(kind == LogGopsKind::kCalculate ? calculation(op) : message(op))) return false;
  const auto id = static_cast<std::uint32_t>(program_.ops.size());
  if (id == sim::kMaxLogGopsOps) {
    error(begin, models::Code::kLimit, fmt::format("more than {} ops", sim::kMaxLogGopsOps));
    at_ = end_;
    return false;
  }
  if (!label.empty()) {
    const auto [first, is_new] = labels_->try_emplace(label, id);
    if (!is_new) {
      error(begin, models::Code::kGoalLabel,
            fmt::format("label '{}' is defined twice in rank {}", label, *rank_))
          .notes.push_back(
              fmt::format("the first is in {}", models::line_text({line_of(first->second), 1})));
      return false;
    }
  }
  program_.many_units = program_.many_units || op.cpu > 0 || op.nic > 0;
  program_.ops.push_back(op);
  program_.required.push_back(0);
  file_.offsets.push_back(static_cast<std::uint32_t>(begin - text_.data()));
  return true;
}

bool GoalReader::calculation(LogGopsOp& op) {
  bool cpu = false;
  return read_number("duration in nanoseconds", kMaxSize, op.size) && unit("cpu", op.cpu, cpu) &&
         end_of_statement(cpu ? "" : "'cpu' or ");
}

bool GoalReader::message(LogGopsOp& op) {
  const bool sends = op.kind == LogGopsKind::kSend;
  if (!read_number("size in bytes", kMaxSize, op.size)) return false;
  skip_blanks();
  if (!accept("b")) return expected("'b' after the size");
  skip_blanks();
  if (!accept(sends ? "to" : "from")) return expected(sends ? "'to'" : "'from'");
  bool has_tag = false;
  bool cpu = false;
  bool nic = false;
  if (!peer(op) || !tag(op, has_tag) || !unit("cpu", op.cpu, cpu) || !unit("nic", op.nic, nic)) {
    return false;
  }
  return end_of_statement(nic       ? ""
                          : cpu     ? "'nic' or "
                          : has_tag ? "'cpu', 'nic' or "
                                    : "'tag', 'cpu', 'nic' or ");
}

bool GoalReader::peer(LogGopsOp& op) {
  skip_blanks();
  const char* where = at_;
  if (accept("-1")) {
    op.peer = sim::kAnyPeer;
    program_.has_wildcards = true;
    if (op.kind == LogGopsKind::kReceive) return true;
    error(where, models::Code::kGoalRank,
          "a send needs one rank; '-1', any rank, is only for 'recv'");
    return false;
  }
  std::uint64_t rank = 0;
  if (!read_number("rank", sim::kMaxLogGopsRanks - 1, rank)) return false;
  op.peer = static_cast<std::uint32_t>(rank);
  if (rank < program_.rank_count) return true;
  error(where, models::Code::kGoalRank,
        fmt::format("there is no rank {}: 'num_ranks' is {}", rank, program_.rank_count));
  return false;
}

bool GoalReader::tag(LogGopsOp& op, bool& given) {
  skip_blanks();
  given = accept("tag");
  if (!given) return true;
  skip_blanks();
  if (accept("-1")) {
    op.tag = sim::kAnyTag;
    program_.has_wildcards = true;
    return true;
  }
  std::uint64_t value = 0;
  if (!read_number("tag", sim::kAnyTag - 1, value)) return false;
  op.tag = static_cast<std::uint32_t>(value);
  return true;
}

bool GoalReader::unit(const char* what, std::uint8_t& value, bool& given) {
  skip_blanks();
  given = accept(what);
  if (!given) return true;
  std::uint64_t index = 0;
  if (!read_number(what, kMaxUnits - 1, index)) return false;
  value = static_cast<std::uint8_t>(index);
  return true;
}

bool GoalReader::read_number(const char* what, std::uint64_t most, std::uint64_t& value) {
  skip_blanks();
  if (!is_digit(peek())) return expected(fmt::format("a number: the {}", what));
  const char* begin = at_;
  std::uint64_t result = 0;
  for (; at_ < end_ && is_digit(*at_); ++at_) {
    const auto digit = static_cast<std::uint64_t>(*at_ - '0');
    result = result > (most - digit) / 10 ? most + 1 : 10 * result + digit;
    if (result > most) break;
  }
  if (result <= most) {
    value = result;
    return true;
  }
  at_ = begin;
  error(begin, models::Code::kLimit,
        fmt::format("the {} must be at most {}, found {}", what, most, found()));
  return false;
}

// Checks for the end of the line without consuming it.
bool GoalReader::end_of_statement(const char* or_else) {
  skip_blanks();
  return at_line_end() || expected(fmt::format("{}the end of the line", or_else));
}

std::uint32_t GoalReader::line_of(std::uint32_t op) const {
  const auto end = text_.begin() + file_.offsets[op];
  return static_cast<std::uint32_t>(std::count(text_.begin(), end, '\n')) + 1;
}

}  // namespace

std::optional<GoalFile> read_goal(std::string_view text, Diagnostics& diagnostics) {
  return GoalReader(text, diagnostics).run();
}

namespace {

// Bytes of text per entry of `lines_before_`.
constexpr std::size_t kBlock = std::size_t{1} << 16;

}  // namespace

GoalNames::GoalNames(const GoalFile& file, std::string_view text) : file_(file), text_(text) {
  std::uint32_t lines = 0;
  for (std::size_t begin = 0; begin < text.size(); begin += kBlock) {
    lines_before_.push_back(lines);
    const std::string_view block = text.substr(begin, kBlock);
    lines += static_cast<std::uint32_t>(std::count(block.begin(), block.end(), '\n'));
  }
}

std::string GoalNames::name(sim::ActorId op) const {
  const std::size_t begin = file_.offsets[op.value];
  const std::string_view statement_here = statement(op);
  if (statement_here.data() == text_.data() + begin) {
    return fmt::format("{}@{}", statement_here.substr(0, 4), place(op).line);
  }
  // The label ends at the colon, or at a blank before it.
  const std::size_t end = text_.find_first_of(" \t:", begin);
  return std::string(text_.substr(begin, end - begin));
}

models::Place GoalNames::place(sim::ActorId op) const {
  const std::size_t offset = file_.offsets[op.value];
  const std::size_t block = offset / kBlock;
  const std::string_view before = text_.substr(block * kBlock, offset - block * kBlock);
  const std::uint32_t line =
      lines_before_[block] +
      static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t newline = text_.substr(0, offset).rfind('\n');
  const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  return {line, static_cast<std::uint32_t>(offset - line_begin + 1)};
}

std::string_view GoalNames::statement(sim::ActorId op) const {
  const std::size_t begin = file_.offsets[op.value];
  const std::size_t line_end = std::min(text_.find('\n', begin), text_.size());
  std::string_view line = text_.substr(begin, line_end - begin);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) {
    line.remove_suffix(1);
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line;
  return line.substr(line.find_first_not_of(" \t", colon + 1));
}

}  // namespace pipesim::formats
