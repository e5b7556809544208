// Events are formatted directly into a buffer, because a trace has millions of them. The order of
// events is part of the format: viewers read events with equal times in file order. A slice comes
// before the slices inside it, and the end of a flow after the slice that it binds to.
#include "viz/trace/trace_json.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/result/expectation.hpp"
#include "viz/report/json_string.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"
#include "viz/trace/process_groups.hpp"
#include "viz/trace/trace_index.hpp"

namespace pipesim::viz {
namespace {

using models::ActorTemplate;
using models::CallTemplate;
using models::Flow;
using models::kNoIndex;
using models::Lane;
using models::Slice;
using models::StuckOp;
using models::WorkKind;
using sim::ActorId;

constexpr std::size_t kPartBytes = std::size_t{1} << 16;
// Maximum number of listed waits of an op.
constexpr std::size_t kMaxWaits = 16;

// A time that is formatted in microseconds, exact to the nanosecond.
struct Micros {
  std::int64_t ns = 0;
};

std::string calls_text(const CallTemplate& call, std::uint32_t rank) {
  const auto peer = call.peer ? call.peer->value(rank) : std::nullopt;
  if (!peer) return operation_name(call.operation);
  const char* way = call.kind == sim::CallKind::kSend      ? "to"
                    : call.kind == sim::CallKind::kReceive ? "from"
                                                           : "of";
  return fmt::format("{} {} rank {}", operation_name(call.operation), way, *peer);
}

bool has_calls(const ActorTemplate& actor) { return actor.step && !actor.step->calls.empty(); }

}  // namespace
}  // namespace pipesim::viz

template <>
struct fmt::formatter<pipesim::viz::Micros> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <typename Context>
  auto format(const pipesim::viz::Micros& time, Context& context) const {
    return fmt::format_to(context.out(), "{}.{:03}", time.ns / 1000, time.ns % 1000);
  }
};

namespace pipesim::viz {

namespace {

/// The events of one trace file.
class Events {
 public:
  Events(const TraceIndex& of, const std::optional<std::uint32_t>& rank, const TextSink& sink)
      : of_(of), rank_(rank), sink_(sink) {}

  void run() {
    write_head();
    const auto [first, last] = lanes();
    for (std::uint32_t rank = 0; rank < of_.plan().rank_count; ++rank) {
      if (!rank_ || *rank_ == rank) write_process(rank);
    }
    for (auto lane = first; lane != last; ++lane) write_thread_name(**lane);
    for (auto lane = first; lane != last; ++lane) {
      const bool begins_rank = lane == first || (*std::prev(lane))->rank != (*lane)->rank;
      if (begins_rank) write_step(**lane);
      write_lane(**lane);
    }
    if (!rank_) {
      for (const Flow& flow : of_.flows()) write_flow(flow);
    }
    write_instants(first == last ? Track{rank_.value_or(0), 0} : of_.track(**first));
    write_tail();
  }

 private:
  using Lanes = std::vector<const Lane*>::const_iterator;

  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  // Begins the next event.
  void next() {
    if (text_.size() >= kPartBytes) flush();
    text_.append(std::string_view(any_ ? ",\n" : "\n"));
    any_ = true;
  }

  void flush() {
    sink_({text_.data(), text_.size()});
    text_.clear();
  }

  std::pair<Lanes, Lanes> lanes() const {
    const std::vector<const Lane*>& all = of_.lanes();
    if (!rank_) return {all.begin(), all.end()};
    const auto begins = [](const Lane* lane, std::uint32_t rank) { return lane->rank < rank; };
    return {std::lower_bound(all.begin(), all.end(), *rank_, begins),
            std::lower_bound(all.begin(), all.end(), *rank_ + 1, begins)};
  }

