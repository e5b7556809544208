// Random jobs of host programs that hang, and evidence as real jobs leave it: dumps, watchdog
// lines, a RAS report, stacks, launch logs. From any part of the evidence, `diagnose` blames only
// roots of the simulation and ranks on its cycle.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
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
  int id = 0;  // id of the call, the same on all ranks
  std::size_t group = 0;
  bool blocking = false;
};

struct Job {
  int ranks = 0;
  std::vector<std::vector<int>> groups;
  std::vector<std::vector<Call>> programs;
  std::set<int> stops;  // ranks that stop early
  bool gloo = false;    // whether the backend is gloo, whose evidence says less
};

/// The fault of a rank: it stops early, swaps two calls, blocks in its own code, or dies.
enum class Fault : std::uint8_t { kStops, kSwaps, kStuck, kDies };

constexpr int kStuckId = -1;
constexpr int kDeathId = -2;

std::size_t pick_index(twin::Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.below(static_cast<int>(count)));
}

// Adds a fault. No fault skips a call and then waits for the device: in the evidence, such a rank
// looks like a part of a cycle, because the evidence cannot show that the rank never makes the
// call.
void add_fault(Job& job, Fault fault, std::vector<Call>& program, twin::Random& random) {
  if (program.size() < 2) return;
  const std::size_t at = pick_index(random, program.size() - 1);
  const auto here = program.begin() + static_cast<std::ptrdiff_t>(at);
  switch (fault) {
    case Fault::kStops:
      program.resize(at);
      job.stops.insert(static_cast<int>(&program - job.programs.data()));
      break;
    case Fault::kSwaps:
      std::swap(program[at], program[at + 1]);
      program[at].blocking = true;
      break;
    case Fault::kStuck:
      program.insert(here, {kStuckId, 0, true});
      break;
    case Fault::kDies:
      program.insert(here, {kDeathId, 0, true});
      break;
  }
}

void add_groups(Job& job, twin::Random& random) {
  std::vector<int> all;
  for (int rank = 0; rank < job.ranks; ++rank) all.push_back(rank);
  job.groups.push_back(all);
  const int more = random.between(1, 3);
  for (int i = 0; i < more; ++i) {
    std::vector<int> members = all;
    random.shuffle(members);
    members.resize(static_cast<std::size_t>(random.between(2, job.ranks)));
    // Groups are numbered in the order of this list. For a group of all ranks, PyTorch keeps the
    // order of the ranks.
    job.groups.push_back(members.size() == all.size() ? all : members);
  }
}

// Returns a job whose ranks make all calls in one order, except for faults on one or two ranks.
Job random_job(twin::Random& random) {
  Job job;
  job.ranks = random.between(3, 6);
  job.gloo = random.chance(35);
  add_groups(job, random);
  job.programs.resize(static_cast<std::size_t>(job.ranks));
  const int calls = random.between(4, 12);
  for (int i = 0; i < calls; ++i) {
    const Call call{i, pick_index(random, job.groups.size()), random.chance(60)};
    for (const int rank : job.groups[call.group]) {
      job.programs[static_cast<std::size_t>(rank)].push_back(call);
    }
  }
  // A swap is the only fault of its job: a second fault can look like the cycle that the swap
  // causes.
  std::vector<Fault> faults = {Fault::kStops, Fault::kStuck, Fault::kDies};
  std::vector<std::size_t> ranks(job.programs.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  random.shuffle(ranks);
  ranks.resize(random.chance(70) ? 1 : 2);
  if (ranks.size() == 1) faults.push_back(Fault::kSwaps);
  for (const std::size_t rank : ranks) {
    add_fault(job, random.pick(faults), job.programs[rank], random);
  }
  return job;
}

std::string step_of(const Call& call) {
  if (call.id == kStuckId) return "{input: disk, items: 0, name: stuck}";
  if (call.id == kDeathId) return "{raise: 'KeyError: 3', name: dead}";
  return "{all_reduce: g" + std::to_string(call.group) + ", bytes: 8B, takes: 1us, name: c" +
         std::to_string(call.id) + ", blocking: " + (call.blocking ? "on" : "off") + "}";
}

std::string scenario_of(const Job& job) {
  std::string text =
      "schema: 1\nreading: contract\nname: job\nranks: " + std::to_string(job.ranks) +
      "\ngroups:\n";
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    std::vector<int> members = job.groups[i];
    std::sort(members.begin(), members.end());
    text += "  g" + std::to_string(i) + ": " + json(members).dump() + "\n";
  }
  text += "programs:\n";
  for (std::size_t rank = 0; rank < job.programs.size(); ++rank) {
    if (job.programs[rank].empty()) continue;
    text += "  - on: " + std::to_string(rank) + "\n    do:\n";
    for (const Call& call : job.programs[rank]) text += "      - " + step_of(call) + "\n";
    text += "      - {synchronize: device}\n";
  }
  return text;
}

