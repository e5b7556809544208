// Reads each expectation with the settings of the whole scenario. So `time: 3 * t` uses the `t` of
// the expectation's own `with` only if the scenario is read with that setting.
#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "formats/document/map_reader.hpp"
#include "formats/scenario/keys.hpp"
#include "formats/scenario/section_readers.hpp"
#include "models/graph/by_name.hpp"
#include "models/graph/whole_number.hpp"
#include "models/result/idle.hpp"

namespace pipesim::formats {
namespace {

using models::Bounds;
using models::Diagnostics;
using models::Expectation;
using models::ExpectedOp;

class ExpectationReader {
 public:
  ExpectationReader(const ValueReader& values, Scenario& scenario)
      : values_(values), diagnostics_(values.diagnostics()), scenario_(scenario) {}

  Expectation read(const YamlValue& value) {
    MapReader map(value, keys::kExpectation, diagnostics_);
    expectation_.place = value.place();
    if (const auto with = map.take("with")) read_with(*with);
    if (const auto verdict = map.take("verdict")) read_verdict(*verdict);
    if (const auto cause = map.take("cause")) read_cause(*cause);
    if (const auto time = map.take("time")) read_time(*time);
    if (const auto length = map.take("cycle_length")) {
      if (const auto number = amount(*length, ValueType::kNumber)) {
        expectation_.cycle_length = {length->place(), *number};
      }
    }
    if (const auto through = map.take("cycle_through")) read_through(*through);
    if (const auto roots = map.take("roots")) {
      if (auto ranks = values_.rank_set(*roots)) {
        expectation_.roots = {roots->place(), std::move(*ranks)};
      }
    }
    if (const auto idle = map.take("idle")) {
      if (!idle->is_list()) read_idle(*idle);
      for (const YamlValue& item : list_of(*idle)) read_idle(item);
    }
    if (const auto memory = map.take("memory")) {
      if (!memory->is_list()) read_memory(*memory);
      for (const YamlValue& item : list_of(*memory)) read_memory(item);
    }
    if (const auto order = map.take("order")) read_orders(*order);
    map.finish();
    return std::move(expectation_);
  }

 private:
  static std::vector<YamlValue> list_of(const YamlValue& value) {
    return value.is_list() ? value.items() : std::vector<YamlValue>();
  }

  void read_with(const YamlValue& with) {
    for (const YamlValue::Entry& entry : named_entries(with, "'with'", diagnostics_)) {
      const std::string name(entry.key.text());
      // `reading` can be set in every scenario.
      if (name != "reading" && values_.scope().find(name) == nullptr) {
        models::Diagnostic& error =
            diagnostics_.error(entry.key.place(), models::Code::kUnknownParameter,
                               fmt::format("unknown parameter '{}'", name));
        models::suggest_name(error, name, models::names_of(scenario_.parameters));
      } else if (!entry.value.is_scalar()) {
        diagnostics_.error(entry.value.place(), models::Code::kWrongType,
                           fmt::format("expected a value, found {}", entry.value.described()));
      } else {
        expectation_.with.emplace_back(name, entry.value.text());
      }
    }
  }

  void read_verdict(const YamlValue& value) {
    const auto name = values_.one_of(value, keys::words_of("verdict"));
    const auto verdict = name ? models::find_verdict(*name) : std::nullopt;
    if (verdict) expectation_.verdict = {value.place(), *verdict};
  }

  void read_cause(const YamlValue& value) {
    const auto name = values_.one_of(value, models::cause_names());
    const auto cause = name ? models::find_cause(*name) : std::nullopt;
    if (cause) expectation_.cause = {value.place(), *cause};
  }

  // ---- Time: exact, or {at_least: ..., at_most: ...}, or {about: 5ms, within: 1%}

