#include "viz/report/json_report.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/graph/rank_set.hpp"
#include "models/report_schema.hpp"
#include "models/result/expectation.hpp"
#include "models/result/jitter.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using Json = nlohmann::ordered_json;
using models::Explanation;
using models::OpInfo;
using models::Wait;
using models::WaitParty;
using sim::WaitNodeKind;

Json op_json(const OpInfo& op) {
  Json json = {{"rank", op.rank}, {"op", op.name}, {"act", op.number}};
  if (!op.recorded_name.empty()) json["name"] = op.recorded_name;
  if (!op.call_name.empty()) json["call"] = op.call_name;
  if (op.micro_batch > 0) json["micro_batch"] = op.micro_batch;
  json["stream"] = op.stream;
  json["thread"] = op.thread;
  if (!op.at.empty()) json["at"] = op.at;
  if (!op.statement.empty()) json["statement"] = op.statement;
  json["state"] = stage_name(op.stage);
  if (op.stage == models::OpStage::kEntered) json["blocked"] = stage_text(op);
  return json;
}

Json party_json(const WaitParty& party) {
  switch (party.kind) {
    case WaitNodeKind::kOp: {
      Json json = {{"rank", party.rank}, {"op", party.op.name}, {"act", party.op.number}};
      if (!party.op.call_name.empty()) json["call"] = party.op.call_name;
      return json;
    }
    case WaitNodeKind::kRank:
      return {{"rank", party.rank}};
    case WaitNodeKind::kOutside:
      break;
  }
  return {{"outside", true}};
}

Json wait_json(const Wait& wait) {
  Json json = op_json(wait.from.op);
  json["waits"] = sim::facts(wait.kind).name;
  if (!wait.reg.empty()) {
    json["register"] = wait.reg;
    json["control"] = wait.control;
  }
  if (!wait.lock.empty()) {
    json["lock"] = wait.lock;
    json["holder"] = wait.holder;
  }
  if (wait.any) json["any"] = true;
  if (!wait.link.empty()) json["link"] = wait.link;
  json["for"] = party_json(wait.to);
  if (wait.needed) {
    json["needs"] = {
        {"rank", wait.needed->rank}, {"op", wait.needed->name}, {"act", wait.needed->number}};
  }
  return json;
}

const char* device_name(const models::RankReport& rank, sim::Verdict verdict) {
  if (rank.dead) return "dead";
  if (verdict == sim::Verdict::kCompleted) return "done";
  if (verdict == sim::Verdict::kLimit) return "not at rest";
  return rank.spins ? "spinning" : "idle";
}

Json rank_json(const models::RankReport& rank, sim::Verdict verdict) {
  Json json = {{"rank", rank.rank}, {"device", device_name(rank, verdict)}};
  if (rank.finish_ns) json["finish_ns"] = *rank.finish_ns;
  json["progress"] = Json::array();
  for (const models::Progress& progress : rank.progress) {
    Json item = {{"what", progress.what}, {"done", progress.done}, {"expected", progress.expected}};
    if (progress.stuck) item["at"] = op_json(*progress.stuck);
    json["progress"].push_back(std::move(item));
  }
  json["threads"] = Json::array();
  for (const models::ThreadReport& thread : rank.threads) {
    Json item = {{"name", thread.name}, {"finished", thread.finished}, {"blocked", thread.blocked}};
    if (thread.at) item["at"] = op_json(*thread.at);
    json["threads"].push_back(std::move(item));
  }
  json["actors"] = Json::array();
  for (const models::ActorCounts& actor : rank.actors) {
    json["actors"].push_back({{"name", actor.name},
                              {"entered", actor.entered},
                              {"launched", actor.launched},
                              {"started", actor.started},
                              {"done", actor.done},
                              {"expected", actor.expected}});
  }
  return json;
}

Json root_json(const models::Root& root) {
  Json json = party_json(root.party);
  json["kind"] = models::cause_name(models::cause_of(root));
  json["waiting_acts"] = root.waiting;
  if (!root.communicator.empty()) {
    json["communicator"] = root.communicator;
    json["calls_made"] = root.made;
    json["calls_of_others"] = root.others_made;
  }
  if (root.missing) json["missing"] = op_json(*root.missing);
  json["first"] = wait_json(root.first);
  return json;
}

Json peer_error_json(const models::PeerError& error) {
  using Kind = models::PeerError::Kind;
  Json json = {{"rank", error.rank},
               {"error", error.kind == Kind::kAborts   ? "aborts"
                         : error.kind == Kind::kRaises ? "raises"
                                                       : "may raise"},
               {"in", op_json(error.in)}};
  if (error.kind != Kind::kAborts) json["peer"] = error.peer;
  return json;
}

