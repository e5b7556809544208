#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "formats/document/map_reader.hpp"
#include "formats/scenario/field_reader.hpp"
#include "formats/scenario/keys.hpp"
#include "formats/scenario/section_readers.hpp"
#include "models/graph/by_name.hpp"

namespace pipesim::formats {
namespace {

using models::Faults;
using models::kNoIndex;

class FaultReader {
 public:
  FaultReader(const ValueReader& values, models::TaskGraph& graph)
      : values_(values), graph_(graph), diagnostics_(values.diagnostics()) {}

  void read(const YamlValue& value);

 private:
  void read_fault(const YamlValue& value);
  void read_rank_fault(MapReader& map, const YamlValue& ranks);
  bool read_op(const YamlValue& value, models::RankFault& fault);
  void read_link_fault(MapReader& map);
  void read_port_fault(MapReader& map);
  void read_denied_fault(MapReader& map);
  bool needs_cluster(models::Place place);

  const ValueReader& values_;
  models::TaskGraph& graph_;
  models::Diagnostics& diagnostics_;
  FieldReader fields_{values_, graph_};
};

void FaultReader::read(const YamlValue& value) {
  if (!value.is_list()) {
    diagnostics_.error(value.place(), models::Code::kWrongType,
                       fmt::format("'faults' must be a list, found {}", value.described()));
    return;
  }
  for (const YamlValue& item : value.items()) {
    const std::optional<YamlValue> picked = values_.resolved(item);
    if (picked && !picked->is_null()) read_fault(*picked);
  }
}

void FaultReader::read_fault(const YamlValue& value) {
  const KeyTable* table = table_with_head(value, keys::faults());
  if (value.is_map() && table == nullptr) {
    diagnostics_.error(value.place(), models::Code::kFault,
                       "a fault needs 'rank', 'link', 'port' or 'communicator'");
    return;
  }
  MapReader map(value, table == nullptr ? keys::kRankFault : *table, diagnostics_);
  map.take_text("about");
  const auto when = map.take("when");
  const bool happens = !when || values_.truth(*when).value_or(true);
  Faults kept;
  if (!happens) kept = graph_.faults;
  if (const auto ranks = map.take("rank")) {
    read_rank_fault(map, *ranks);
  } else if (map.has("link")) {
    read_link_fault(map);
  } else if (map.has("port")) {
    read_port_fault(map);
  } else if (map.has("communicator")) {
    read_denied_fault(map);
  }
  map.finish();
  if (!happens) graph_.faults = std::move(kept);
}

bool FaultReader::needs_cluster(models::Place place) {
  if (graph_.cluster || diagnostics_.has_errors()) return !graph_.cluster;
  diagnostics_.error(place, models::Code::kNoCluster, "this fault needs a 'cluster'")
      .notes.emplace_back("'cluster: {hosts: 2}' has the usual links");
  return true;
}

void FaultReader::read_rank_fault(MapReader& map, const YamlValue& ranks) {
  models::RankFault fault;
  fault.place = map.place();
  const std::optional<models::RankSet> on = values_.rank_set(ranks);
  if (on) fault.ranks = *on;
  const auto fails = map.take("fails");
  fault.device_error = fails.has_value();
  const auto what = fails ? fails : map.take("dies");
  if (!what || !what->is_scalar()) {
    diagnostics_.error(map.place(), models::Code::kFault,
                       "a fault of a rank needs 'dies', as in 'dies: segfault', or 'fails', as in "
                       "'fails: illegal memory access'");
  } else {
    fault.what = what->text();
  }
  const auto at = map.take("at");
  const auto op = map.take("act");
  if (at.has_value() == op.has_value() || (fault.device_error && at)) {
    diagnostics_.error(
        map.place(), models::Code::kFault,
        fault.device_error
            ? "a device error needs the op that ends in it: 'act: backward#3'"
            : "a rank that dies needs a time or an op: 'at: 5s' or 'act: forward#3'");
    return;
  }
  if (at) {
    fault.at = values_.expr(*at, ValueType::kTime);
    if (!fault.at) return;
  } else if (!read_op(*op, fault)) {
    return;
  }
  if (on) graph_.faults.ranks.push_back(std::move(fault));
}

// Reads an op such as "forward#3"; "forward" means the first op.
bool FaultReader::read_op(const YamlValue& value, models::RankFault& fault) {
  const std::optional<std::string> text = values_.word(value);
  if (!text) return false;
  const std::size_t hash = text->rfind('#');
  const std::string name = text->substr(0, hash);
  std::uint32_t op = 1;
  if (hash != std::string::npos) {
    const char* const end = text->data() + text->size();
    const auto [rest, error] = std::from_chars(text->data() + hash + 1, end, op);
    if (error != std::errc() || rest != end || op == 0) {
      diagnostics_.error(value.place(), models::Code::kFault,
                         "expected an op as name#k, counted from 1, as in forward#3");
      return false;
    }
  }
  // The number of executions is not known yet; lowering reports an op beyond the last.
  for (fault.actor = 0; fault.actor < graph_.actors.size(); ++fault.actor) {
    fault.op = models::find_op(graph_.actors[fault.actor], models::kNoIndex, {name, op});
    if (fault.op != models::kNoIndex) return true;
  }
  fault.actor = models::kNoIndex;
  models::Diagnostic& error = diagnostics_.error(value.place(), models::Code::kUnknownActor,
                                                 fmt::format("unknown actor or step '{}'", name));
  models::suggest_name(error, name, names_of(graph_.actors));
  return false;
}

void FaultReader::read_link_fault(MapReader& map) {
  models::LinkFault fault;
  fault.place = map.place();
  const auto hosts = map.take("hosts");
  fields_.read(map, fault);
  if (!map.has("slower") && !map.has("down")) {
    diagnostics_.error(map.place(), models::Code::kFault,
                       "a fault of a link needs 'down', the time when it fails, or 'slower': "
                       "'down: 0s', 'slower: 10'");
  }
  if (needs_cluster(map.place_of("link")) || fault.link == kNoIndex) return;
  if (hosts) {
    if (!hosts->is_list() || hosts->items().size() != 2) {
      diagnostics_.error(hosts->place(), models::Code::kWrongType,
                         fmt::format("'hosts' must be a list of two hosts, found {}",
                                     hosts->is_list() ? std::to_string(hosts->items().size())
                                                      : hosts->described()));
      return;
    }
    const std::uint32_t first = read_host(hosts->items()[0], values_, *graph_.cluster);
    const std::uint32_t second = read_host(hosts->items()[1], values_, *graph_.cluster);
    if (first == kNoIndex || second == kNoIndex) return;
    fault.hosts.emplace(first, second);
  }
  graph_.faults.links.push_back(std::move(fault));
}

void FaultReader::read_port_fault(MapReader& map) {
  models::PortFault fault;
  fault.place = map.place();
  fields_.read(map, fault);
  if (needs_cluster(map.place_of("port")) || fault.host == kNoIndex) return;
  graph_.faults.ports.push_back(fault);
}

void FaultReader::read_denied_fault(MapReader& map) {
  models::DeniedFault fault;
  fault.place = map.place();
  fields_.read(map, fault);
  if (fault.communicator != kNoIndex) graph_.faults.denied.push_back(std::move(fault));
}

}  // namespace

void read_faults(const YamlValue& value, const ValueReader& values, models::TaskGraph& graph) {
  FaultReader(values, graph).read(value);
}

void read_timeouts(const YamlValue& value, const ValueReader& values, models::TaskGraph& graph) {
  MapReader map(value, keys::kTimeouts, values.diagnostics());
  FieldReader(values, graph).read(map, graph.timeouts);
  map.finish();
}

std::uint32_t read_host(const YamlValue& value, const ValueReader& values,
                        const models::Cluster& cluster) {
  models::Diagnostics& diagnostics = values.diagnostics();
  const std::optional<YamlValue> picked = values.resolved(value);
  if (!picked) return kNoIndex;
  if (picked->is_scalar()) {
    const auto found = std::find(cluster.hosts.begin(), cluster.hosts.end(), picked->text());
    if (found != cluster.hosts.end()) {
      return static_cast<std::uint32_t>(found - cluster.hosts.begin());
    }
    const std::string text(picked->text());
    const bool is_number =
        !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number && text.find_first_of("+-*/( $") == std::string::npos) {
      models::Diagnostic& error = diagnostics.error(picked->place(), models::Code::kUnknownHost,
                                                    fmt::format("unknown host '{}'", text));
      models::suggest_name(error, text, cluster.hosts);
      return kNoIndex;
    }
  }
  const std::optional<std::int64_t> number = values.constant(*picked, ValueType::kNumber);
  if (!number) return kNoIndex;
  if (*number >= 0 && *number < static_cast<std::int64_t>(cluster.hosts.size())) {
    return static_cast<std::uint32_t>(*number);
  }
  diagnostics.error(picked->place(), models::Code::kUnknownHost,
                    fmt::format("the cluster has the hosts 0 to {}, found {}",
                                cluster.hosts.size() - 1, *number));
  return kNoIndex;
}

}  // namespace pipesim::formats