using Files = std::vector<std::pair<std::string, std::string>>;  // name and text

/// The evidence of a job whose hang `run` describes.
class EvidenceMaker {
 public:
  EvidenceMaker(const Job& job, const json& run, std::string stacks, twin::Random& random)
      : job_(job),
        run_(run),
        stacks_(std::move(stacks)),
        random_(random),
        came_(job.programs.size(), std::vector<Came>(job.groups.size())) {}

  Files make();

  /// Returns the ranks with a fault.
  const std::set<int>& faulty() const { return faulty_; }

 private:
  /// Progress of a rank in a group.
  struct Came {
    std::int64_t called = 0;
    std::int64_t done = 0;
  };

  json actor_of(std::size_t rank, const std::string& name) const;
  void look_at(std::size_t rank);
  json dump_of(std::size_t rank);
  std::string watchdog_of(std::size_t rank);
  std::string timeout_of_gloo(std::size_t rank) const;
  std::string launcher() const;
  std::string calls_of(std::size_t rank);
  std::string stack_of(std::size_t rank) const;
  json communicator_of(std::size_t group) const;
  std::string ras();
  std::string place_of(std::size_t rank) const;
  static std::string name_of(std::size_t group) { return std::to_string(group); }
  bool is_dead(std::size_t rank) const { return dead_.count(static_cast<int>(rank)) > 0; }

  const Job& job_;
  const json& run_;
  std::string stacks_;  // output of `run --stacks`
  twin::Random& random_;
  std::vector<std::vector<Came>> came_;  // [rank][group]
  std::set<int> faulty_;
  std::set<int> dead_;
};

json EvidenceMaker::actor_of(std::size_t rank, const std::string& name) const {
  for (const json& actor : run_["ranks"][rank]["actors"]) {
    if (actor["name"] == name) return actor;
  }
  return {{"entered", 0}, {"launched", 0}, {"started", 0}, {"done", 0}};
}

// Returns the position of the rank's host as `run --stacks` shows it: "c3#1", "<finished>".
std::string EvidenceMaker::place_of(std::size_t rank) const {
  const std::string head = "Process " + std::to_string(rank) + ":";
  const std::size_t process = stacks_.find(head);
  if (process == std::string::npos) return {};
  const std::size_t frame = stacks_.find("\n    ", process);
  if (frame == std::string::npos) return {};
  return stacks_.substr(frame + 5, stacks_.find_first_of(" \n", frame + 5) - frame - 5);
}

void EvidenceMaker::look_at(std::size_t rank) {
  const auto number = static_cast<int>(rank);
  if (actor_of(rank, "stuck")["entered"] == 1) faulty_.insert(number);
  if (actor_of(rank, "dead")["entered"] == 1) {
    faulty_.insert(number);
    dead_.insert(number);
  }
  if (job_.stops.count(number) > 0 && place_of(rank) == "<finished>") faulty_.insert(number);
  if (job_.stops.count(number) > 0 && job_.programs[rank].empty()) faulty_.insert(number);
  for (const Call& call : job_.programs[rank]) {
    if (call.id < 0) continue;
    const json actor = actor_of(rank, "c" + std::to_string(call.id));
    if (actor["launched"] == 0) continue;
    Came& own = came_[rank][call.group];
    ++own.called;
    if (actor["done"] == 1) own.done = own.called;
  }
}

