#include "formats/scenario/cluster_reader.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "formats/document/expression.hpp"
#include "formats/document/map_reader.hpp"
#include "formats/scenario/field_reader.hpp"
#include "formats/scenario/keys.hpp"
#include "models/graph/by_name.hpp"

namespace pipesim::formats {

using models::Cluster;
using models::LinkClass;
using models::Place;

namespace {

constexpr std::int64_t kMaxHosts = 1 << 20;

// Returns the index of a link class in `links`; nullopt after an error.
std::optional<std::uint32_t> find_link(const YamlValue& value, const ValueReader& values,
                                       const std::vector<LinkClass>& links) {
  const std::optional<std::string> name = values.word(value);
  if (!name) return std::nullopt;
  const std::uint32_t index = index_of(links, *name);
  if (index != models::kNoIndex) return index;
  const std::vector<std::string> known = models::link_names();
  if (std::find(known.begin(), known.end(), *name) != known.end()) {
    values.diagnostics()
        .error(value.place(), models::Code::kUnknownHost,
               fmt::format("'{}' is not among the links of the cluster", *name))
        .notes.push_back(fmt::format("write '{}: {{}}' there for the usual figures", *name));
  } else {
    models::Diagnostic& error = values.diagnostics().error(
        value.place(), models::Code::kUnknownHost, fmt::format("unknown link class '{}'", *name));
    models::suggest_name(error, *name, known);
  }
  return std::nullopt;
}

std::vector<YamlValue> items_of(const YamlValue& value) {
  return value.is_list() ? value.items() : std::vector<YamlValue>{value};
}

class ClusterReader {
 public:
  ClusterReader(const ValueReader& values, std::uint32_t ranks) : values_(values), ranks_(ranks) {}

  std::optional<Cluster> run(const YamlValue& value);

 private:
  void read_hosts(const YamlValue& value);
  void read_ranks(const YamlValue& value);
  void read_rank_list(const YamlValue& value);
  std::optional<std::uint32_t> read_host(const YamlValue& value);
  void fill_hosts(std::int64_t per_host, Place place);
  void deal_round_robin();
  void count_devices(Place place);
  void read_links(const std::optional<YamlValue>& value);
  void read_link(const YamlValue& value, LinkClass& link);
  std::vector<std::uint32_t> read_list(const std::optional<YamlValue>& value, bool inside_host);
  void read_interfaces(const YamlValue& value);
  void check_links(const YamlValue& value);
  std::int64_t count(const YamlValue& value, const char* key);
  models::Diagnostics& diagnostics() const { return values_.diagnostics(); }

  const ValueReader& values_;
  std::uint32_t ranks_;
  Cluster cluster_;
};

std::optional<Cluster> ClusterReader::run(const YamlValue& value) {
  const std::size_t errors = diagnostics().error_count();
  MapReader map(value, keys::kCluster, diagnostics());
  cluster_.hosts = {"node0"};
  if (const auto hosts = map.take("hosts")) read_hosts(*hosts);
  // Without `devices`, each host has enough devices for an equal share of the ranks.
  const auto host_count = static_cast<std::uint32_t>(cluster_.hosts.size());
  cluster_.devices = (ranks_ + host_count - 1) / host_count;
  if (const auto devices = map.take("devices")) {
    cluster_.devices = static_cast<std::uint32_t>(count(*devices, "devices"));
  }
  const auto ranks = map.take("ranks");
  // After an error in the hosts, the placement of ranks is not checked.
  if (diagnostics().error_count() == errors) {
    if (ranks) {
      read_ranks(*ranks);
    } else {
      fill_hosts(cluster_.devices, value.place());
    }
    if (!cluster_.host_of_rank.empty()) count_devices(ranks ? ranks->place() : value.place());
  }
  read_links(map.take("links"));
  cluster_.inside_host = read_list(map.take("inside_host"), true);
  cluster_.between_hosts = read_list(map.take("between_hosts"), false);
  if (const auto algorithm = map.take("algorithm")) {
    cluster_.algorithm = read_algorithm(*algorithm, values_).value_or(cluster_.algorithm);
  }
  if (const auto interfaces = map.take("interfaces")) read_interfaces(*interfaces);
  map.finish();
  if (diagnostics().error_count() == errors) check_links(value);
  if (diagnostics().error_count() != errors) return std::nullopt;
  return std::move(cluster_);
}

std::int64_t ClusterReader::count(const YamlValue& value, const char* key) {
  return values_.integer(value, key, 1, kMaxHosts).value_or(1);
}

// Reads the number of hosts, or their names.
void ClusterReader::read_hosts(const YamlValue& value) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked) return;
  cluster_.hosts.clear();
  if (!picked->is_list()) {
    const std::int64_t hosts = count(*picked, "hosts");
    for (std::int64_t i = 0; i < hosts; ++i) cluster_.hosts.push_back(fmt::format("node{}", i));
    return;
  }
  for (const YamlValue& item : picked->items()) {
    const std::optional<std::string> name = values_.word(item);
    if (!name) continue;
    const auto known = std::find(cluster_.hosts.begin(), cluster_.hosts.end(), *name);
    if (known != cluster_.hosts.end()) {
      diagnostics().error(item.place(), models::Code::kDuplicateName,
                          fmt::format("duplicate host '{}'", *name));
    }
    cluster_.hosts.push_back(*name);
  }
  if (cluster_.hosts.empty()) {
    diagnostics().error(picked->place(), models::Code::kEmpty, "a cluster needs at least one host");
    cluster_.hosts = {"node0"};
  }
}

