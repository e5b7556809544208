#include "features/diagnose/trace_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "viz/report/json_string.hpp"

#include "features/diagnose/evidence.hpp"
#include "features/diagnose/log_lines.hpp"

namespace pipesim::formats {
namespace {

/// A cell, such as `all_reduce(input_sizes=[[64]], state=started)`.
struct RowCall {
  std::string op;
  std::string group;  // name; empty without -v
  std::string description;
  std::uint32_t group_size = 0;
  std::uint64_t sequence = 0;
  std::uint32_t source = 0;  // ranks of the job, for a send or recv
  std::uint32_t target = 0;
  std::string sizes;  // lists of input and output sizes, as JSON
  std::string types;
  std::string state;

  bool is_message() const { return op == "send" || op == "recv"; }
};

/// A column of the table.
struct RowColumn {
  std::uint32_t rank = 0;
  std::size_t begin = 0;  // position of its cells in a line
  std::size_t size = std::string_view::npos;
  std::vector<RowCall> calls;
};

using GroupRanks = std::map<std::string, std::set<std::uint32_t>>;

// Returns the value of a field up to the next field.
std::string_view field(std::string_view cell, std::string_view key) {
  const std::size_t at = cell.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view value = cell.substr(at + key.size());
  std::size_t end = value.find(')');
  for (std::size_t comma = value.find(", "); comma < end; comma = value.find(", ", comma + 1)) {
    const std::size_t equals = value.find('=', comma);
    const std::string_view name = value.substr(comma + 2, equals - comma - 2);
    if (equals != std::string_view::npos && name.find_first_of("[],'") == std::string_view::npos) {
      end = comma;
    }
  }
  return value.substr(0, end);
}

// Returns the name of a group without the hash of its ranks that torchfrtrace appends. A hash
// without a sign cannot be told from the name.
std::string group_name_in(std::string_view name, std::string_view description) {
  if (description == "default_pg") return "0";
  const std::size_t sign = name.rfind('-');
  return std::string(sign == 0 ? name : name.substr(0, sign));
}

// Returns a printed list of sizes or types as JSON; an empty list if it is something else.
std::string list_text(std::string_view text) {
  std::string list(text);
  std::replace(list.begin(), list.end(), '\'', '"');
  const auto is_part = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("[], \"_").find(c) != std::string_view::npos;
  };
  const bool good = list.starts_with('[') && std::all_of(list.begin(), list.end(), is_part);
  return good ? list : "[]";
}

std::optional<RowCall> call_in(std::string_view cell) {
  const std::size_t open = cell.find('(');
  const std::string_view state = field(cell, "state=");
  const bool is_state = state == "scheduled" || state == "started" || state == "completed";
  if (open == std::string_view::npos || open == 0 || !is_state) return std::nullopt;
  RowCall call;
  call.op = cell.substr(0, open);
  call.description = field(cell, "pg_description=");
  call.group = group_name_in(field(cell, "pg_name="), call.description);
  call.group_size = number_at<std::uint32_t>(field(cell, "pg_size=")).value_or(0);
  call.sequence = number_at<std::uint64_t>(field(cell, "p2p_seq_id=")).value_or(0);
  const std::string_view ends = word_after(cell, "s=", ",");
  call.source = number_at<std::uint32_t>(ends).value_or(0);
  call.target = number_after<std::uint32_t>(ends, " d=").value_or(0);
  call.sizes =
      fmt::format(R"("input_sizes":{},"output_sizes":{})", list_text(field(cell, "input_sizes=")),
                  list_text(field(cell, "output_sizes=")));
  call.types = fmt::format(R"("input_dtypes":{},"output_dtypes":{})",
                           list_text(field(cell, "input_dtypes=")),
                           list_text(field(cell, "output_dtypes=")));
  call.state = state;
  return call;
}

// Reads the ranks of the columns from the heading "Rank 0   Rank 1", and their positions from the
// dashes below it. Returns an empty list for other lines.
std::vector<RowColumn> columns_in(std::string_view heading, std::string_view dashes) {
  std::vector<RowColumn> columns;
  if (!heading.starts_with("Rank ") || !dashes.starts_with("-")) return {};
  if (dashes.find_first_not_of("- \r") != std::string_view::npos) return {};
  for (std::size_t at = 0; at < dashes.size(); at = dashes.find('-', at)) {
    const std::size_t end = std::min(dashes.find_first_not_of('-', at), dashes.size());
    const std::string_view name = heading.substr(std::min(at, heading.size()), end - at);
    const auto rank = number_after<std::uint32_t>(name, "Rank ");
    if (!rank || *rank >= models::kMaxEvidenceRanks) return {};
    columns.push_back({*rank, at, end - at, {}});
    at = end;
  }
  return columns;
}

std::vector<RowColumn> columns_of(std::string_view text) {
  std::vector<RowColumn> columns;
  std::string_view before;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (columns.empty()) {
      columns = columns_in(before, line);
      before = line;
      continue;
    }
    bool any = false;
    for (RowColumn& column : columns) {
      if (column.begin >= line.size()) break;
      auto call = call_in(line.substr(column.begin, column.size));
      if (!call) continue;
      if (call->group.empty()) call->sequence = column.calls.size() + 1;
      column.calls.push_back(std::move(*call));
      any = true;
    }
    if (!any) break;
  }
  return columns;
}