json EvidenceMaker::dump_of(std::size_t rank) {
  json dump = {{"version", "2.9"}, {"rank", rank}, {"entries", json::array()}};
  // gloo's dumps have neither the members of groups nor the state of calls.
  if (job_.gloo) dump["pg_config"][""] = {{"name", ""}, {"desc", ""}, {"ranks", "[]"}};
  for (std::size_t group = 0; !job_.gloo && group < job_.groups.size(); ++group) {
    dump["pg_config"][name_of(group)] = {{"name", name_of(group)},
                                         {"desc", group == 0 ? "default_pg" : "undefined"},
                                         {"ranks", json(job_.groups[group]).dump()}};
  }
  std::map<std::size_t, int> number;
  for (std::size_t i = 0; i < job_.programs[rank].size(); ++i) {
    const Call& call = job_.programs[rank][i];
    const json actor = actor_of(rank, "c" + std::to_string(call.id));
    if (call.id < 0 || actor["launched"] == 0) continue;
    const char* state = actor["done"] == 1      ? "completed"
                        : actor["started"] == 1 ? "started"
                                                : "scheduled";
    dump["entries"].push_back(
        {{"record_id", i},
         {"pg_id", call.group},
         {"process_group", {name_of(call.group), call.group == 0 ? "default_pg" : "undefined"}},
         {"collective_seq_id", ++number[call.group]},
         {"p2p_seq_id", 0},
         {"op_id", i},
         {"is_p2p", false},
         {"profiling_name", job_.gloo ? "gloo:all_reduce" : "nccl:all_reduce"},
         {"retired", actor["done"] == 1},
         {"input_sizes", {{2}}},
         {"output_sizes", {{2}}},
         {"input_dtypes", {"Float"}},
         {"output_dtypes", {"Float"}},
         {"state", job_.gloo ? "scheduled" : state}});
  }
  return dump;
}

// Returns the rank's log. A dead rank logs its error; any other rank logs watchdog lines, which
// omit calls without a sequence number.
std::string EvidenceMaker::watchdog_of(std::size_t rank) {
  const std::string number = std::to_string(rank);
  const std::string global = random_.chance(85) ? "[rank" + number + "]:" : "";
  const std::string label = random_.chance(30) ? number + ": " : "";
  if (is_dead(rank)) {
    std::string log;
    for (const char* line : {"Traceback (most recent call last):\n",
                             "  File \"t.py\", line 3, in step\n", "KeyError: 3\n"}) {
      log += label;
      log += "[rank" + number + "]: ";
      log += line;
    }
    return log;
  }
  if (job_.gloo) return timeout_of_gloo(rank);
  std::string log;
  for (std::size_t group = 0; group < job_.groups.size(); ++group) {
    const auto& members = job_.groups[group];
    const auto at = std::find(members.begin(), members.end(), static_cast<int>(rank));
    if (at == members.end()) continue;
    const Came& own = came_[rank][group];
    const std::string head = label + global + "[E1 ProcessGroupNCCL.cpp:1] [PG ID " +
                             name_of(group) + " PG GUID " + name_of(group) +
                             (group == 0 ? "(default_pg) Rank " : "(undefined) Rank ") +
                             std::to_string(at - members.begin()) + "] ";
    const std::string counts = "ast enqueued NCCL work: " + std::to_string(own.called) +
                               ", last completed NCCL work: " + std::to_string(own.done) + ".\n";
    log += head;
    log += own.called > own.done
               ? "Timeout at NCCL work: " + std::to_string(own.done + 1) + ", l"
               : "Received a dump signal due to a collective timeout from another rank. L";
    log += counts;
  }
  return log;
}

