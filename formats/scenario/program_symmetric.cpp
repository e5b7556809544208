// Reads steps of windows and of symmetric memory: what their hosts wait for.
//
// Sources: NVIDIA/nccl 2.31, src/dev_runtime.cc (ncclDevrWindowRegisterInGroup,
// ncclDevrCommCreateInternal); pytorch/pytorch,
// torch/csrc/distributed/c10d/symm_mem/{CUDA,NCCL,NVSHMEM}SymmetricMemory: read in the code, not
// measured; reports: sgl-project/sglang#36943, pytorch#192112, #195500, #195501, #196082.
#include <fmt/format.h>

#include "formats/scenario/program_reader.hpp"

namespace pipesim::formats {
namespace {

using models::ActorTemplate;
using models::CallTemplate;
using models::kNoIndex;
using models::Operation;
using sim::Role;

// A step in which the hosts of all ranks of a communicator meet. Each kind of meeting has its own
// sequence: ranks that call two kinds in opposite orders wait for each other.
struct WindowStep {
  const char* word;
  const char* meeting;
};

constexpr WindowStep kWindowSteps[] = {
    {"register", "windows"},
    {"device_communicator", "device communicators"},
};

constexpr const char* kSymmetricWords[] = {"symmetric_alloc", "symmetric_free", "rendezvous"};

}  // namespace

// Makes the step a meeting of hosts on `communicator`.
void ProgramReader::meet_hosts(ActorTemplate& actor, std::uint32_t communicator,
                               const Context& context) {
  CallTemplate call;
  call.place = actor.place;
  call.operation = Operation::kBarrier;
  call.communicator = communicator;
  actor.step->role = Role::kCalls;
  actor.stream = names_.stream_of_calls(call);
  actor.blocking = true;
  actor.step->calls.push_back(std::move(call));
  calls_on_ = {context.on};
}

// Reads a step about windows or symmetric memory. Returns false for other steps.
bool ProgramReader::read_symmetric(MapReader& map, ActorTemplate& actor, const Context& context) {
  for (const WindowStep& step : kWindowSteps) {
    const auto value = map.take(step.word);
    if (!value) continue;
    actor.name = fmt::format("{} {}", step.word, values_.word(*value).value_or(""));
    actor.step->role = Role::kWork;
    const std::uint32_t communicator = names_.communicator(*value, false);
    if (communicator == kNoIndex) return true;
    meet_hosts(actor, names_.hosts_of(communicator, step.meeting), context);
    return true;
  }
  for (const char* word : kSymmetricWords) {
    const auto value = map.take(word);
    if (!value) continue;
    actor.name = fmt::format("{} {}", word, values_.word(*value).value_or(""));
    actor.step->role = Role::kWork;
    const std::uint32_t communicator = names_.communicator(*value, false);
    if (communicator != kNoIndex) set_symmetric(word, communicator, actor, context);
    return true;
  }
  return false;
}

// Sets what a step about symmetric memory waits for, by the backend of that memory.
void ProgramReader::set_symmetric(std::string_view word, std::uint32_t communicator,
                                  ActorTemplate& actor, const Context& context) {
  const bool meets = word == "rendezvous";
  switch (defaults_.symmetric_memory) {
    case SymmetricMemory::kCuda:
      if (meets) {
        return meet_hosts(actor, names_.hosts_of(communicator, "symmetric memory"), context);
      }
      // An allocation waits for the current stream, a free for the device.
      actor.step->role = Role::kSynchronize;
      if (word == "symmetric_alloc") {
        actor.step->streams.push_back(names_.stream("compute", actor.place));
      }
      return;
    case SymmetricMemory::kNccl:
      if (meets) meet_hosts(actor, names_.hosts_of(communicator, "windows"), context);
      return;
    case SymmetricMemory::kNvshmem:
      // All three steps end in a barrier of all ranks of the job, whatever the group.
      return meet_hosts(actor, names_.hosts_of_all("NVSHMEM", actor.place), context);
  }
}

}  // namespace pipesim::formats
