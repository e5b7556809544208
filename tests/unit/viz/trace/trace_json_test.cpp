// Events of traces. Each expectation follows from the few durations in the scenario above it.
// tests/tools/trace_test.py checks the rules that hold for all traces.
#include "viz/trace/trace_json.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "viz/report/json_string.hpp"
#include "viz/trace/process_groups.hpp"

using namespace pipesim;
using Json = nlohmann::json;

namespace {

// A trace of all ranks or of one rank, and its events.
struct Trace {
  Json whole;

  explicit Trace(const std::string& scenario, int rank = -1) {
    const models::TaskGraph graph = testing::scenario_of(scenario).graph;
    sim::RunOptions options;
    options.keep_op_times = true;
    const models::Simulation run = testing::simulate(graph, options);
    const models::Timeline timeline = models::timeline(graph, run);
    const std::vector<models::Flow> flows = models::flows(run);
    const viz::TraceWriter writer(graph, run, timeline, flows);
    std::string text;
    const auto keep = [&](std::string_view part) { text += part; };
    if (rank < 0) {
      writer.write(keep);
    } else {
      writer.write_rank(static_cast<std::uint32_t>(rank), keep);
    }
    whole = Json::parse(text);
  }

  // Returns one line per slice, as "rank lane: begin-end category name", in the order of the file.
  // Without `all`, omits each rank's step, and launches that take no time; both have their own test
  // cases.
  std::vector<std::string> slices(bool all = false) const {
    std::vector<std::string> found;
    for (const Json& event : whole["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const bool is_mark = event["cat"] == "user_annotation" ||
                           (event["cat"] == "cuda_runtime" && event["dur"] == 0.0);
      if (is_mark && !all) continue;
      const double begin = event["ts"];
      const double end = begin + event["dur"].get<double>();
      found.push_back(event["pid"].dump() + " " + event["tid"].dump() + ": " +
                      std::to_string(static_cast<int>(begin)) + "-" +
                      std::to_string(static_cast<int>(end)) + " " +
                      event["cat"].get<std::string>() + " " + event["name"].get<std::string>());
    }
    return found;
  }

  // Returns the flows, as "category from rank lane time to rank lane time".
  std::vector<std::string> flows() const {
    std::vector<std::string> found;
    const auto side = [](const Json& event) {
      return event["pid"].dump() + " " + event["tid"].dump() + " " +
             std::to_string(static_cast<int>(event["ts"].get<double>() * 1000));
    };
    for (const Json& event : whole["traceEvents"]) {
      if (event["ph"] != "s") continue;
      for (const Json& other : whole["traceEvents"]) {
        if (other["ph"] != "f" || other["id"] != event["id"] || other["cat"] != event["cat"]) {
          continue;
        }
        found.push_back(event["cat"].get<std::string>() + " from " + side(event) + " to " +
                        side(other));
      }
    }
    return found;
  }

  const Json& named(const std::string& name) const {
    const Json& events = whole["traceEvents"];
    const auto found = std::find_if(events.begin(), events.end(),
                                    [&](const Json& event) { return event["name"] == name; });
    REQUIRE(found != events.end());
    return *found;
  }
};

using Lines = std::vector<std::string>;

// Rank 0 reaches the collective at 1 us, rank 1 at 30 us.
constexpr const char* kUnevenRanks =
    "schema: 1\nranks: 2\ngroups: {tp: all}\nstreams: {s: {}}\nactors:\n"
    "  a: {stream: s, source: 1, takes: {case: rank, 0: 1us, else: 30us}}\n"
    "  g: {stream: s, reads: [a], takes: 5us, collective: {all_gather: tp, bytes: 100B}}\n";

}  // namespace

TEST_CASE("a collective is a kernel of NCCL that waits inside", "[viz][trace]") {
  const Trace trace(kUnevenRanks);
  CHECK(trace.slices() == Lines{"0 1: 0-1 kernel a", "0 1: 1-35 kernel ncclKernel_AllGather g",
                                "0 1: 1-30 wait waits for rank 1 g", "1 1: 0-30 kernel a",
                                "1 1: 30-35 kernel ncclKernel_AllGather g"});
  // The flow starts at the last rank to arrive, when the collective starts.
  CHECK(trace.flows() == Lines{"collective from 1 1 30000 to 0 1 30000"});
  const Json& args = trace.named("ncclKernel_AllGather g")["args"];
  CHECK(args["Collective name"] == "all_gather");
  CHECK(args["dtype"] == "Byte");
  CHECK(args["In msg nelems"] == 100);
  CHECK(args["Out msg nelems"] == 200);
  CHECK(args["Group size"] == 2);
  CHECK(args["Process Group Name"] == "tp");
  CHECK(args["Process Group Ranks"] == "[0, 1]");
  CHECK(args["stream"] == 1);
  CHECK(trace.named("waits for rank 1 g")["args"]["waits_for"] == Json::array({"rank 1 g"}));
  CHECK_FALSE(trace.whole["distributedInfo"].contains("rank"));
}

TEST_CASE("a trace of one rank has what is on it", "[viz][trace]") {
  const Trace trace(kUnevenRanks, 1);
  CHECK(trace.slices() == Lines{"1 1: 0-30 kernel a", "1 1: 30-35 kernel ncclKernel_AllGather g"});
  CHECK(trace.flows().empty());
  const Json& info = trace.whole["distributedInfo"];
  CHECK(info["rank"] == 1);
  CHECK(info["world_size"] == 2);
  CHECK(info["pg_config"][0]["ranks"] == Json::array({0, 1}));
}

// Each launch takes the thread 2 us; the second kernel waits on its stream until the first is done.
TEST_CASE("a launch that takes time leads to its kernel", "[viz][trace]") {
  const Trace trace(
      "schema: 1\nranks: 1\ndefaults: {launch_overhead: 2us}\nprograms:\n"
      "  do: [{compute: f, takes: 7us}, {compute: g, takes: 1us}, {synchronize: device}]\n");
  constexpr const char* kThread = "0 1000000: ";
  const auto on_thread = [&](const char* text) { return std::string(kThread) + text; };
  CHECK(trace.slices() ==
        Lines{on_thread("0-2 cpu_op f"), on_thread("0-2 cuda_runtime cudaLaunchKernel"),
              on_thread("2-4 cpu_op g"), on_thread("2-4 cuda_runtime cudaLaunchKernel"),
              on_thread("4-10 cuda_runtime cudaDeviceSynchronize"), "0 1: 2-9 kernel f",
              "0 1: 9-10 kernel g"});
  CHECK(trace.flows() ==
        Lines{"ac2g from 0 1000000 0 to 0 1 2000", "ac2g from 0 1000000 2000 to 0 1 9000"});
}

// Launches take no time: the thread launches both kernels at 0 and waits until the device is done
// at 8 us.
TEST_CASE("each kernel has a launch, in the step of its rank", "[viz][trace]") {
  const Trace trace(
      "schema: 1\nranks: 1\nprograms:\n"
      "  do: [{compute: f, takes: 7us}, {compute: g, takes: 1us}, {synchronize: device}]\n");
  CHECK(trace.slices(true) == Lines{"0 1000000: 0-8 user_annotation ProfilerStep#1",
                                    "0 1000000: 0-0 cuda_runtime cudaLaunchKernel",
                                    "0 1000000: 0-0 cuda_runtime cudaLaunchKernel",
                                    "0 1000000: 0-8 cuda_runtime cudaDeviceSynchronize",
                                    "0 1: 0-7 kernel f", "0 1: 7-8 kernel g"});
  std::vector<Json> launched;
  std::vector<Json> ran;
  for (const Json& event : trace.whole["traceEvents"]) {
    if (event["ph"] != "X" || !event["args"].contains("correlation")) continue;
    (event["cat"] == "kernel" ? ran : launched).push_back(event["args"]["correlation"]);
  }
  CHECK(launched == ran);
  CHECK(trace.flows().empty());  // a launch without a duration cannot contain a flow's end
  // A dead rank's step ends with the rank.
  const Trace dead(
      "schema: 1\nranks: 2\nfaults: [{rank: 1, dies: power, at: 4us}]\nprograms:\n"
      "  do: [{compute: f, takes: 30us}]\n");
  CHECK(dead.slices(true) ==
        Lines{"0 1000000: 0-33 user_annotation ProfilerStep#1",
              "0 1000000: 0-0 cuda_runtime cudaLaunchKernel", "0 1: 0-30 kernel f",
              "1 1000000: 0-4 user_annotation ProfilerStep#1",
              "1 1000000: 0-0 cuda_runtime cudaLaunchKernel", "1 1: 0-4 kernel f"});
}

// The send fills the buffer from 0 to 5 us. The recv starts at 1 us, takes the data as it arrives,
// and then the rest of its 7 us, so the recv does not wait. The flow is drawn while both ops run.
TEST_CASE("a message flows from its send to where it is received", "[viz][trace]") {
  const Trace trace(
      "schema: 1\nreading: real\nranks: 2\ngroups: {pp: all}\ncommunicators: {named: {p: {group: "
      "pp}}}\n"
      "programs:\n  do:\n"
      "    - {on: 0, do: [{send: p, to: 1, name: x, takes: 5us, bytes: 64B, type: bf16}]}\n"
      "    - {on: 1, do: [{host: w, takes: 1us}, {recv: p, from: 0, name: y, takes: 7us, "
      "bytes: 64B, type: bf16}]}\n");
  CHECK(trace.slices() == Lines{"0 1: 0-5 kernel ncclKernel_SendRecv x", "1 1000000: 0-1 cpu_op w",
                                "1 1: 1-7 kernel ncclKernel_SendRecv y"});
  CHECK(trace.flows() == Lines{"p2p from 0 1 1000 to 1 1 1000"});
  CHECK(trace.named("ncclKernel_SendRecv x")["args"]["Dst Rank"] == 1);
  CHECK(trace.named("ncclKernel_SendRecv y")["args"]["Src Rank"] == 0);
  CHECK(trace.named("ncclKernel_SendRecv y")["args"]["dtype"] == "BFloat16");
  CHECK(trace.named("ncclKernel_SendRecv y")["args"]["In msg nelems"] == 32);
}

// The last progress is at 30 us; endless waits are drawn for another tenth of the run.
TEST_CASE("what hangs lasts a little longer than the run", "[viz][trace]") {
  const Trace trace(
      "schema: 1\nreading: contract\nranks: 2\ngroups: {tp: all}\nprograms:\n  do:\n"
      "    - {compute: f, takes: 30us}\n"
      "    - {on: 0, do: [{all_reduce: tp, name: late, after: [compute]}]}\n");
  CHECK(trace.slices() == Lines{"0 1: 0-30 kernel f", "0 2: 0-30 wait wait for compute before late",
                                "0 2: 30-33 kernel ncclKernel_AllReduce late",
                                "0 2: 30-33 wait waits for rank 1", "1 1: 0-30 kernel f"});
  const Json& end = trace.named("STARVED");
  CHECK(end["ph"] == "i");
  CHECK(end["s"] == "g");
  CHECK(end["ts"] == 30.0);
  CHECK(end["args"]["cause"] == "absent member");
  CHECK(trace.named("waits for rank 1")["args"]["for_ever"] == true);
}

TEST_CASE("a rank that dies leaves its work where it was", "[viz][trace]") {
  const Trace trace(
      "schema: 1\nranks: 2\nfaults: [{rank: 1, dies: power, at: 4us}]\nprograms:\n"
      "  do: [{compute: f, takes: 30us}]\n");
  CHECK(trace.slices() == Lines{"0 1: 0-30 kernel f", "1 1: 0-4 kernel f"});
  CHECK(trace.named("rank 1 died")["ts"] == 4.0);
  CHECK(trace.named("rank 1 died")["s"] == "p");
}

TEST_CASE("what hangs at the end of time ends with it", "[viz][trace]") {
  const Trace trace(
      "schema: 1\nreading: contract\nranks: 2\ngroups: {tp: all}\nprograms:\n  do:\n"
      "    - {compute: f, takes: 9000000000s}\n"
      "    - {on: 0, do: [{all_reduce: tp, name: late, after: [compute]}]}\n");
  const Json& late = trace.named("ncclKernel_AllReduce late");
  CHECK(late["ts"].get<double>() == 9e15);
  // The time 2^63 - 1 ns is 9,223,372,036 s.
  CHECK(std::abs(late["dur"].get<double>() - 223'372'036'854'775.8) < 1);
}

TEST_CASE("types and sizes are PyTorch's", "[viz][trace]") {
  CHECK(viz::element_type("fp32").name == "Float");
  CHECK(viz::element_type("").bytes == 1);
  CHECK(viz::element_type("fp8").name == "fp8");
  CHECK(viz::element_type("fp8").bytes == 0);
  CHECK(viz::bytes_out(models::Operation::kAllReduce, 100, 4) == 100);
  CHECK(viz::bytes_out(models::Operation::kAllGather, 100, 4) == 400);
  CHECK(viz::bytes_out(models::Operation::kReduceScatter, 100, 4) == 25);
  CHECK(viz::bytes_out(models::Operation::kAllGather, std::int64_t{1} << 62, 4) == std::int64_t{1}
                                                                                       << 62);
}

TEST_CASE("a long list of ranks is cut as PyTorch cuts it", "[viz][trace]") {
  const models::TaskGraph graph =
      testing::scenario_of(
          "schema: 1\nranks: 31\ngroups: {all: all, few: [[0, 1], [2, 3]]}\nactors:\n"
          "  a: {on: 0..3, source: 1, takes: 1us, collective: {all_reduce: few}}\n"
          "  b: {source: 1, takes: 1us, collective: {all_reduce: all}}\n")
          .graph;
  const viz::ProcessGroups groups(graph);
  const viz::ProcessGroup* all = groups.of_group(0, 30);
  REQUIRE(all != nullptr);
  CHECK(all->name == "all");
  CHECK(all->ranks->size() == 31);
  REQUIRE(groups.of_group(1, 3) != nullptr);
  CHECK(groups.of_group(1, 3)->name == "few[1]");
  CHECK(groups.of_group(1, 4) == nullptr);
  CHECK(all->ranks_text.substr(all->ranks_text.size() - 14) == ", 28, 29, ...]");
}

TEST_CASE("a string of JSON has no bytes that JSON has not", "[viz][trace]") {
  CHECK(viz::json_string("plain") == "\"plain\"");
  CHECK(viz::json_string("a\"b\\c\n") == "\"a\\\"b\\\\c\\n\"");
  CHECK(viz::json_string("\xff") == "\"\\ufffd\"");
  CHECK(viz::json_string("\xc3\xa9") == "\"\\u00e9\"");
}