// ---------------------------------------------------------------------------------------------
// Placement of ranks

// Reads `8 per host`, `round robin`, or the host of each rank.
void ClusterReader::read_ranks(const YamlValue& value) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked) return;
  if (picked->is_list()) {
    read_rank_list(*picked);
    return;
  }
  static constexpr std::string_view kPerHost = " per host";
  const std::string_view text = picked->text();
  if (text == "round robin") {
    deal_round_robin();
    return;
  }
  if (text.size() > kPerHost.size() && text.substr(text.size() - kPerHost.size()) == kPerHost) {
    Scope scope = values_.scope();
    scope.rank = false;
    const auto number = parse_expression(text.substr(0, text.size() - kPerHost.size()),
                                         {picked->place(), picked->quoted()}, scope, diagnostics());
    if (!number) return;
    const std::int64_t per_host =
        number->type == ValueType::kNumber ? number->expr.value(0).value_or(0) : 0;
    if (per_host >= 1) {
      fill_hosts(per_host, picked->place());
      return;
    }
  }
  diagnostics()
      .error(picked->place(), models::Code::kWrongType,
             fmt::format("'ranks' of a cluster must say where the ranks are, found {}",
                         picked->described()))
      .notes.emplace_back("write '8 per host', 'round robin', or a list: the host of each rank");
}

void ClusterReader::fill_hosts(std::int64_t per_host, Place place) {
  const auto hosts = static_cast<std::int64_t>(cluster_.hosts.size());
  if (per_host < ranks_ && per_host * hosts < ranks_) {
    diagnostics().error(place, models::Code::kRankCount,
                        fmt::format("the cluster holds {} ranks ({} on each of {} "
                                    "hosts), but there are {}",
                                    per_host * hosts, per_host, hosts, ranks_));
    return;
  }
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    cluster_.host_of_rank.push_back(static_cast<std::uint32_t>(rank / per_host));
  }
}

void ClusterReader::deal_round_robin() {
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    cluster_.host_of_rank.push_back(rank % static_cast<std::uint32_t>(cluster_.hosts.size()));
  }
}

void ClusterReader::read_rank_list(const YamlValue& value) {
  const std::vector<YamlValue> items = value.items();
  if (items.size() != ranks_) {
    diagnostics().error(
        value.place(), models::Code::kRankCount,
        fmt::format("this list places {} ranks, but there are {}", items.size(), ranks_));
    return;
  }
  std::vector<std::uint32_t> hosts;
  for (const YamlValue& item : items) {
    const std::optional<std::uint32_t> host = read_host(item);
    if (host) hosts.push_back(*host);
  }
  if (hosts.size() == items.size()) cluster_.host_of_rank = std::move(hosts);
}

// Reads the name of a host, or its number from 0.
std::optional<std::uint32_t> ClusterReader::read_host(const YamlValue& value) {
  const auto& hosts = cluster_.hosts;
  const std::optional<std::string> name = values_.word(value);
  if (!name) return std::nullopt;
  const auto named = std::find(hosts.begin(), hosts.end(), *name);
  if (named != hosts.end()) return static_cast<std::uint32_t>(named - hosts.begin());
  if (name->empty() || name->find_first_not_of("0123456789") != std::string::npos) {
    models::Diagnostic& error = diagnostics().error(value.place(), models::Code::kUnknownHost,
                                                    fmt::format("unknown host '{}'", *name));
    models::suggest_name(error, *name, hosts);
    return std::nullopt;
  }
  const std::optional<std::int64_t> index = values_.constant(value, ValueType::kNumber);
  if (!index) return std::nullopt;
  if (*index < static_cast<std::int64_t>(hosts.size())) return static_cast<std::uint32_t>(*index);
  diagnostics().error(
      value.place(), models::Code::kUnknownHost,
      fmt::format("there is no host {}: hosts are 0 to {}", *index, hosts.size() - 1));
  return std::nullopt;
}

// Assigns the devices of each host to the ranks on this host, in order. Reports the first host with
// too few devices.
void ClusterReader::count_devices(Place place) {
  std::vector<std::uint32_t> used(cluster_.hosts.size(), 0);
  for (const std::uint32_t host : cluster_.host_of_rank) {
    cluster_.device_of_rank.push_back(used[host]++);
  }
  for (std::size_t host = 0; host < used.size(); ++host) {
    if (used[host] <= cluster_.devices) continue;
    diagnostics().error(place, models::Code::kRankCount,
                        fmt::format("host '{}' has {} ranks, but {} devices", cluster_.hosts[host],
                                    used[host], cluster_.devices));
    return;
  }
}

