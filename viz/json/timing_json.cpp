#include "viz/json/timing_json.hpp"

#include <nlohmann/json.hpp>

#include "models/report_schema.hpp"

namespace pipesim::viz {
namespace {

using TimingJson = nlohmann::ordered_json;

TimingJson sums_json(const models::AlgoTiming& timing) {
  const PathSums sums = path_sums(timing);
  return {{"messages", sums.messages},
          {"latency_ns", sums.latency_ns},
          {"transfer_ns", sums.transfer_ns},
          {"work_ns", sums.work_ns}};
}

TimingJson path_json(const TimingView& view) {
  TimingJson json = TimingJson::array();
  for (const models::AlgoPathPart& part : view.timing.path) {
    const models::AlgoStep& step =
        view.algorithm.ranks[part.rank].blocks[part.block].steps[part.step];
    TimingJson row = {{"rank", part.rank},
                      {"thread_block", part.block},
                      {"step", part.step},
                      {"line", step.place.line},
                      {"round", part.round + 1},
                      {"from", part.from},
                      {"to", part.to}};
    if (part.over_link) row["link"] = view.cluster.links[part.link].name;
    row["bytes"] = part.bytes;
    row["begin_ns"] = part.begin_ns;
    row["latency_ns"] = part.latency_ns;
    row["busy_ns"] = part.busy_ns;
    row["after"] = cause_words(part.cause);
    json.push_back(std::move(row));
  }
  return json;
}

std::string timing_dump(const TimingJson& json) {
  return json.dump(2, ' ', true, TimingJson::error_handler_t::replace) + "\n";
}

}  // namespace

std::string timing_json(const TimingView& view) {
  const models::AlgoTiming& timing = view.timing;
  TimingJson json = {{"schema", models::kReportSchema},
                     {"algorithm", view.name},
                     {"collective", view.algorithm.collective_name},
                     {"verdict", "completed"},
                     {"ranks", view.algorithm.ranks.size()},
                     {"bytes", view.bytes},
                     {"declared", !view.outside_range},
                     {"chunk_bytes", timing.chunk_bytes},
                     {"rounds", timing.rounds},
                     {"messages", timing.messages},
                     {"makespan_ns", timing.makespan_ns}};
  if (view.slots > 0) json["slots"] = view.slots;
  if (timing.busiest) {
    json["busiest"] = {{"rank", timing.busiest->rank},
                       {"link", view.cluster.links[timing.busiest->link].name},
                       {"receives", timing.busiest->receives},
                       {"bytes", timing.busiest->bytes},
                       {"busy_ns", timing.busiest->busy_ns}};
  }
  json["critical_path"] = sums_json(timing);
  json["critical_path"]["parts"] = path_json(view);
  return timing_dump(json);
}

std::string comparison_json(const TimingComparison& comparison) {
  TimingJson json = {{"schema", models::kReportSchema},
                     {"same", comparison.same()},
                     {"a", comparison.a_name},
                     {"b", comparison.b_name},
                     {"ranks", comparison.a_cluster.host_of_rank.size()},
                     {"sizes", TimingJson::array()}};
  const auto side_json = [](const ComparedSize::Side& side) {
    if (!side.timing) return TimingJson{{"problem", side.why}};
    TimingJson row = {{"makespan_ns", side.timing->makespan_ns},
                      {"declared", !side.outside_range},
                      {"rounds", side.timing->rounds}};
    row["critical_path"] = sums_json(*side.timing);
    return row;
  };
  for (const ComparedSize& size : comparison.sizes) {
    json["sizes"].push_back(
        {{"bytes", size.bytes}, {"a", side_json(size.a)}, {"b", side_json(size.b)}});
  }
  return timing_dump(json);
}

}  // namespace pipesim::viz