Json death_json(const models::DeathReport& death) {
  Json json = {{"rank", death.rank},
               {"time_ns", death.time_ns},
               {"cause", death_name(death.cause)},
               {"after_rest", death.after_quiescence}};
  if (!death.what.empty()) json["what"] = death.what;
  if (death.in) json["in"] = op_json(*death.in);
  return json;
}

Json pipeline_rank_json(const models::PipelineReport& pipeline, std::size_t i) {
  const models::PipelineRank& rank = pipeline.ranks[i];
  Json item = {{"rank", i}, {"busy_ns", rank.busy_ns}, {"idle_ns", rank.idle.all()}};
  item["idle"] = {{"start_ns", rank.idle.start_ns},       {"input_ns", rank.idle.input_ns},
                  {"gradient_ns", rank.idle.gradient_ns}, {"message_ns", rank.idle.message_ns},
                  {"host_ns", rank.idle.host_ns},         {"finished_ns", rank.idle.finished_ns}};
  item["peak_activations"] = rank.peak_activations;
  if (pipeline.has_memory) item["peak_bytes"] = rank.peak_bytes;
  return item;
}

Json memory_rank_json(const models::MemoryReport& memory, std::size_t i) {
  return {{"rank", i},
          {"held_bytes", memory[i].held},
          {"reserved_bytes", memory[i].reserved},
          {"peak_bytes", memory[i].peak},
          {"peak_ns", memory[i].peak_ns}};
}

// Returns runs of ranks as [first, last, step].
Json runs_json(const std::vector<std::uint32_t>& ranks) {
  Json runs = Json::array();
  for (const models::RankRun& run : models::runs_of(ranks)) {
    runs.push_back({run.first, run.last, run.step});
  }
  return runs;
}

// JSON items with a rank; items that differ only in the rank are merged.
class Classes {
 public:
  /// `alike`: the ranks that this item represents.
  void add(Json item, const models::RankSet& alike) {
    const auto [known, is_new] = known_.try_emplace(key_of(item), ranks_.size());
    if (is_new) {
      ranks_.emplace_back();
      items_.push_back(std::move(item));
    }
    std::vector<std::uint32_t>& ranks = ranks_[known->second];
    ranks.insert(ranks.end(), alike.begin(), alike.end());
  }

  /// Returns the items in the order of their first ranks, each with all of its ranks.
  std::vector<Json> finish() {
    std::vector<Json> result;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      std::sort(ranks_[i].begin(), ranks_[i].end());
      Json item = {{"rank", items_[i]["rank"]}, {"ranks", runs_json(ranks_[i])}};
      for (auto& [key, value] : items_[i].items()) {
        if (key != "rank") item[key] = std::move(value);
      }
      result.push_back(std::move(item));
    }
    return result;
  }

 private:
  // Returns the item as text, without its rank and the ranks of its ops: equal items have equal
  // keys.
  static std::string key_of(Json item) {
    item.erase("rank");
    for (const char* list : {"progress", "threads"}) {
      if (!item.contains(list)) continue;
      for (Json& each : item[list]) {
        if (each.contains("at")) each["at"].erase("rank");
      }
    }
    return item.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  std::map<std::string, std::size_t> known_;
  std::vector<Json> items_;
  std::vector<std::vector<std::uint32_t>> ranks_;
};

models::RankSet alone(std::size_t rank) {
  return models::RankSet({static_cast<std::uint32_t>(rank)});
}

// Returns a JSON array with one item per rank, or per class.
template <typename ToJson>
Json each_rank(std::size_t count, bool by_class, const ToJson& to_json) {
  Json json = Json::array();
  Classes classes;
  for (std::size_t i = 0; i < count; ++i) {
    if (by_class) {
      classes.add(to_json(i), alone(i));
    } else {
      json.push_back(to_json(i));
    }
  }
  for (Json& item : classes.finish()) json.push_back(std::move(item));
  return json;
}

Json pipeline_json(const models::PipelineReport& pipeline, bool by_class) {
  Json json = {{"makespan_ns", pipeline.makespan_ns}};
  json["ranks"] = each_rank(pipeline.ranks.size(), by_class,
                            [&](std::size_t i) { return pipeline_rank_json(pipeline, i); });
  return json;
}

Json memory_json(const models::MemoryReport& memory, bool by_class) {
  return {{"ranks", each_rank(memory.size(), by_class,
                              [&](std::size_t i) { return memory_rank_json(memory, i); })}};
}