// Returns the error of a rank whose gloo call times out; empty if the rank is not in a call.
std::string EvidenceMaker::timeout_of_gloo(std::size_t rank) const {
  if (place_of(rank).rfind('c', 0) != 0) return {};
  std::string log;
  for (const char* line :
       {"Traceback (most recent call last):\n", "  File \"t.py\", line 9, in <module>\n",
        "  File \"torch/distributed/distributed_c10d.py\", line 1, in all_reduce\n",
        "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 30000ms for "
        "recv "
        "operation to complete\n"}) {
    log += "[rank" + std::to_string(rank) + "]: " + line;
  }
  return log;
}

// Returns torchrun's report about a dead rank; empty without one.
std::string EvidenceMaker::launcher() const {
  if (dead_.empty()) return {};
  return "Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-26_14:39:20\n"
         "  rank      : " +
         std::to_string(*dead_.begin()) +
         " (local_rank: 0)\n  exitcode  : -9 (pid: 7)  (SIGKILL)\n";
}

std::string EvidenceMaker::calls_of(std::size_t rank) {
  const std::string head =
      "node0:" + std::to_string(100 + rank) + ":9 [" + std::to_string(rank) + "] NCCL INFO ";
  std::string log;
  for (std::size_t group = 0; group < job_.groups.size(); ++group) {
    const auto& members = job_.groups[group];
    const auto at = std::find(members.begin(), members.end(), static_cast<int>(rank));
    if (at == members.end()) continue;
    log += head + "comm 0x5" + name_of(group) + " rank " + std::to_string(at - members.begin()) +
           " nranks " + std::to_string(members.size()) + " cudaDev " + std::to_string(rank) +
           " commId 0xc" + name_of(group) + " - Init COMPLETE\n";
  }
  for (const Call& call : job_.programs[rank]) {
    if (call.id < 0 || actor_of(rank, "c" + std::to_string(call.id))["launched"] == 0) continue;
    log += head +
           "AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x2 count 2 datatype 7 op 0 root 0 "
           "comm 0x5" +
           name_of(call.group) + " [nranks=" + std::to_string(job_.groups[call.group].size()) +
           "] stream 0x9\n";
  }
  return log;
}

// Returns the rank's stack as py-spy shows it; empty if the rank died or finished its program.
std::string EvidenceMaker::stack_of(std::size_t rank) const {
  const std::string place = place_of(rank);
  const bool stands_elsewhere = faulty_.count(static_cast<int>(rank)) > 0;
  if (is_dead(rank) || (!stands_elsewhere && (place.empty() || place == "<finished>"))) return {};
  const std::string pid = std::to_string(100 + rank);
  std::string frames = "    all_reduce (torch/distributed/distributed_c10d.py:1)\n";
  if (place.starts_with("synchronize")) frames = "    synchronize (torch/cuda/__init__.py:1)\n";
  if (stands_elsewhere) frames = "    read (data.py:40)\n";
  return "Process " + pid + ": python t.py\nPython v3.11.4 (/usr/bin/python3.11)\n\nThread " + pid +
         " (idle): \"MainThread\"\n" + frames + "    <module> (t.py:9)\n";
}

json EvidenceMaker::communicator_of(std::size_t group) const {
  json communicator = {{"hash", "0xc" + name_of(group)}, {"size", job_.groups[group].size()}};
  communicator["ranks"] = communicator["missing_ranks"] = json::array();
  for (std::size_t i = 0; i < job_.groups[group].size(); ++i) {
    const auto rank = static_cast<std::size_t>(job_.groups[group][i]);
    json member = {{"rank", i}, {"host", "node0"}, {"pid", 100 + rank}, {"cuda_dev", rank}};
    if (is_dead(rank)) {
      member["status"] = {{"unresponsive", true}, {"considered_dead", rank % 2 == 0}};
      communicator["missing_ranks"].push_back(member);
      continue;
    }
    member["collective_counts"] = {{"AllReduce", came_[rank][group].called}};
    communicator["ranks"].push_back(member);
  }
  return communicator;
}

