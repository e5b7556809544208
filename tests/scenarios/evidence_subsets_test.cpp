// Random jobs of host programs that hang, and what real ones of that kind leave: dumps, watchdog
// lines, a report of RAS, stacks, logs of launches. Whatever part of it is left, `diagnose` blames
// no rank that is not a root, or on a cycle, in the simulation.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/twin/random.hpp"

using namespace pipesim;
using nlohmann::json;
using testing::command;

namespace {

constexpr std::uint64_t kSubsets = 100;

struct Call {
  int id = 0;  // the same on all ranks
  std::size_t group = 0;
  bool blocking = false;
};

struct Job {
  int ranks = 0;
  std::vector<std::vector<int>> groups;
  std::vector<std::vector<Call>> programs;
};

// All ranks make the calls of one order, but one: it stops early, or makes two in the other order.
// (One that left a call out and then waited for its device would be on a cycle for all that
// evidence can tell: that it never makes the call is not to be seen.)
Job random_job(twin::Random& random) {
  Job job;
  job.ranks = random.between(3, 6);
  std::vector<int> all;
  for (int rank = 0; rank < job.ranks; ++rank) all.push_back(rank);
  job.groups.push_back(all);
  const int more = random.between(1, 3);
  for (int i = 0; i < more; ++i) {
    std::vector<int> members = all;
    random.shuffle(members);
    members.resize(static_cast<std::size_t>(random.between(2, job.ranks)));
    std::sort(members.begin(), members.end());
    job.groups.push_back(members);
  }
  job.programs.resize(static_cast<std::size_t>(job.ranks));
  const int calls = random.between(4, 12);
  for (int i = 0; i < calls; ++i) {
    Call call;
    call.id = i;
    call.group = static_cast<std::size_t>(random.below(static_cast<int>(job.groups.size())));
    call.blocking = random.chance(60);
    for (const int rank : job.groups[call.group]) {
      job.programs[static_cast<std::size_t>(rank)].push_back(call);
    }
  }
  auto& odd = job.programs[static_cast<std::size_t>(random.below(job.ranks))];
  if (odd.size() < 2) return job;
  const auto at = static_cast<std::size_t>(random.below(static_cast<int>(odd.size()) - 1));
  if (random.chance(50)) {
    odd.resize(at);
  } else {
    std::swap(odd[at], odd[at + 1]);
    odd[at].blocking = true;
  }
  return job;
}

std::string scenario_of(const Job& job) {
  std::string text =
      "schema: 1\nreading: contract\nname: job\nranks: " + std::to_string(job.ranks) +
      "\ngroups:\n";
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    text += "  g" + std::to_string(i) + ": " + json(job.groups[i]).dump() + "\n";
  }
  text += "programs:\n";
  for (std::size_t rank = 0; rank < job.programs.size(); ++rank) {
    if (job.programs[rank].empty()) continue;
    text += "  - on: " + std::to_string(rank) + "\n    do:\n";
    for (std::size_t i = 0; i < job.programs[rank].size(); ++i) {
      const Call& call = job.programs[rank][i];
      text += "      - {all_reduce: g" + std::to_string(call.group) + ", bytes: 8B, takes: 1us, " +
              "name: c" + std::to_string(call.id) +
              ", blocking: " + (call.blocking ? "on" : "off") + "}\n";
    }
    text += "      - {synchronize: device}\n";
  }
  return text;
}

/// How far a rank came in a group.
struct Came {
  std::int64_t called = 0;
  std::int64_t done = 0;
};

struct Evidence {
  std::vector<std::pair<std::string, std::string>> files;  // name and text
};

std::string group_name(std::size_t group) { return std::to_string(group); }