Json remedy_json(const models::Remedy& remedy) {
  if (remedy.kind == models::Remedy::Kind::kStream) {
    return {{"change", "stream"},
            {"op", remedy.op},
            {"from", remedy.from_stream},
            {"to", remedy.to_stream}};
  }
  return {{"change", "slots"},
          {"op", remedy.op},
          {"register", remedy.reg},
          {"from", remedy.slots_before},
          {"to", remedy.slots}};
}

Json sides_json(const std::vector<models::CallOfRanks>& sides) {
  Json json = Json::array();
  for (const models::CallOfRanks& side : sides) {
    Json item = {{"ranks", side.ranks}};
    if (!side.call.empty()) item["call"] = side.call;
    item["at"] = side.at;
    if (!side.lines.empty()) item["lines"] = side.lines;
    json.push_back(std::move(item));
  }
  return json;
}

Json difference_json(const models::FirstDifference& difference) {
  Json json = {{"group", difference.group},
               {"number", difference.number},
               {"mismatch", difference.mismatch},
               {"sides", sides_json(difference.sides)}};
  if (!difference.there.empty()) json["mismatch_sides"] = sides_json(difference.there);
  return json;
}

// Formats JSON. Names from a file can be invalid UTF-8, which must not make the report fail.
std::string dumped(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace);
}

// A JSON object whose large arrays are written item by item. A tree of values for all ranks of a
// large job would need ten times the memory of the text.
class ObjectText {
 public:
  explicit ObjectText(const Json& first_members) : text_(dumped(first_members)) {
    text_.resize(text_.size() - std::string_view("\n}").size());
  }

  void add(const char* key, const Json& value) {
    begin(key);
    append(dumped(value), "\n  ");
  }

  template <typename Items, typename ToJson>
  void add_each(const char* key, const Items& items, const ToJson& to_json) {
    begin(key);
    if (items.empty()) {
      text_ += "[]";
      return;
    }
    const char* separator = "[";
    for (const auto& item : items) {
      text_ += separator;
      append("\n" + dumped(to_json(item)), "\n    ");
      separator = ",";
    }
    text_ += "\n  ]";
  }

  std::string finish() { return std::move(text_) + "\n}\n"; }

 private:
  void begin(const char* key) {
    text_ += ",\n  \"";
    text_ += key;
    text_ += "\": ";
  }

  // Appends `json`, with `line_end` instead of each line end. Line ends occur only between values,
  // because strings escape line ends.
  void append(std::string_view json, const char* line_end) {
    for (std::size_t end = json.find('\n'); end != std::string_view::npos; end = json.find('\n')) {
      text_ += json.substr(0, end);
      text_ += line_end;
      json.remove_prefix(end + 1);
    }
    text_ += json;
  }

  std::string text_;
};

void add_ranks(ObjectText& text, const Report& report, bool by_class) {
  const Explanation& explanation = report.explanation;
  const auto of_rank = [&](const models::RankReport& rank) {
    return rank_json(rank, explanation.verdict);
  };
  if (by_class) {
    Classes classes;
    for (std::size_t i = 0; i < explanation.ranks.size(); ++i) {
      const models::RankReport& rank = explanation.ranks[i];
      classes.add(of_rank(rank), report.alike.empty() ? alone(rank.rank) : report.alike[i]);
    }
    text.add_each("ranks", classes.finish(), [](const Json& item) { return item; });
  } else {
    text.add_each("ranks", explanation.ranks, of_rank);
  }
}

void add_cycles(const Explanation& explanation, Json& json) {
  json["cycle"] = Json::array();
  for (const Wait& wait : explanation.cycle) json["cycle"].push_back(wait_json(wait));
  json["cycle_is_shortest"] = explanation.cycle_is_shortest;
  json["cycle_groups"] = explanation.cycle_groups;
  if (!explanation.other_cycles.empty()) {
    json["other_cycles"] = Json::array();
    for (const std::vector<Wait>& cycle : explanation.other_cycles) {
      Json waits = Json::array();
      for (const Wait& wait : cycle) waits.push_back(wait_json(wait));
      json["other_cycles"].push_back(std::move(waits));
    }
  }
  if (!explanation.cycle_classes.empty()) {
    json["cycle_classes"] = Json::array();
    for (const models::CycleClass& it : explanation.cycle_classes) {
      json["cycle_classes"].push_back(
          {{"count", it.ranks.size()}, {"waits", it.first.size()}, {"ranks", it.ranks.front()}});
    }
  }
}