// Returns a RAS report, often without a communicator that spans the job. A process without any
// communicator is not visible, which makes the job look smaller than it is.
std::string EvidenceMaker::ras() {
  std::set<int> in_others;
  for (std::size_t group = 1; group < job_.groups.size(); ++group) {
    in_others.insert(job_.groups[group].begin(), job_.groups[group].end());
  }
  const bool all_seen = in_others.size() == job_.programs.size();
  const std::size_t first = all_seen && random_.chance(60) ? 1 : 0;
  json report = {{"communicators", json::array()}};
  for (std::size_t group = first; group < job_.groups.size(); ++group) {
    report["communicators"].push_back(communicator_of(group));
  }
  return report.dump();
}

Files EvidenceMaker::make() {
  Files files;
  for (std::size_t rank = 0; rank < job_.programs.size(); ++rank) look_at(rank);
  for (std::size_t rank = 0; rank < job_.programs.size(); ++rank) {
    const std::string number = std::to_string(rank);
    if (!is_dead(rank)) files.emplace_back("dump_" + number + ".json", dump_of(rank).dump());
    files.emplace_back("out_" + number + ".log", watchdog_of(rank));
    if (!job_.gloo) files.emplace_back("calls_" + number + ".log", calls_of(rank));
    const std::string stack = stack_of(rank);
    if (!stack.empty()) files.emplace_back("pyspy_" + number + ".txt", stack);
  }
  if (!job_.gloo) files.emplace_back("ras.json", ras());
  files.emplace_back("launcher.log", launcher());
  if (dead_.empty()) files.emplace_back("stacks.txt", stacks_);
  return files;
}

using Node = std::pair<int, std::string>;

Node node_of(const json& party) {
  const std::string op =
      party.contains("op") ? party["op"].get<std::string>() + party["act"].dump() : std::string();
  return {party["rank"].get<int>(), op};
}

using Waits = std::map<Node, std::set<Node>>;

bool waits_for_itself(const Waits& waits, const Node& start) {
  std::vector<Node> open = {start};
  std::set<Node> seen;
  while (!open.empty()) {
    const auto next = waits.find(open.back());
    open.pop_back();
    if (next == waits.end()) continue;
    for (const Node& to : next->second) {
      if (to == start) return true;
      if (seen.insert(to).second) open.push_back(to);
    }
  }
  return false;
}

// Returns the roots of the run, and the ranks with an op on its cycle.
std::set<int> true_roots(const json& run) {
  std::set<int> ranks;
  for (const json& root : run["roots"]) {
    if (root.contains("rank")) ranks.insert(root["rank"].get<int>());
  }
  for (const json& wait : run["cycle"]) ranks.insert(wait["rank"].get<int>());
  Waits waits;
  for (const json& wait : run["waits"]) {
    if (wait["for"].contains("rank")) waits[node_of(wait)].insert(node_of(wait["for"]));
  }
  for (const auto& [node, next] : waits) {
    if (waits_for_itself(waits, node)) ranks.insert(node.first);
  }
  return ranks;
}

void add_ranks(const json& found, const char* list, std::set<int>& ranks) {
  if (!found.contains(list)) return;
  for (const json& it : found[list]) {
    const bool named = !it.is_object() || it.value("reason", "") != "unexplained";
    if (named) ranks.insert(it.is_object() ? it["rank"].get<int>() : it.get<int>());
  }
}

// Returns the blamed ranks. If `diagnose` does not know the rank of a process, it names the pid,
// which is 100 + rank in this test.
std::set<int> accused_ranks(const json& found) {
  std::set<int> ranks;
  for (const char* list : {"root_ranks", "roots", "cycle"}) add_ranks(found, list, ranks);
  if (!found.contains("processes")) return ranks;
  for (const json& process : found["processes"]) {
    if (!process.contains("pid") || process["state"] == "did not answer") continue;
    ranks.insert(std::stoi(process["pid"].get<std::string>()) - 100);
  }
  return ranks;
}