Evidence evidence_of(const Job& job, const json& run) {
  Evidence evidence;
  json ras = {{"communicators_count", job.groups.size()}, {"communicators", json::array()}};
  std::vector<std::vector<Came>> came(job.programs.size(), std::vector<Came>(job.groups.size()));
  for (std::size_t rank = 0; rank < job.programs.size(); ++rank) {
    std::map<std::string, json> of_call;
    for (const json& actor : run["ranks"][rank]["actors"]) {
      of_call[actor["name"].get<std::string>()] = actor;
    }
    json dump = {{"version", "2.9"}, {"rank", rank}, {"entries", json::array()}};
    for (std::size_t group = 0; group < job.groups.size(); ++group) {
      dump["pg_config"][group_name(group)] = {{"name", group_name(group)},
                                              {"desc", group == 0 ? "default_pg" : "undefined"},
                                              {"ranks", json(job.groups[group]).dump()}};
    }
    for (std::size_t i = 0; i < job.programs[rank].size(); ++i) {
      const std::size_t group = job.programs[rank][i].group;
      const json& actor = of_call.at("c" + std::to_string(job.programs[rank][i].id));
      if (actor["launched"] == 0) continue;
      Came& own = came[rank][group];
      ++own.called;
      const bool done = actor["done"] == 1;
      if (done) own.done = own.called;
      dump["entries"].push_back({{"record_id", i},
                                 {"pg_id", group},
                                 {"process_group", {group_name(group), "undefined"}},
                                 {"collective_seq_id", own.called},
                                 {"p2p_seq_id", 0},
                                 {"op_id", i},
                                 {"is_p2p", false},
                                 {"profiling_name", "nccl:all_reduce"},
                                 {"input_sizes", {{2}}},
                                 {"output_sizes", {{2}}},
                                 {"input_dtypes", {"Float"}},
                                 {"output_dtypes", {"Float"}},
                                 {"state", done                    ? "completed"
                                           : actor["started"] == 1 ? "started"
                                                                   : "scheduled"}});
    }
    const std::string number = std::to_string(rank);
    evidence.files.emplace_back("dump_" + number + ".json", dump.dump());
    std::string log;
    for (std::size_t group = 0; group < job.groups.size(); ++group) {
      const auto& members = job.groups[group];
      const auto at = std::find(members.begin(), members.end(), static_cast<int>(rank));
      if (at == members.end()) continue;
      const Came& own = came[rank][group];
      const std::string head = "[rank" + number + "]:[E1 ProcessGroupNCCL.cpp:1] [PG ID " +
                               group_name(group) + " PG GUID " + group_name(group) +
                               (group == 0 ? "(default_pg) Rank " : "(undefined) Rank ") +
                               std::to_string(at - members.begin()) + "] ";
      const std::string counts = "ast enqueued NCCL work: " + std::to_string(own.called) +
                                 ", last completed NCCL work: " + std::to_string(own.done) + ".\n";
      log += own.called > own.done
                 ? head + "Timeout at NCCL work: " + std::to_string(own.done + 1) + ", l" + counts
                 : head +
                       "Received a dump signal due to a collective timeout from another rank. L" +
                       counts;
    }
    evidence.files.emplace_back("out_" + number + ".log", log);
  }
  for (std::size_t group = 0; group < job.groups.size(); ++group) {
    json communicator = {{"hash", "0xc" + group_name(group)}, {"size", job.groups[group].size()}};
    for (std::size_t i = 0; i < job.groups[group].size(); ++i) {
      const auto rank = static_cast<std::size_t>(job.groups[group][i]);
      communicator["ranks"].push_back(
          {{"rank", i},
           {"host", "node0"},
           {"pid", 100 + rank},
           {"cuda_dev", rank},
           {"collective_counts", {{"AllReduce", came[rank][group].called}}}});
    }
    ras["communicators"].push_back(communicator);
  }
  evidence.files.emplace_back("ras.json", ras.dump());
  return evidence;
}

using Node = std::pair<int, std::string>;

Node node_of(const json& party) {
  const std::string op =
      party.contains("op") ? party["op"].get<std::string>() + party["act"].dump() : std::string();
  return {party["rank"].get<int>(), op};
}