  void read_time(const YamlValue& value) {
    const std::optional<YamlValue> picked = values_.resolved(value);
    if (!picked || picked->is_null()) return;
    std::optional<Bounds> bounds;
    if (picked->is_map()) {
      MapReader map(*picked, keys::kTimeBounds, diagnostics_);
      bounds = bounds_of(map, ValueType::kTime, "'time'", "{about: 5ms, within: 1%}");
    } else if (const auto time = amount(*picked, ValueType::kTime)) {
      bounds = Bounds::exactly(*time);
    }
    if (bounds) expectation_.time_ns = {picked->place(), *bounds};
  }

  // Reads a time, size or count. Rejects negative values, so that computations with them stay in
  // range.
  std::optional<std::int64_t> amount(const YamlValue& value, ValueType type) {
    const std::optional<std::int64_t> number = values_.constant(value, type);
    if (!number || *number >= 0) return number;
    diagnostics_.error(value.place(), models::Code::kOutOfRange,
                       fmt::format("expected 0 or more, found {}", value.described()));
    return std::nullopt;
  }

  // Reads the remaining keys of `map` as bounds.
  std::optional<Bounds> bounds_of(MapReader& map, ValueType type, const char* what,
                                  const char* example) {
    Bounds bounds;
    const auto about = map.take("about");
    const auto within = map.take("within");
    const auto least = map.take("at_least");
    const auto most = map.take("at_most");
    map.finish();
    if (about.has_value() != within.has_value()) {
      diagnostics_.error(map.place(), models::Code::kExpectation,
                         fmt::format("'about' and 'within' go together: {}", example));
      return std::nullopt;
    }
    if (!about && !least && !most) {
      diagnostics_.error(map.place(), models::Code::kExpectation,
                         fmt::format("{} needs {}'at_least' or 'at_most', or 'about' and 'within'",
                                     what, type == ValueType::kBytes ? "'exactly', " : ""));
      return std::nullopt;
    }
    if (about) {
      const auto middle = amount(*about, type);
      const auto width = middle ? width_of(*within, *middle, type) : std::nullopt;
      if (!width) return std::nullopt;
      bounds = {*middle - *width, *middle > kMaxBound - *width ? kMaxBound : *middle + *width};
    }
    return narrowed(bounds, least, most, map.place(),
                    [&](const YamlValue& end) { return amount(end, type); });
  }

  // Returns the allowed distance from `middle`: a share of `middle`, or a value of the same type.
  std::optional<std::int64_t> width_of(const YamlValue& value, std::int64_t middle,
                                       ValueType type) {
    if (!value.is_scalar() || value.text().find('%') == std::string_view::npos) {
      return amount(value, type);
    }
    const std::optional<std::int64_t> share = share_of(value);
    if (!share) return std::nullopt;
    const std::int64_t whole = models::kWholeShare;
    return middle / whole * *share + middle % whole * *share / whole;
  }

  template <typename Read>
  std::optional<Bounds> narrowed(Bounds bounds, const std::optional<YamlValue>& least,
                                 const std::optional<YamlValue>& most, models::Place place,
                                 const Read& read) {
    if (least) {
      const std::optional<std::int64_t> value = read(*least);
      if (!value) return std::nullopt;
      bounds.least = std::max(bounds.least, *value);
    }
    if (most) {
      const std::optional<std::int64_t> value = read(*most);
      if (!value) return std::nullopt;
      bounds.most = std::min(bounds.most, *value);
    }
    if (bounds.least <= bounds.most) return bounds;
    diagnostics_.error(place, models::Code::kExpectation, "no value is within these bounds");
    return std::nullopt;
  }

  // ---- Shares: "12.5%", in millionths

  std::optional<std::int64_t> share_of(const YamlValue& value) {
    const std::optional<std::int64_t> share = parse_share(value.text());
    if (share) return share;
    diagnostics_
        .error(value.place(), models::Code::kOutOfRange,
               fmt::format("expected a share from 0% to 100%, found {}", value.described()))
        .notes.emplace_back("write 20% or 12.5%; four decimals at most");
    return std::nullopt;
  }

