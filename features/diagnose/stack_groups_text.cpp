#include "features/diagnose/stack_groups_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/graph/diagnostics.hpp"
#include "models/report_schema.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/words.hpp"

#include "features/diagnose/next_steps.hpp"

namespace pipesim::viz {
namespace {

using models::StackGroup;
using models::StackVerdict;

constexpr std::size_t kMaxGroups = 20;
constexpr std::size_t kMaxFrames = 8;

// Returns "ranks 0 and 2" or, if the ranks are unknown, "processes 41 and 43".
std::string who_text(const StackReport& report, const std::vector<std::uint32_t>& ranks) {
  std::vector<std::string> names;
  for (const std::uint32_t rank : ranks) {
    const auto name = report.dumps.names.find(rank);
    if (name == report.dumps.names.end()) return ranks_text(ranks);
    names.push_back(name->second);
  }
  constexpr std::size_t kMaxNames = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMaxNames, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > kMaxNames ? text + fmt::format(" and {} more", names.size() - kMaxNames)
                                  : text;
}

// Returns the suggested next step.
std::string next_step(const StackReport& report) {
  switch (report.diagnosis.verdict) {
    case StackVerdict::kStragglers:
      return report.diagnosis.roots.size() == 1
                 ? fmt::format(
                       "look at what {} does there, and dump its stack again: does it move?",
                       who_text(report, report.diagnosis.roots))
                 : fmt::format(
                       "look at what {} do there, and dump their stacks again: do they move?",
                       who_text(report, report.diagnosis.roots));
    case StackVerdict::kAlike:
      if (report.diagnosis.ranks == 1) {
        return "py-spy dump --pid PID, of every rank: which of them do not wait there?";
      }
      [[fallthrough]];
    case StackVerdict::kDifferent:
      return "TORCH_FR_BUFFER_SIZE=2000 (older: TORCH_NCCL_TRACE_BUFFER_SIZE), in the next run: "
             "dumps say which calls each rank made";
    case StackVerdict::kUndecided:
      break;
  }
  return "py-spy dump --native --pid PID, of every rank: frames of NCCL and CUDA show the wait";
}

std::string verdict_line(const StackReport& report, const TextOptions& options) {
  const std::string verdict = upper_case(report.diagnosis.verdict == StackVerdict::kStragglers
                                             ? "stragglers"
                                             : verdict_name(report.diagnosis.verdict));
  const bool found = report.diagnosis.verdict == StackVerdict::kStragglers ||
                     report.diagnosis.verdict == StackVerdict::kDifferent;
  std::string text =
      fmt::format("{}  {}   {}, {}\n", styled(options, ansi::kBold, report.dumps.name),
                  styled(options, found ? ansi::kRed : ansi::kYellow, verdict),
                  counted(report.diagnosis.ranks, "rank"),
                  counted(report.diagnosis.groups.size(), "different stack"));
  for (const std::string& note : report.notes) text += paragraph(note, options.width, 0, 2);
  for (const std::string& note : report.diagnosis.notes) {
    text += paragraph(note, options.width, 0, 2);
  }
  return text;
}

std::string meaning(const StackReport& report) {
  const std::vector<std::uint32_t>& roots = report.diagnosis.roots;
  const std::string who = who_text(report, roots);
  switch (report.diagnosis.verdict) {
    case StackVerdict::kStragglers:
      return fmt::format("\nThe other ranks wait for each other; look first at {}.\n", who);
    case StackVerdict::kDifferent:
      return "\nAll ranks wait, but not in the same place: stacks do not show who waits for "
             "whom.\n";
    case StackVerdict::kAlike:
      return report.diagnosis.ranks == 1
                 ? "\nThis is the stack of one rank; the stacks of the others show who differs.\n"
                 : "\nAll ranks are in the same place: stacks do not show which one is to blame.\n";
    case StackVerdict::kUndecided:
      break;
  }
  return "\nNo rank is seen waiting in a collective.\n";
}

std::string group_text(const StackReport& report, const StackGroup& group,
                       const TextOptions& options) {
  std::string what(place_name(group.place));
  const bool waits =
      group.place != models::WaitPlace::kUnknown && group.place != models::WaitPlace::kFinished;
  if (waits) what = fmt::format("waits {}: {}", what, group.op);
  std::string text =
      fmt::format("\n{}  {}  {}\n", styled(options, ansi::kBold, who_text(report, group.ranks)),
                  group.thread, what);
  const std::size_t shown =
      report.all ? group.frames.size() : std::min(group.frames.size(), kMaxFrames);
  for (std::size_t i = 0; i < shown; ++i) {
    const models::StackFrame& frame = group.frames[i];
    text += fmt::format("    {} ({})\n", frame.function, frame.place);
  }
  if (shown < group.frames.size()) {
    text += fmt::format("    and {} more\n", group.frames.size() - shown);
  }
  for (const std::string& other : group.others) text += paragraph(other, options.width, 4, 6);
  return text;
}

}  // namespace

std::string stack_groups_text(const StackReport& report, const TextOptions& options) {
  std::string text = verdict_line(report, options) + meaning(report);
  const std::vector<StackGroup>& groups = report.diagnosis.groups;
  const std::size_t shown = report.all ? groups.size() : std::min(groups.size(), kMaxGroups);
  for (std::size_t i = 0; i < shown; ++i) text += group_text(report, groups[i], options);
  if (shown < groups.size()) {
    text +=
        fmt::format("\nand {} more (--all lists them)\n", counted(groups.size() - shown, "stack"));
  }
  return text + next_text({next_step(report)}, options);
}

std::string stack_groups_json(const StackReport& report) {
  using Json = nlohmann::ordered_json;
  std::vector<models::OutsideText> all_notes = report.notes;
  all_notes.insert(all_notes.end(), report.diagnosis.notes.begin(), report.diagnosis.notes.end());
  Json json = {{"schema", models::kReportSchema},
               {"evidence", "stacks"},
               {"name", report.dumps.name},
               {"verdict", verdict_name(report.diagnosis.verdict)},
               {"notes", all_notes},
               {"root_ranks", report.diagnosis.roots},
               {"next", {next_step(report)}}};
  for (const auto& [rank, name] : report.dumps.names) {
    json["processes"].push_back({{"counted_as", rank}, {"name", name}});
  }
  json["stacks"] = Json::array();
  for (const StackGroup& group : report.diagnosis.groups) {
    Json item = {{"ranks", group.ranks},
                 {"thread", group.thread},
                 {"waits", place_name(group.place)},
                 {"op", group.op}};
    item["frames"] = Json::array();
    for (const models::StackFrame& frame : group.frames) {
      item["frames"].push_back({{"function", frame.function}, {"place", frame.place}});
    }
    json["stacks"].push_back(std::move(item));
  }
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