  void write_head();
  void write_tail();
  void write_process(std::uint32_t rank);
  void write_thread_name(const Lane& lane);
  void write_step(const Lane& lane);
  void write_lane(const Lane& lane);
  void write_launch(const Slice& slice, const Track& track);
  void write_launch(const Launch& launch, const Track& track);
  std::string_view launch_name(ActorId id) const;
  bool has_launch_flow(ActorId id, std::uint32_t k) const;
  void write_flow_end(char which, std::uint64_t id, const char* name, const Track& track,
                      std::int64_t ns);
  void write_host_step(const Slice& slice, const Track& track);
  void write_on_stream(const Slice& slice, const Track& track);
  bool write_stuck_of(const Slice& slice, const Track& track);
  void write_wait_of(const Slice& slice, const Track& track);
  void write_stuck(const StuckOp& op, const std::string& name, std::int64_t begin, std::int64_t end,
                   const Track& track);
  void write_flow(const Flow& flow);
  void write_instants(const Track& track);
  void begin_instant(char scope, std::string_view category, std::string_view name,
                     const Track& track, std::int64_t ns);
  void begin_slice(std::string_view category, std::string_view name, const Track& track,
                   std::int64_t begin, std::int64_t end);
  void add_op(ActorId id, std::uint32_t k);
  void add_collective(const models::CollectiveTemplate& collective, std::uint32_t rank);
  void add_calls(const models::ShortList<CallTemplate>& calls, std::uint32_t rank);
  void add_group(const ProcessGroup* group);
  void add_sizes(models::Operation operation, std::int64_t bytes, const std::string& type,
                 const ProcessGroup* group);
  std::string kernel_name(ActorId id, std::uint32_t k) const;
  std::int64_t device_number(ActorId id) const;
  bool copies(const ActorTemplate& actor) const {
    return !has_calls(actor) && models::work_kind(of_.graph(), actor) == WorkKind::kMessage;
  }

  const TraceIndex& of_;
  std::optional<std::uint32_t> rank_;
  const TextSink& sink_;
  fmt::memory_buffer text_;
  bool any_ = false;
  std::uint64_t flow_ = 0;
};

// Writes the head. HTA looks for the rank only in the text before the events.
void Events::write_head() {
  add("{{\n\"schemaVersion\": 1,\n\"distributedInfo\": {{\"backend\": \"nccl\", ");
  if (rank_) add("\"rank\": {}, ", *rank_);
  add("\"world_size\": {}, ", of_.plan().rank_count);
  std::vector<const ProcessGroup*> groups;
  for (const ProcessGroup& group : of_.groups().all()) {
    const bool has =
        !rank_ || std::find(group.ranks->begin(), group.ranks->end(), *rank_) != group.ranks->end();
    if (has) groups.push_back(&group);
  }
  add("\"pg_count\": {}, \"pg_config\": [", groups.size());
  for (const ProcessGroup* group : groups) {
    add("{}\n{{\"pg_name\": {}, \"pg_desc\": {}, \"backend_config\": \"cuda:nccl\", \"pg_size\": "
        "{}, \"ranks\": [{}]}}",
        group == groups.front() ? "" : ",", json_string(group->name), json_string(group->about),
        group->ranks->size(), fmt::join(*group->ranks, ", "));
  }
  add("]}},\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": 0,\n\"traceEvents\": [");
}

void Events::write_tail() {
  add("\n],\n\"traceName\": {}\n}}\n", json_string(of_.graph().name));
  flush();
}

void Events::write_process(std::uint32_t rank) {
  const auto metadata = [&](const char* what, const char* key, const std::string& value) {
    next();
    add(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": 0, "ts": 0.000, "args": {{"{}": {}}}}})",
        what, rank, key, value);
  };
  const std::string host = models::host_name(of_.graph(), rank);
  metadata("process_name", "name", json_string(fmt::format("rank {}", rank)));
  metadata("process_labels", "labels", json_string(host));
  metadata("process_sort_index", "sort_index", std::to_string(rank));
}

void Events::write_thread_name(const Lane& lane) {
  const Track track = of_.track(lane);
  const auto metadata = [&](const char* what, const char* key, const std::string& value) {
    next();
    add(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "ts": 0.000, "args": {{"{}": {}}}}})",
        what, track.pid, track.tid, key, value);
  };
  metadata("thread_name", "name",
           json_string(fmt::format("{} {}", lane.is_thread ? "thread" : "stream", lane.name)));
  // Sorts threads above streams.
  const std::uint32_t place =
      lane.is_thread ? track.tid - TraceIndex::kFirstThread : track.tid + TraceIndex::kFirstThread;
  metadata("thread_sort_index", "sort_index", std::to_string(place));
}