  static std::optional<std::int64_t> parse_share(std::string_view text) {
    if (text.empty() || text.back() != '%') return std::nullopt;
    text.remove_suffix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    constexpr std::size_t kDecimals = 4;
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string digits(text.substr(0, point));
    std::string decimals(text.substr(std::min(point + 1, text.size())));
    const bool good = !digits.empty() && digits.size() <= 3 && decimals.size() <= kDecimals &&
                      (point == text.size() || !decimals.empty());
    if (!good) return std::nullopt;
    decimals.resize(kDecimals, '0');
    digits += decimals;
    std::int64_t share = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, problem] = std::from_chars(digits.data(), end, share);
    const bool number = problem == std::errc() && stop == end && digits.front() != '-';
    if (!number || share > models::kWholeShare) return std::nullopt;
    return share;
  }

  // ---- Idle: {on: 0..3, at_most: 20%}

  void read_idle(const YamlValue& value) {
    MapReader map(value, keys::kIdle, diagnostics_);
    models::ExpectedIdle idle;
    idle.place = value.place();
    if (!values_.keep(scenario_.graph.ranks, idle.place)) return;
    idle.on = models::RankSet::range(0, scenario_.graph.ranks);
    if (const auto on = map.take("on")) idle.on = values_.rank_set(*on).value_or(idle.on);
    if (const auto together = map.take("together")) {
      idle.together = values_.truth(*together).value_or(false);
    }
    const auto least = map.take("at_least");
    const auto most = map.take("at_most");
    map.finish();
    if (!least && !most) {
      if (value.is_map()) {
        diagnostics_.error(map.place(), models::Code::kExpectation,
                           "'idle' needs 'at_least' or 'at_most'");
      }
      return;
    }
    const auto bounds = narrowed(Bounds(), least, most, map.place(),
                                 [&](const YamlValue& end) { return share_of(end); });
    if (!bounds) return;
    idle.share = *bounds;
    expectation_.idle.push_back(std::move(idle));
  }

  // ---- Memory: 3GiB, or {on: 0..3, reserved: on} with `exactly` or bounds

  void read_memory(const YamlValue& value) {
    const std::optional<YamlValue> picked = values_.resolved(value);
    if (!picked || picked->is_null()) return;
    models::ExpectedMemory memory;
    memory.place = picked->place();
    if (!values_.keep(scenario_.graph.ranks, memory.place)) return;
    memory.on = models::RankSet::range(0, scenario_.graph.ranks);
    const std::optional<Bounds> bytes =
        picked->is_map() ? memory_bounds(*picked, memory) : exact_bytes(*picked);
    if (!bytes) return;
    memory.bytes = *bytes;
    expectation_.memory.push_back(std::move(memory));
  }

  std::optional<Bounds> exact_bytes(const YamlValue& value) {
    const auto bytes = amount(value, ValueType::kBytes);
    return bytes ? std::optional(Bounds::exactly(*bytes)) : std::nullopt;
  }

  // Reads the bounds of a size. Stores the place of an exact size, because --update rewrites the
  // size there.
  std::optional<Bounds> memory_bounds(const YamlValue& value, models::ExpectedMemory& memory) {
    MapReader map(value, keys::kMemoryBounds, diagnostics_);
    if (const auto on = map.take("on")) memory.on = values_.rank_set(*on).value_or(memory.on);
    if (memory.on.empty())
      diagnostics_.error(map.place(), models::Code::kExpectation, "'memory' selects no rank");
    if (const auto reserved = map.take("reserved")) {
      memory.reserved = values_.truth(*reserved).value_or(false);
    }
    const auto exactly = map.take("exactly");
    if (!exactly) return bounds_of(map, ValueType::kBytes, "'memory'", "{about: 3GiB, within: 1%}");
    map.finish();
    memory.place = exactly->place();
    return exact_bytes(*exactly);
  }

  // ---- Names of actors on the cycle, and of ops in order
  //
  // An unknown name is not an error: whether an actor exists can depend on the parameters.