// Adds the calls that differ, and the errors and ends of ranks.
void add_failures(const Explanation& explanation, Json& json) {
  json["mismatches"] = Json::array();
  for (const models::Misfit& misfit : explanation.mismatches) {
    json["mismatches"].push_back({{"kind", misfit.message ? "message" : "collective"},
                                  {"first", op_json(misfit.first)},
                                  {"second", op_json(misfit.second)},
                                  {"ranks", misfit.ranks},
                                  {"differences", misfit.differences}});
    if (!misfit.other_side.empty()) json["mismatches"].back()["other_side"] = misfit.other_side;
  }
  if (!explanation.device_errors.empty()) {
    json["device_errors"] = Json::array();
    for (const models::DeviceErrorReport& error : explanation.device_errors) {
      json["device_errors"].push_back({{"rank", error.rank},
                                       {"time_ns", error.time_ns},
                                       {"what", error.what},
                                       {"in", op_json(error.in)}});
    }
  }
  if (!explanation.deaths.empty()) {
    json["deaths"] = Json::array();
    for (const models::DeathReport& death : explanation.deaths) {
      json["deaths"].push_back(death_json(death));
    }
  }
  if (!explanation.peer_errors.empty()) {
    json["peer_errors"] = Json::array();
    for (const models::PeerError& error : explanation.peer_errors) {
      json["peer_errors"].push_back(peer_error_json(error));
    }
  }
}

}  // namespace

std::string json_report(const Report& report, bool by_class) {
  const Explanation& explanation = report.explanation;
  Json json = {{"schema", models::kReportSchema}};
  if (!report.made_by.empty()) json["made_by"] = report.made_by;
  json.update({{"scenario", report.graph.name},
               {"verdict", models::verdict_name(explanation.verdict)},
               {"cause", models::cause_name(explanation.cause)},
               {"time_ns", explanation.time_ns},
               {"fingerprint", fingerprint_text(explanation.fingerprint)},
               {"acts", {{"done", explanation.ops_done}, {"expected", explanation.ops_expected}}}});
  if (const models::FirstDifference* difference = shown_difference(report)) {
    json["first_difference"] = difference_json(*difference);
  }
  if (models::has_nccl_modes(report.graph)) {
    json["reading"] = models::nccl_mode_name(report.graph.nccl_mode);
  }
  if (const models::ProcessGroups& groups = report.graph.process_groups;
      !groups.backend.empty() || groups.device_id) {
    json["backend"] = groups.backend.empty() ? Json() : Json(groups.backend);
    json["device_id"] = groups.device_id;
  }
  if (report.jitter.varies()) {
    json["jitter"] = models::jitter_text(report.jitter);
    json["seed"] = report.jitter.seed;
  }
  add_cycles(explanation, json);
  if (const auto lines = unmeasured_lines(explanation); !lines.empty()) json["unmeasured"] = lines;
  json["roots"] = Json::array();
  for (const models::Root& root : explanation.roots) json["roots"].push_back(root_json(root));
  add_failures(explanation, json);
  json["collateral"] = {{"acts", explanation.collateral},
                        {"by_distance", explanation.collateral_by_distance}};
  json["remedies"] = Json::array();
  for (const models::Remedy& remedy : report.remedies) {
    json["remedies"].push_back(remedy_json(remedy));
  }
  ObjectText text(json);
  add_ranks(text, report, by_class);
  if (report.pipeline) text.add("schedule", pipeline_json(*report.pipeline, by_class));
  if (report.memory) text.add("memory", memory_json(*report.memory, by_class));
  if (!report.all_waits.empty()) text.add_each("waits", report.all_waits, wait_json);
  return text.finish();
}

std::string why_json(const models::Explanation& explanation, const models::Why& why) {
  Json json = {{"schema", models::kReportSchema},
               {"verdict", models::verdict_name(explanation.verdict)},
               {"time_ns", explanation.time_ns},
               {"act", op_json(why.op)}};
  if (why.times) {
    json["launch_ns"] = why.times->launch.ns;
    json["start_ns"] = why.times->start.ns;
    json["end_ns"] = why.times->end.ns;
  }
  if (why.earlier) json["earlier"] = op_json(*why.earlier);
  if (why.host_at) json["host_at"] = op_json(*why.host_at);
  json["chain"] = Json::array();
  for (const Wait& wait : why.chain) json["chain"].push_back(wait_json(wait));
  json["circle"] = Json::array();
  for (const Wait& wait : why.cycle) json["circle"].push_back(wait_json(wait));
  return dumped(json) + "\n";
}

}  // namespace pipesim::viz