// Writes the training step as PyTorch's profiler marks it, around all ops of a rank's first thread.
// HTA ignores launches outside a step.
void Events::write_step(const Lane& lane) {
  if (!lane.is_thread) return;
  std::int64_t end = of_.end_ns();
  for (const models::DeathReport& death : of_.run().explanation.deaths) {
    if (death.rank == lane.rank && !death.after_quiescence) end = death.time_ns;
  }
  begin_slice("user_annotation", "ProfilerStep#1", of_.track(lane), 0, end);
  add("}}}}");
}

void Events::write_lane(const Lane& lane) {
  const Track track = of_.track(lane);
  std::int64_t end = 0;
  std::size_t launched = 0;
  const auto launch_until = [&](std::int64_t ns) {
    if (!lane.is_thread) return;
    const std::vector<Launch>& launches = of_.launches(lane);
    for (; launched < launches.size() && launches[launched].ns <= ns; ++launched) {
      write_launch(launches[launched], track);
      end = std::max(end, launches[launched].ns);
    }
  };
  for (const Slice& slice : lane.slices) {
    launch_until(slice.begin_ns);
    end = of_.end_of(slice);
    if (!lane.is_thread) {
      write_on_stream(slice, track);
    } else if (sim::on_host(of_.plan().actors[slice.actor].role)) {
      write_host_step(slice, track);
    } else {
      write_launch(slice, track);
    }
  }
  launch_until(of_.end_ns());
  // The lane is idle, and its next op is stuck.
  if (!lane.stuck.empty() && end < of_.end_ns()) {
    const StuckOp& next = lane.stuck.front();
    write_stuck(next, of_.label(next.actor, next.k) + " ", end, of_.end_ns(), track);
  }
}

// Writes a slice up to its arguments.
void Events::begin_slice(std::string_view category, std::string_view name, const Track& track,
                         std::int64_t begin, std::int64_t end) {
  next();
  add(R"({{"ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{)",
      category, json_string(name), track.pid, track.tid, Micros{begin}, Micros{end - begin});
}

// Writes the arguments common to all slices of an op.
void Events::add_op(ActorId id, std::uint32_t k) {
  const models::OpName op = of_.names().op(id, k);
  add(R"("op": {}, "act": {})", json_string(op.name), op.number);
  const std::uint32_t micro_batch = of_.names().micro_batch(id, k);
  if (micro_batch > 0) add(R"(, "micro_batch": {})", micro_batch);
  const auto& step = of_.names().actor(id).step;
  if (step && !step->at.empty()) add(R"(, "at": {})", json_string(step->at));
}

void Events::add_group(const ProcessGroup* group) {
  if (group == nullptr) return;
  add(R"(, "Group size": {}, "Process Group Name": {}, "Process Group Description": {}, )"
      R"("Process Group Ranks": "{}")",
      group->ranks->size(), json_string(group->name), json_string(group->about), group->ranks_text);
}

void Events::add_sizes(models::Operation operation, std::int64_t bytes, const std::string& type,
                       const ProcessGroup* group) {
  const ElementType element = element_type(type);
  add(R"(, "dtype": {})", json_string(element.name));
  if (element.bytes == 0 || bytes == 0) return;
  const auto members = group == nullptr ? 1 : static_cast<std::int64_t>(group->ranks->size());
  add(R"(, "In msg nelems": {}, "Out msg nelems": {})", bytes / element.bytes,
      bytes_out(operation, bytes, members) / element.bytes);
}

void Events::add_collective(const models::CollectiveTemplate& collective, std::uint32_t rank) {
  const ProcessGroup* group = collective.communicator == kNoIndex
                                  ? of_.groups().of_group(collective.group, rank)
                                  : of_.groups().of_communicator(collective.communicator, rank);
  add(R"(, "Collective name": {})", json_string(collective_name(collective.operation)));
  add_sizes(collective.operation, collective.bytes, "", group);
  add_group(group);
}