// Roots, and ranks with an op that waits for itself through others.
std::set<int> true_roots(const json& run) {
  std::set<int> ranks;
  for (const json& root : run["roots"]) {
    if (root.contains("rank")) ranks.insert(root["rank"].get<int>());
  }
  for (const json& wait : run["cycle"]) ranks.insert(wait["rank"].get<int>());
  std::map<Node, std::set<Node>> next;
  for (const json& wait : run["waits"]) {
    if (wait["for"].contains("rank")) next[node_of(wait)].insert(node_of(wait["for"]));
  }
  for (const auto& [start, first] : next) {
    std::vector<Node> open(first.begin(), first.end());
    std::set<Node> seen(first.begin(), first.end());
    while (!open.empty()) {
      const Node at = open.back();
      open.pop_back();
      for (const Node& to : next[at]) {
        if (seen.insert(to).second) open.push_back(to);
      }
    }
    if (seen.count(start) > 0) ranks.insert(start.first);
  }
  return ranks;
}

std::set<int> blamed(const json& found) {
  std::set<int> ranks;
  if (found.contains("root_ranks")) {
    for (const json& rank : found["root_ranks"]) ranks.insert(rank.get<int>());
  }
  if (found.contains("roots")) {
    for (const json& root : found["roots"]) {
      if (root["reason"] != "unexplained") ranks.insert(root["rank"].get<int>());
    }
  }
  if (found.contains("cycle")) {
    for (const json& wait : found["cycle"]) ranks.insert(wait["rank"].get<int>());
  }
  return ranks;
}

std::uint64_t subsets() {
  const char* value = std::getenv("PIPESIM_EVIDENCE_SUBSETS");
  return value == nullptr ? kSubsets : std::strtoull(value, nullptr, 10);
}

}  // namespace

TEST_CASE("no part of the evidence of a hang blames a rank that is innocent", "[diagnose]") {
  constexpr int kSubsetsOfAJob = 10;
  const std::uint64_t wanted = subsets();
  std::uint64_t tried = 0;
  std::uint64_t named = 0;
  for (std::uint64_t seed = 1; tried < wanted; ++seed) {
    twin::Random random(seed);
    const Job job = random_job(random);
    const testing::Folder folder;
    const std::string scenario = folder.write("job.yaml", scenario_of(job));
    const auto ran = command({"run", scenario, "--json", "--all"});
    INFO("seed " << seed << "\n" << scenario_of(job) << ran.err);
    REQUIRE((ran.code == 0 || ran.code == 1));
    const json run = json::parse(ran.out);
    if (run["verdict"] != "deadlock" && run["verdict"] != "starved") continue;
    const std::set<int> roots = true_roots(run);
    REQUIRE_FALSE(roots.empty());
    Evidence evidence = evidence_of(job, run);
    evidence.files.emplace_back("stacks.txt", command({"run", scenario, "--stacks"}).out);
    evidence.files.emplace_back("launches.log", command({"run", scenario, "--log", "-"}).out);
    for (int i = 0; i < kSubsetsOfAJob && tried < wanted; ++i, ++tried) {
      const testing::Folder parts;
      std::string names;
      const int share = i == 0 ? 100 : random.between(10, 90);
      const std::vector<std::string> kinds = {"dump", "out", "ras", "stacks", "launches"};
      const std::string only = i % 3 == 0 ? "" : random.pick(kinds);
      for (const auto& [name, text] : evidence.files) {
        const bool fits = only.empty() || name.rfind(only, 0) == 0;
        if (!fits || !random.chance(share)) continue;
        parts.write("e/" + name, text);
        names += " " + name;
      }
      if (names.empty()) continue;
      const auto found = command({"diagnose", parts / "e", "--json"});
      INFO("files" << names << "\n" << found.out << found.err);
      REQUIRE((found.code == 0 || found.code == 1 || found.code == 3));
      const std::set<int> accused = blamed(json::parse(found.out));
      CHECK(std::includes(roots.begin(), roots.end(), accused.begin(), accused.end()));
      named += accused.empty() ? 0U : 1U;
    }
  }
  // It would be easy never to blame anybody.
  CHECK(named * 3 > tried);
}