/// The group, number, operation and sizes of a call, which equal calls of several ranks share.
using CallKey = std::tuple<std::string, std::uint64_t, std::string, std::string>;

CallKey key_of(const RowCall& call) { return {call.group, call.sequence, call.op, call.sizes}; }

// gloo's calls stay "scheduled" when they are over. Returns the calls that count as over: each rank
// that uses the group made an equal one.
std::set<CallKey> calls_over(const std::vector<RowColumn>& columns) {
  std::map<std::string, std::size_t> users;  // number of ranks that use each group
  std::map<CallKey, std::size_t> makers;     // number of ranks that made an equal call
  for (const RowColumn& column : columns) {
    std::set<std::string> groups;
    std::set<CallKey> calls;
    for (const RowCall& call : column.calls) {
      groups.insert(call.group);
      calls.insert(key_of(call));
    }
    for (const std::string& group : groups) ++users[group];
    for (const CallKey& call : calls) ++makers[call];
  }
  std::set<CallKey> over;
  for (const auto& [call, ranks] : makers) {
    if (ranks == users[std::get<0>(call)]) over.insert(call);
  }
  return over;
}

// Returns the groups all of whose members have a column.
GroupRanks known_groups(const std::vector<RowColumn>& columns) {
  GroupRanks groups;
  std::map<std::string, std::uint32_t> sizes;
  for (const RowColumn& column : columns) {
    for (const RowCall& call : column.calls) {
      groups[call.group].insert(column.rank);
      sizes[call.group] = call.group_size;
    }
  }
  std::erase_if(groups, [&](const auto& it) {
    return it.first.empty() || it.second.size() != sizes.at(it.first);
  });
  return groups;
}

// Returns the name of a call as in a dump: "all_reduce", or "send 0->1" with ranks of the group;
// nullopt if these are unknown.
std::optional<std::string> name_of(const RowCall& call, const GroupRanks& groups) {
  if (!call.is_message()) return call.op;
  const auto group = groups.find(call.group);
  if (group == groups.end()) return std::nullopt;
  const std::set<std::uint32_t>& ranks = group->second;
  const auto local = [&](std::uint32_t rank) {
    return std::distance(ranks.begin(), ranks.lower_bound(rank));
  };
  return call.op == "send" ? fmt::format("send {}->{}", local(call.source), local(call.target))
                           : fmt::format("recv {}<-{}", local(call.target), local(call.source));
}

}  // namespace

bool has_trace_rows(std::string_view text) {
  return text.find("(input_sizes=[") != std::string_view::npos ||
         text.find("collective_seq_id | p2p_seq_id=") != std::string_view::npos;
}

std::vector<DebugPagePart> dumps_of_trace_rows(std::string_view text) {
  using viz::json_string;
  const std::vector<RowColumn> columns = columns_of(text);
  const GroupRanks groups = known_groups(columns);
  const bool of_gloo = std::all_of(columns.begin(), columns.end(), [](const RowColumn& column) {
    return std::all_of(column.calls.begin(), column.calls.end(),
                       [](const RowCall& call) { return call.state == "scheduled"; });
  });
  const std::set<CallKey> over = of_gloo ? calls_over(columns) : std::set<CallKey>();
  std::vector<DebugPagePart> dumps;
  for (const RowColumn& column : columns) {
    std::map<std::string, std::string> config;
    std::vector<std::string> entries;
    for (const RowCall& call : column.calls) {
      const auto name = name_of(call, groups);
      if (!name) continue;
      if (const auto group = groups.find(call.group); group != groups.end()) {
        config.emplace(call.group,
                       fmt::format(R"({}:{{"desc":{},"ranks":[{}]}})", json_string(call.group),
                                   json_string(call.description), fmt::join(group->second, ",")));
      }
      entries.push_back(fmt::format(
          R"({{"record_id":{},"profiling_name":{},"is_p2p":{},"collective_seq_id":{},)"
          R"("p2p_seq_id":{},"process_group":[{},{}],{},{},"state":{},"retired":{}}})",
          entries.size(), json_string((of_gloo ? "gloo:" : "nccl:") + *name), call.is_message(),
          call.sequence, call.sequence, json_string(call.group), json_string(call.description),
          call.sizes, call.types, json_string(call.state), over.count(key_of(call)) > 0));
    }
    std::vector<std::string> described;
    for (const auto& [name, group] : config) described.push_back(group);
    dumps.push_back(
        {column.rank, fmt::format(R"({{"version":"2.x","pg_config":{{{}}},"entries":[{}]}})",
                                  fmt::join(described, ","), fmt::join(entries, ","))});
  }
  return dumps;
}

}  // namespace pipesim::formats