// Writes the arguments of calls that run as one op. Describes the first call, as PyTorch does.
void Events::add_calls(const models::ShortList<CallTemplate>& calls, std::uint32_t rank) {
  const CallTemplate& call = calls.front();
  const ProcessGroup* group = of_.groups().of_communicator(call.communicator, rank);
  add(R"(, "Collective name": {})", json_string(collective_name(call.operation)));
  add_sizes(call.operation, call.bytes.value(rank).value_or(0), call.type, group);
  add_group(group);
  const auto peer = call.peer ? call.peer->value(rank) : std::nullopt;
  if (peer && call.kind == sim::CallKind::kSend) add(R"(, "Dst Rank": {})", *peer);
  if (peer && call.kind == sim::CallKind::kReceive) add(R"(, "Src Rank": {})", *peer);
  if (calls.size() == 1) return;
  add(R"(, "calls": [)");
  for (std::size_t i = 0; i < calls.size(); ++i) {
    add("{}{}", i == 0 ? "" : ", ", json_string(calls_text(calls[i], rank)));
  }
  add("]");
}

// Returns the name of a kernel. HTA recognizes communication by the prefix `ncclKernel`, and copies
// by `Memcpy`.
std::string Events::kernel_name(ActorId id, std::uint32_t k) const {
  const ActorTemplate& actor = of_.names().actor(id);
  std::string label = of_.label(id, k);
  if (actor.collective) {
    return fmt::format("{} {}", nccl_kernel(actor.collective->operation), label);
  }
  if (has_calls(actor)) {
    const models::ShortList<CallTemplate>& calls = actor.step->calls;
    const auto meets_all = std::find_if(calls.begin(), calls.end(), [](const CallTemplate& call) {
      return call.kind == sim::CallKind::kCollective;
    });
    return fmt::format(
        "{} {}",
        nccl_kernel(meets_all == calls.end() ? models::Operation::kSend : meets_all->operation),
        label);
  }
  return copies(actor) ? "Memcpy " + label : label;
}

// Returns the device number on its host, as Kineto counts. Without a cluster, all ranks share a
// host.
std::int64_t Events::device_number(ActorId id) const {
  const sim::Actor& actor = of_.plan().actors[id];
  if (of_.graph().cluster) return of_.graph().cluster->device_of_rank[actor.rank.value];
  const sim::DeviceId device = of_.plan().streams[actor.stream].device;
  return device.valid() ? device.value : actor.rank.value;
}

void Events::write_on_stream(const Slice& slice, const Track& track) {
  const std::int64_t end = of_.end_of(slice);
  const ActorId id = slice.actor;
  const ActorTemplate& actor = of_.names().actor(id);
  if (!sim::needs_slot(of_.plan().actors[id].role)) {
    // Writes an event record or event wait as a wait; skips it if it has no duration.
    if (end == slice.begin_ns) return;
    begin_slice("wait", of_.label(id, slice.k), track, slice.begin_ns, end);
    add_op(id, slice.k);
    add("}}}}");
    if (!slice.done) write_wait_of(slice, track);
    return;
  }
  const bool on_device = of_.on_device(id);
  begin_slice(!on_device      ? "cpu_op"
              : copies(actor) ? "gpu_memcpy"
                              : "kernel",
              on_device ? kernel_name(id, slice.k) : of_.label(id, slice.k), track, slice.begin_ns,
              end);
  add_op(id, slice.k);
  if (on_device) {
    add(R"(, "device": {}, "stream": {}, "correlation": {})", device_number(id), track.tid,
        of_.correlation(id, slice.k));
  }
  if (actor.collective) add_collective(*actor.collective, track.pid);
  if (has_calls(actor)) add_calls(actor.step->calls, track.pid);
  add("}}}}");
  if (has_launch_flow(id, slice.k)) {
    write_flow_end('f', of_.correlation(id, slice.k), "ac2g", track, slice.begin_ns);
  }
  if (slice.work_ns > slice.begin_ns || !slice.done) write_wait_of(slice, track);
}

// Writes the host op and, inside it, the CUDA call.
void Events::write_launch(const Slice& slice, const Track& track) {
  const std::int64_t end = of_.end_of(slice);
  begin_slice("cpu_op", of_.label(slice.actor, slice.k), track, slice.begin_ns, end);
  add_op(slice.actor, slice.k);
  add("}}}}");
  if (of_.on_device(slice.actor)) {
    begin_slice("cuda_runtime", launch_name(slice.actor), track, slice.begin_ns, end);
    const std::uint64_t correlation = of_.correlation(slice.actor, slice.k);
    add(R"("correlation": {}}}}})", correlation);
    if (has_launch_flow(slice.actor, slice.k)) {
      write_flow_end('s', correlation, "ac2g", track, slice.begin_ns);
    }
  }
  write_stuck_of(slice, track);
}