// ---------------------------------------------------------------------------------------------
// Links

// Reads the link classes. Without `links`, all known classes exist, with their default figures.
void ClusterReader::read_links(const std::optional<YamlValue>& value) {
  const std::optional<YamlValue> picked = value ? values_.resolved(*value) : std::nullopt;
  if (!picked || picked->is_null()) {
    cluster_.links.assign(models::known_links().begin(), models::known_links().end());
  } else {
    MapReader map(*picked, keys::kLinkClasses, diagnostics());
    for (const LinkClass& known : models::known_links()) {
      const std::optional<YamlValue> fields = map.take(known.name);
      if (!fields) continue;
      LinkClass link = known;
      read_link(*fields, link);
      cluster_.links.push_back(std::move(link));
    }
    map.finish();
  }
  const std::uint32_t device = index_of(cluster_.links, "device");
  if (device != models::kNoIndex) cluster_.device_link = device;
}

void ClusterReader::read_link(const YamlValue& value, LinkClass& link) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || picked->is_null()) return;
  MapReader map(*picked, keys::kLinkClass, diagnostics());
  const models::TaskGraph none;  // a link class refers to nothing in a graph
  FieldReader(values_, none).read(map, link);
  map.finish();
}

// Reads a list of links, in order of preference. If there is no value, returns the default links.
std::vector<std::uint32_t> ClusterReader::read_list(const std::optional<YamlValue>& value,
                                                    bool inside_host) {
  return value ? read_links_of(*value, values_, &cluster_) : usual_links(cluster_, inside_host);
}

void ClusterReader::read_interfaces(const YamlValue& value) {
  for (const YamlValue::Entry& entry : named_entries(value, "'interfaces'", diagnostics())) {
    models::NetworkInterface interface;
    interface.name = entry.key.text();
    const std::optional<YamlValue> picked = values_.resolved(entry.value);
    if (!picked) continue;
    if (!picked->is_scalar() || picked->text() != "nowhere") {
      interface.link = find_link(*picked, values_, cluster_.links);
    }
    cluster_.interfaces.push_back(std::move(interface));
  }
}

// Checks that any two ranks can communicate.
void ClusterReader::check_links(const YamlValue& value) {
  bool inside = false;
  bool between = false;
  for (std::uint32_t rank = 1; rank < ranks_; ++rank) {
    inside = inside || cluster_.device_of_rank[rank] > 0;
    between = between || !cluster_.same_host(0, rank);
  }
  const auto check = [&](bool needed, const std::vector<std::uint32_t>& links, const char* whom,
                         const char* key) {
    if (!needed || !links.empty()) return;
    diagnostics().error(value.place(), models::Code::kNoLink,
                        fmt::format("no link connects ranks of {}: '{}' has none", whom, key));
  };
  check(inside, cluster_.inside_host, "one host", "inside_host");
  check(between, cluster_.between_hosts, "different hosts", "between_hosts");
}

}  // namespace

std::optional<Cluster> read_cluster(const YamlValue& value, const ValueReader& values,
                                    std::uint32_t ranks) {
  const std::optional<YamlValue> picked = values.resolved(value);
  if (!picked || picked->is_null()) return std::nullopt;
  return ClusterReader(values, ranks).run(*picked);
}

std::vector<std::uint32_t> read_links_of(const YamlValue& value, const ValueReader& values,
                                         const Cluster* cluster) {
  const std::vector<LinkClass> known(models::known_links().begin(), models::known_links().end());
  std::vector<std::uint32_t> links;
  const std::optional<YamlValue> picked = values.resolved(value);
  if (!picked || picked->is_null()) return links;
  for (const YamlValue& item : items_of(*picked)) {
    const auto link = find_link(item, values, cluster == nullptr ? known : cluster->links);
    if (!link || cluster == nullptr) continue;
    if (link == cluster->device_link) {
      values.diagnostics().error(item.place(), models::Code::kNoLink,
                                 "'device' only connects ranks of one device");
    } else if (std::find(links.begin(), links.end(), *link) != links.end()) {
      values.diagnostics().error(
          item.place(), models::Code::kDuplicateName,
          fmt::format("duplicate link class '{}'", cluster->links[*link].name));
    } else {
      links.push_back(*link);
    }
  }
  return links;
}

std::vector<std::uint32_t> usual_links(const Cluster& cluster, bool inside_host) {
  const std::vector<std::string_view> names =
      inside_host ? std::vector<std::string_view>{"nvlink", "pcie", "shared_memory"}
                  : std::vector<std::string_view>{"infiniband", "ethernet"};
  std::vector<std::uint32_t> links;
  for (const std::string_view name : names) {
    const std::uint32_t index = index_of(cluster.links, name);
    if (index != models::kNoIndex) links.push_back(index);
  }
  return links;
}

std::optional<models::Algorithm> read_algorithm(const YamlValue& value, const ValueReader& values) {
  const std::optional<std::string> name = values.one_of(value, keys::words_of("algorithm"));
  return name ? models::find_algorithm(*name) : std::nullopt;
}

}  // namespace pipesim::formats
