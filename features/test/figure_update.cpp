#include "features/test/figure_update.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "formats/document/expression.hpp"

namespace pipesim::formats {
namespace {

using models::Aspect;
using models::Place;

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// Returns the offset of a place; nullopt if the text has no such place. Kinds of line ends make no
// difference, because line ends come after the column.
std::optional<std::size_t> offset_of(const std::string& text, Place place) {
  if (place.line == 0 || place.column == 0) return std::nullopt;
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < place.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return std::nullopt;
    ++begin;
  }
  const std::size_t offset = begin + place.column - 1;
  return offset < text.size() ? std::optional(offset) : std::nullopt;
}

std::size_t skip(std::string_view text, std::size_t at, std::string_view of) {
  return std::min(text.find_first_not_of(of, at), text.size());
}

// Returns the length of the figure at the beginning of `text`, or 0 if `text` does not begin with a
// figure of the kind of `figure`.
std::size_t length_of(const Figure& figure, std::string_view text) {
  if (figure.aspect == Aspect::kVerdict || figure.aspect == Aspect::kCause) {
    return text.substr(0, figure.old_text.size()) == figure.old_text ? figure.old_text.size() : 0;
  }
  std::size_t end = skip(text, 0, kDigits);
  if (end == 0 || figure.aspect == Aspect::kCycleLength) return end;
  if (text.substr(end, 1) == ".") end = skip(text, end + 1, kDigits);
  const std::size_t unit = skip(text, end, " ");
  const std::size_t after = skip(text, unit, kLetters);
  return after > unit ? after : end;  // the figure 0 needs no unit
}

// Whether a value in YAML can end before `rest`.
bool ends(std::string_view rest) {
  const std::size_t next = rest.find_first_not_of(" \t");
  if (next == std::string_view::npos) return true;
  const char c = rest[next];
  return c == ',' || c == '}' || c == ']' || c == '\n' || c == '\r' || (c == '#' && next > 0);
}

struct Span {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// Returns the span of the figure in the text, without quotes.
std::optional<Span> find(const std::string& text, const Figure& figure) {
  const std::optional<std::size_t> offset = offset_of(text, figure.place);
  if (!offset) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(*offset);
  const char quote = rest.front();
  const bool quoted = quote == '"' || quote == '\'';
  if (quoted) rest.remove_prefix(1);
  const std::size_t size = length_of(figure, rest);
  rest.remove_prefix(size);
  if (quoted) {
    if (rest.empty() || rest.front() != quote) return std::nullopt;
    rest.remove_prefix(1);
  }
  if (size == 0 || !ends(rest)) return std::nullopt;
  return Span{*offset + (quoted ? 1 : 0), size};
}

std::string text_of(std::int64_t number, ValueType type) {
  Value value;
  value.type = type;
  value.expr = models::Expr::constant(number);
  return to_text(value);
}

void add_memory(const models::Expectation& expectation, const models::TaskGraph& graph,
                const models::Simulation& run, std::vector<Figure>& result) {
  const auto report = models::memory_report(graph, run.lowered, run.outcome);
  for (const models::ExpectedMemory& memory : expectation.memory) {
    const std::optional<std::int64_t> bytes = models::memory_of(memory, report);
    if (!bytes || memory.bytes.least != memory.bytes.most) continue;
    result.push_back({Aspect::kMemory, memory.place, text_of(*bytes, ValueType::kBytes), "",
                      !memory.bytes.contain(*bytes)});
  }
}

}  // namespace

std::vector<Figure> figures_of(const models::Expectation& expectation,
                               const models::TaskGraph& graph, const models::Simulation& run,
                               bool names) {
  const models::Explanation& found = run.explanation;
  std::vector<Figure> result;
  const bool same_end = (!expectation.verdict || expectation.verdict->value == found.verdict) &&
                        (!expectation.cause || expectation.cause->value == found.cause);
  if (!same_end && !names) return result;
  if (names && expectation.verdict) {
    const sim::Verdict old = expectation.verdict->value;
    result.push_back({Aspect::kVerdict, expectation.verdict->place,
                      models::verdict_name(found.verdict), models::verdict_name(old),
                      old != found.verdict});
  }
  if (names && expectation.cause) {
    const models::Cause old = expectation.cause->value;
    result.push_back({Aspect::kCause, expectation.cause->place, models::cause_name(found.cause),
                      models::cause_name(old), old != found.cause});
  }
  const auto& time = expectation.time_ns;
  if (time && time->value.least == time->value.most) {
    result.push_back({Aspect::kTime, time->place, text_of(found.time_ns, ValueType::kTime), "",
                      !time->value.contain(found.time_ns)});
  }
  if (const auto& length = expectation.cycle_length) {
    const auto waits = static_cast<std::int64_t>(found.cycle.size());
    result.push_back(
        {Aspect::kCycleLength, length->place, std::to_string(waits), "", length->value != waits});
  }
  if (!expectation.memory.empty()) add_memory(expectation, graph, run, result);
  return result;
}

UpdatedText update_figures(const std::string& text, const std::vector<Figure>& figures) {
  UpdatedText result;
  result.text = text;
  // Goes from the end to the beginning, so that earlier places stay valid.
  std::map<Place, std::vector<const Figure*>, std::greater<>> places;
  for (const Figure& figure : figures) places[figure.place].push_back(&figure);
  for (const auto& [place, of] : places) {
    const auto changed = [](const Figure* figure) { return figure->changed; };
    if (std::none_of(of.begin(), of.end(), changed)) continue;
    const Figure& first = *of.front();
    const bool agree = std::all_of(of.begin(), of.end(), [&](const Figure* figure) {
      return figure->text == first.text && figure->aspect == first.aspect;
    });
    const std::optional<Span> span = agree ? find(text, first) : std::nullopt;
    if (span) {
      result.text.replace(span->begin, span->size, first.text);
    } else {
      result.refused.push_back(place);
    }
  }
  std::reverse(result.refused.begin(), result.refused.end());
  return result;
}

}  // namespace pipesim::formats