// Writes a launch without duration. HTA uses its correlation to find the launch of a kernel, and
// thus the training step of the kernel.
void Events::write_launch(const Launch& launch, const Track& track) {
  begin_slice("cuda_runtime", launch_name(launch.op.actor), track, launch.ns, launch.ns);
  add(R"("correlation": {}}}}})", of_.correlation(launch.op.actor, launch.op.k));
}

std::string_view Events::launch_name(ActorId id) const {
  return copies(of_.names().actor(id)) ? "cudaMemcpyAsync" : "cudaLaunchKernel";
}

// Writes a host step under its CUDA name, if CUDA has a name for it.
void Events::write_host_step(const Slice& slice, const Track& track) {
  const auto& step = of_.names().actor(slice.actor).step;
  const sim::Actor& actor = of_.plan().actors[slice.actor];
  const bool awaits =
      actor.role == sim::Role::kAwait && of_.plan().signals[actor.signal].recorded();
  const bool synchronizes = actor.role == sim::Role::kSynchronize;
  const bool of_cuda = awaits || synchronizes;
  const std::string name = awaits                           ? "cudaEventSynchronize"
                           : !synchronizes                  ? of_.label(slice.actor, slice.k)
                           : step && !step->streams.empty() ? "cudaStreamSynchronize"
                                                            : "cudaDeviceSynchronize";
  begin_slice(of_cuda ? "cuda_runtime" : "cpu_op", name, track, slice.begin_ns, of_.end_of(slice));
  add_op(slice.actor, slice.k);
  add("}}}}");
  write_stuck_of(slice, track);
}

// Whether a flow leads from the launch of an op to the op: both must have slices with a duration.
bool Events::has_launch_flow(ActorId id, std::uint32_t k) const {
  const Slice* slice = of_.slice(id, k);
  if (slice == nullptr || of_.end_of(*slice) == slice->begin_ns || !of_.on_device(id)) {
    return false;
  }
  const sim::OpTimes& times = of_.run().outcome.op_times.of(id, k);
  const sim::Time back = of_.plan().actors[id].blocking ? times.end : times.launch;
  return back == sim::kNever || back > times.enter;
}

// Writes the wait of an op that is stuck forever. Returns whether the op is stuck.
bool Events::write_stuck_of(const Slice& slice, const Track& track) {
  const StuckOp* stuck = slice.done ? nullptr : of_.stuck(slice.actor, slice.k);
  if (stuck == nullptr) return false;
  write_stuck(*stuck, "", slice.begin_ns, of_.end_of(slice), track);
  return true;
}

// Writes the waiting part of a slice, without a stream argument. With a stream argument, HTA would
// count the part as a kernel, and its time twice.
void Events::write_wait_of(const Slice& slice, const Track& track) {
  if (write_stuck_of(slice, track) || slice.work_ns <= slice.begin_ns) return;
  const Op& peer = of_.peer(slice.actor, slice.k);
  const std::string for_whom =
      peer.actor.valid() ? fmt::format("rank {} {}", of_.plan().actors[peer.actor].rank.value,
                                       of_.label(peer.actor, peer.k))
                         : "its peers";
  begin_slice("wait", "waits for " + for_whom, track, slice.begin_ns, slice.work_ns);
  add(R"("waits_for": [{}]}}}})", json_string(for_whom));
}

void Events::write_stuck(const StuckOp& op, const std::string& name, std::int64_t begin,
                         std::int64_t end, const Track& track) {
  if (end <= begin) return;
  begin_slice("wait", fmt::format("{}waits for {}", name, party_text(op.waits.front().to)), track,
              begin, end);
  add_op(op.actor, op.k);
  add(R"(, "state": {}, "waits_for": [)", json_string(stage_text(op.waits.front().from.op)));
  const std::size_t count = std::min(op.waits.size(), kMaxWaits);
  const auto list = [&](const auto& text) {
    for (std::size_t i = 0; i < count; ++i) {
      add("{}{}", i == 0 ? "" : ", ", json_string(text(op.waits[i])));
    }
  };
  list([](const models::Wait& wait) { return party_text(wait.to); });
  add(R"(], "how": [)");
  list(wait_text);
  add("]");
  if (op.waits.size() > count) add(R"(, "more_waits": {})", op.waits.size() - count);
  add(R"(, "for_ever": true, "on_cycle": {}}}}})", op.on_cycle);
}