  void read_through(const YamlValue& through) {
    for (const YamlValue& item :
         through.is_list() ? through.items() : std::vector<YamlValue>{through}) {
      std::optional<std::string> name = values_.word(item);
      if (name) expectation_.cycle_through.push_back({item.place(), std::move(*name)});
    }
  }

  void read_orders(const YamlValue& value) {
    if (!value.is_list()) {
      diagnostics_.error(
          value.place(), models::Code::kWrongType,
          fmt::format("'order' must be a list of ops, [a#1, b#1], found {}", value.described()));
      return;
    }
    const std::vector<YamlValue> items = value.items();
    const bool several = !items.empty() && items.front().is_list();
    if (!several) read_order(items);
    for (const YamlValue& item : several ? items : std::vector<YamlValue>()) {
      if (item.is_list()) {
        read_order(item.items());
      } else {
        diagnostics_.error(item.place(), models::Code::kWrongType,
                           fmt::format("expected a list of ops, found {}", item.described()));
      }
    }
  }

  void read_order(const std::vector<YamlValue>& items) {
    std::vector<ExpectedOp> ops;
    for (const YamlValue& item : items) {
      std::optional<ExpectedOp> op = read_op(item);
      if (!op) return;
      ops.push_back(std::move(*op));
    }
    const auto names = [](const ExpectedOp& op) { return op.rank.has_value(); };
    if (!ops.empty() && !ops.front().rank && std::any_of(ops.begin(), ops.end(), names)) {
      diagnostics_.error(ops.front().place, models::Code::kExpectation,
                         "either all ops name a rank, or none does");
      return;
    }
    if (!ops.empty()) expectation_.order.push_back(std::move(ops));
  }

  // Reads "a#1", or "rank 0 a#1" as in reports.
  std::optional<ExpectedOp> read_op(const YamlValue& value) {
    ExpectedOp op;
    op.place = value.place();
    const std::optional<std::string> word = values_.word(value);
    if (!word) return std::nullopt;
    std::string_view text = *word;
    constexpr std::string_view kRank = "rank ";
    const std::size_t end = text.find(' ', kRank.size());
    if (text.starts_with(kRank) && end != std::string_view::npos) {
      op.rank = models::whole_number<std::uint32_t>(text.substr(kRank.size(), end - kRank.size()));
      if (op.rank) text.remove_prefix(end + 1);
    }
    const std::size_t hash = text.rfind('#');
    const auto number = hash == std::string_view::npos || hash == 0
                            ? std::nullopt
                            : models::whole_number<std::uint32_t>(text.substr(hash + 1));
    op.number = number.value_or(0);
    if (op.number == 0) {
      diagnostics_
          .error(value.place(), models::Code::kWrongType,
                 fmt::format("expected an op, found {}", value.described()))
          .notes.emplace_back("write name#1 or rank 0 name#1; ops count from 1");
      return std::nullopt;
    }
    if (op.rank && *op.rank >= scenario_.graph.ranks) {
      diagnostics_.error(value.place(), models::Code::kUnknownRank,
                         fmt::format("there is no rank {}: ranks are 0 to {}", *op.rank,
                                     scenario_.graph.ranks - 1));
      return std::nullopt;
    }
    op.name = text.substr(0, hash);
    return op;
  }

  static constexpr std::int64_t kMaxBound = std::numeric_limits<std::int64_t>::max();

  const ValueReader& values_;
  Diagnostics& diagnostics_;
  Scenario& scenario_;
  Expectation expectation_;
};

}  // namespace

void read_expectations(const YamlValue& value, const ValueReader& values, Scenario& scenario) {
  const std::vector<YamlValue> items =
      value.is_list() ? value.items() : std::vector<YamlValue>{value};
  for (const YamlValue& item : items) {
    scenario.expectations.push_back(ExpectationReader(values, scenario).read(item));
  }
}

}  // namespace pipesim::formats