std::uint64_t subsets() {
  const char* value = std::getenv("PIPESIM_EVIDENCE_SUBSETS");
  return value == nullptr ? kSubsets : std::strtoull(value, nullptr, 10);
}

/// A hang and its evidence.
struct Hang {
  std::string scenario;
  std::set<int> roots;
  Files files;
};

std::optional<Hang> random_hang(std::uint64_t seed, twin::Random& random) {
  const Job job = random_job(random);
  const testing::Folder folder;
  Hang hang;
  hang.scenario = scenario_of(job);
  const std::string scenario = folder.write("job.yaml", hang.scenario);
  const auto ran = command({"run", scenario, "--json", "--all"});
  INFO("seed " << seed << "\n" << hang.scenario << ran.err);
  REQUIRE((ran.code == 0 || ran.code == 1));
  const json run = json::parse(ran.out);
  if (run["verdict"] != "deadlock" && run["verdict"] != "starved") return std::nullopt;
  hang.roots = true_roots(run);
  EvidenceMaker maker(job, run, command({"run", scenario, "--stacks"}).out, random);
  hang.files = maker.make();
  hang.roots.insert(maker.faulty().begin(), maker.faulty().end());
  hang.files.emplace_back("launches.log", command({"run", scenario, "--log", "-"}).out);
  REQUIRE_FALSE(hang.roots.empty());
  return hang;
}

/// Returns a random part of the files: of all kinds, or only of one or two kinds.
Files random_part(const Hang& hang, bool all_kinds, twin::Random& random) {
  const std::vector<std::string> kinds = {"dump",  "out",    "calls",    "ras",
                                          "pyspy", "stacks", "launches", "launcher"};
  const std::set<std::string> chosen = {random.pick(kinds), random.pick(kinds)};
  const int share = random.chance(10) ? 100 : random.between(10, 90);
  Files part;
  for (const auto& [name, text] : hang.files) {
    const bool fits = all_kinds || chosen.count(name.substr(0, name.find_first_of("_."))) > 0;
    if (fits && !text.empty() && random.chance(share)) part.emplace_back(name, text);
  }
  return part;
}

bool job_is_of_gloo(const Files& files) {
  return std::any_of(files.begin(), files.end(), [](const auto& file) {
    return file.second.find("gloo:") != std::string::npos;
  });
}

// Checks that only roots are blamed, and that nothing is called fine: the job hangs. Returns
// whether any rank is blamed.
bool blames_only_roots(const Hang& hang, const Files& part) {
  const testing::Folder folder;
  std::string names;
  for (const auto& [name, text] : part) {
    folder.write("e/" + name, text);
    names += " " + name;
  }
  const auto found = command({"diagnose", folder / "e", "--json"});
  INFO("files" << names << "\n" << hang.scenario << found.out << found.err);
  REQUIRE((found.code == 0 || found.code == 1 || found.code == 3));
  const std::set<int> accused = accused_ranks(json::parse(found.out));
  CHECK((!job_is_of_gloo(part) || found.code != 0));
  CHECK(std::includes(hang.roots.begin(), hang.roots.end(), accused.begin(), accused.end()));
  return !accused.empty();
}

}  // namespace

TEST_CASE("no part of the evidence of a hang blames a rank that is innocent", "[diagnose]") {
  constexpr int kSubsetsOfAJob = 10;
  const std::uint64_t wanted = subsets();
  std::uint64_t tried = 0;
  std::uint64_t named = 0;
  for (std::uint64_t seed = 1; tried < wanted; ++seed) {
    twin::Random random(seed);
    const std::optional<Hang> hang = random_hang(seed, random);
    for (int i = 0; hang && i < kSubsetsOfAJob && tried < wanted; ++i) {
      const Files part = random_part(*hang, i % 3 == 0, random);
      if (part.empty()) continue;
      INFO("seed " << seed);
      named += blames_only_roots(*hang, part) ? 1U : 0U;
      ++tried;
    }
  }
  // Requires that some rank is often blamed: otherwise, a diagnose that never blames a rank would
  // pass.
  CHECK(named * 4 > tried);
}