void Events::write_flow(const Flow& flow) {
  const Slice* from = of_.slice(flow.from, flow.from_k);
  const Slice* to = of_.slice(flow.to, flow.to_k);
  // A slice without duration encloses nothing, so viewers would drop the flow.
  if (from == nullptr || to == nullptr) return;
  if (from->end_ns == from->begin_ns || to->end_ns == to->begin_ns) return;
  // A flow starts at the last moment at which the sender holds the data, and ends when the receiver
  // takes the data.
  const std::int64_t taken = flow.kind == Flow::Kind::kRegister ? to->begin_ns : to->work_ns;
  const std::int64_t last = std::min(std::max(taken, from->begin_ns), to->end_ns - 1);
  const std::int64_t first = std::min(from->end_ns - 1, last);
  if (first < from->begin_ns || last < to->begin_ns) return;
  const char* name = flow.kind == Flow::Kind::kMessage      ? "p2p"
                     : flow.kind == Flow::Kind::kCollective ? "collective"
                                                            : "data";
  const std::uint64_t id = ++flow_;
  write_flow_end('s', id, name, of_.stream_track(flow.from), first);
  write_flow_end('f', id, name, of_.stream_track(flow.to), last);
}

// Writes one end of a flow, which binds to the slice open at that time.
void Events::write_flow_end(char which, std::uint64_t id, const char* name, const Track& track,
                            std::int64_t ns) {
  next();
  add(R"({{"ph": "{}", {}"id": {}, "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}}})",
      which, which == 'f' ? R"("bp": "e", )" : "", id, name, name, track.pid, track.tid,
      Micros{ns});
}

void Events::begin_instant(char scope, std::string_view category, std::string_view name,
                           const Track& track, std::int64_t ns) {
  next();
  add(R"({{"ph": "i", "s": "{}", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}, "args": {{)",
      scope, category, json_string(name), track.pid, track.tid, Micros{ns});
}

// Writes the deaths and the verdict as instants. Omits a teardown minutes later, which would shrink
// the rest to a dot.
void Events::write_instants(const Track& track) {
  const models::Explanation& end = of_.run().explanation;
  for (const models::DeathReport& death : end.deaths) {
    if (death.after_quiescence || (rank_ && *rank_ != death.rank)) continue;
    begin_instant('p', "death", fmt::format("rank {} died", death.rank), {death.rank, 0},
                  death.time_ns);
    add(R"("cause": {}, "what": {}}}}})", json_string(death_name(death.cause)),
        json_string(death.what));
  }
  if (end.verdict == sim::Verdict::kCompleted) return;
  std::string verdict = models::verdict_name(end.verdict);
  std::transform(verdict.begin(), verdict.end(), verdict.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  begin_instant('g', "verdict", verdict, track, end.time_ns);
  add(R"("cause": {}, "cycle": [)", json_string(models::cause_name(end.cause)));
  const std::size_t count = std::min(end.cycle.size(), 4 * kMaxWaits);
  for (std::size_t i = 0; i < count; ++i) {
    const models::Wait& wait = end.cycle[i];
    add("{}{}", i == 0 ? "" : ", ",
        json_string(fmt::format("{} {}", party_text(wait.from), wait_text(wait))));
  }
  add("]}}}}");
}

}  // namespace

TraceWriter::TraceWriter(const models::TaskGraph& graph, const models::Simulation& run,
                         const models::Timeline& timeline, const std::vector<Flow>& flows)
    : index_(std::make_unique<const TraceIndex>(graph, run, timeline, flows)) {}

TraceWriter::~TraceWriter() = default;

void TraceWriter::write(const TextSink& sink) const { Events(*index_, std::nullopt, sink).run(); }

void TraceWriter::write_rank(std::uint32_t rank, const TextSink& sink) const {
  Events(*index_, rank, sink).run();
}

}  // namespace pipesim::viz
