// Finds waits by the function names of frames in PyTorch, Megatron-LM, DeepSpeed, OneFlow, NCCL and
// CUDA. The innermost frame with a known name counts. Frames that occur in every wait (a lock, a
// condition) count only if no other frame has a known name.
#include "features/diagnose/stack_places.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pipesim::models {
namespace {

enum class How : std::uint8_t {
  kPart,   // the name contains the text
  kExact,  // the name without classes and outer functions is the text
  kWeak,   // like kPart, but an outer frame is more specific
};

struct Meaning {
  std::string_view function;
  WaitPlace place;
  How how;
};

// Meanings of function names, in the order in which they are tried for a frame.
constexpr std::array kMeanings = {
    Meaning{"ncclCommInitRank", WaitPlace::kInit, How::kPart},
    Meaning{"commInit", WaitPlace::kInit, How::kPart},
    Meaning{"GetCommForDevice", WaitPlace::kInit, How::kPart},
    Meaning{"PullKV", WaitPlace::kInit, How::kPart},
    Meaning{"new_group", WaitPlace::kInit, How::kExact},
    Meaning{"init_process_group", WaitPlace::kInit, How::kExact},
    Meaning{"_create_c10d_store", WaitPlace::kStore, How::kExact},
    Meaning{"_store_based_barrier", WaitPlace::kStore, How::kExact},
    Meaning{"destroy_process_group", WaitPlace::kTeardown, How::kExact},
    Meaning{"ncclCommDestroy", WaitPlace::kTeardown, How::kWeak},
    Meaning{"ncclCommAbort", WaitPlace::kTeardown, How::kWeak},
    Meaning{"ncclCommFinalize", WaitPlace::kTeardown, How::kWeak},
    Meaning{"broadcast_tensors", WaitPlace::kUnknown, How::kExact},
    Meaning{"broadcast_to", WaitPlace::kUnknown, How::kExact},
    Meaning{"gloo::transport::tcp::Loop", WaitPlace::kUnknown, How::kPart},
    Meaning{"RecvWork::wait", WaitPlace::kMessage, How::kWeak},
    Meaning{"SendWork::wait", WaitPlace::kMessage, How::kWeak},
    Meaning{"waitRecv", WaitPlace::kCollective, How::kWeak},
    Meaning{"waitSend", WaitPlace::kCollective, How::kWeak},
    Meaning{"all_reduce", WaitPlace::kCollective, How::kPart},
    Meaning{"allreduce", WaitPlace::kCollective, How::kPart},
    Meaning{"all_gather", WaitPlace::kCollective, How::kPart},
    Meaning{"allgather", WaitPlace::kCollective, How::kPart},
    Meaning{"reduce_scatter", WaitPlace::kCollective, How::kPart},
    Meaning{"all_to_all", WaitPlace::kCollective, How::kPart},
    Meaning{"alltoall", WaitPlace::kCollective, How::kPart},
    Meaning{"gather_object", WaitPlace::kCollective, How::kExact},
    Meaning{"broadcast", WaitPlace::kCollective, How::kPart},
    Meaning{"barrier", WaitPlace::kCollective, How::kPart},
    Meaning{"wait_tensor", WaitPlace::kCollective, How::kExact},
    Meaning{"gloo::", WaitPlace::kCollective, How::kWeak},
    Meaning{"c10d::Work::wait", WaitPlace::kCollective, How::kWeak},
    Meaning{"WorkNCCL::", WaitPlace::kCollective, How::kWeak},
    Meaning{"batch_isend_irecv", WaitPlace::kMessage, How::kExact},
    Meaning{"_wait_batch_p2p", WaitPlace::kMessage, How::kExact},
    Meaning{"send_forward", WaitPlace::kMessage, How::kPart},
    Meaning{"send_backward", WaitPlace::kMessage, How::kPart},
    Meaning{"recv_forward", WaitPlace::kMessage, How::kPart},
    Meaning{"recv_backward", WaitPlace::kMessage, How::kPart},
    Meaning{"isend", WaitPlace::kMessage, How::kExact},
    Meaning{"irecv", WaitPlace::kMessage, How::kExact},
    Meaning{"send", WaitPlace::kMessage, How::kExact},
    Meaning{"recv", WaitPlace::kMessage, How::kExact},
    Meaning{"ncclGroupEnd", WaitPlace::kCollective, How::kPart},
    Meaning{"_try_get_data", WaitPlace::kInput, How::kExact},
    Meaning{"_get_data", WaitPlace::kInput, How::kExact},
    Meaning{"_next_data", WaitPlace::kInput, How::kExact},
    Meaning{"StreamSynchronize", WaitPlace::kDevice, How::kWeak},
    Meaning{"DeviceSynchronize", WaitPlace::kDevice, How::kWeak},
    Meaning{"EventSynchronize", WaitPlace::kDevice, How::kWeak},
};

// Names of Python methods that wait for the device, unless an outer frame is more specific.
constexpr std::array kDeviceMethods = {std::string_view("synchronize"), std::string_view("item")};

constexpr std::array kLocks = {std::string_view("take_gil"), std::string_view("acquire"),
                               std::string_view("PyThread_acquire_lock"),
                               std::string_view("pthread_mutex_lock")};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns the name of a Python function without its class: "result" of "Future.result".
std::string_view bare_name(const StackFrame& frame) {
  const std::string_view name = frame.function;
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot + 1 == name.size() ? name : name.substr(dot + 1);
}

bool is_any(std::string_view name, auto&& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Classifies a frame of pipesim's own stacks: "all_reduce dp#1 (started, spins) (pipesim)".
WaitPlace place_of_ours(const std::string& function) {
  if (has(function, "<finished>")) return WaitPlace::kFinished;
  if (has(function, "<waits for messages>")) return WaitPlace::kMessages;
  if (has(function, "creating the communicator")) return WaitPlace::kInit;
  if (has(function, "waiting for input")) return WaitPlace::kInput;
  if (function.starts_with("send ") || function.starts_with("recv ")) return WaitPlace::kMessage;
  if (function.starts_with("synchronize ")) return WaitPlace::kDevice;
  if (function.starts_with("lock ")) return WaitPlace::kLock;
  return has(function, "spins") ? WaitPlace::kCollective : WaitPlace::kDevice;
}

const Meaning* meaning_of(const StackFrame& frame) {
  // Skips frames of other libraries, whose pipes and sockets are not part of a communicator.
  for (const char* part : {"multiprocessing", "socket", "zmq", "asyncio", "http", "requests/",
                           "urllib", "grpc", "ssl.py"}) {
    if (has(frame.place, part)) return nullptr;
  }
  const std::string_view bare = bare_name(frame);
  const auto* found = std::find_if(kMeanings.begin(), kMeanings.end(), [&](const Meaning& meaning) {
    return meaning.how == How::kExact ? bare == meaning.function
                                      : has(frame.function, meaning.function);
  });
  return found == kMeanings.end() ? nullptr : found;
}

// Returns the name of a wait for reports. Native names are long, and gloo has its own names.
std::string op_of(const StackFrame& frame, const Meaning& meaning) {
  constexpr std::array<std::pair<std::string_view, const char*>, 5> kNames = {{
      {"allreduce", "all_reduce"},
      {"allgather", "all_gather"},
      {"alltoall", "all_to_all"},
      {"RecvWork::wait", "recv"},
      {"SendWork::wait", "send"},
  }};
  if (!has(frame.function, "::")) return std::string(bare_name(frame));
  for (const auto& [native, name] : kNames) {
    if (native == meaning.function) return name;
  }
  return std::string(meaning.function);
}

bool is_lock(const StackFrame& frame) {
  return std::any_of(kLocks.begin(), kLocks.end(), [&](std::string_view lock) {
    return frame.function.starts_with(lock) || bare_name(frame) == lock;
  });
}

// Whether the frame is PyTorch's call of its autograd engine, in any version of torch.
bool is_backward(const StackFrame& frame) {
  constexpr std::array kEngine = {std::string_view("_engine_run_backward"),
                                  std::string_view("run_backward")};
  return is_any(bare_name(frame), kEngine) ||
         (bare_name(frame) == "backward" && has(frame.place, "torch/autograd/__init__.py"));
}

// Whether the frame is of a debugger that asks for commands.
bool is_debugger(const StackFrame& frame) {
  constexpr std::array kDebuggers = {std::string_view("/pdb.py:"), std::string_view("/bdb.py:"),
                                     std::string_view("/IPython/core/debugger.py:"),
                                     std::string_view("/IPython/terminal/debugger.py:"),
                                     std::string_view("pydevd")};
  const std::string place = "/" + frame.place;
  return std::any_of(kDebuggers.begin(), kDebuggers.end(),
                     [&](std::string_view it) { return has(place, it); });
}

// Returns the innermost frame of a debugger in which the thread stands, or the end. A script that
// was started in a debugger has such frames outside of its own.
auto debugger_in(const std::vector<StackFrame>& frames) {
  const auto found = std::find_if(frames.begin(), frames.end(), is_debugger);
  const bool inner = std::all_of(frames.begin(), found, [](const StackFrame& frame) {
    return !is_of_user(frame) || has(frame.place, "cmd.py:") || has(frame.place, "prompt_toolkit/");
  });
  return inner ? found : frames.end();
}

// Whether a weak frame is more specific than `found`, the result of its inner frames.
bool says_more(WaitPlace place, const FoundPlace& found) {
  if (found.frame == nullptr) return true;
  return (found.place == WaitPlace::kDevice && place != WaitPlace::kDevice) ||
         (found.place == WaitPlace::kCollective && place == WaitPlace::kMessage);
}

// Adds the meaning of a frame to `found`, the result of its inner frames. Returns whether the
// search can stop.
bool add_frame(const StackFrame& frame, FoundPlace& found) {
  if (frame.place == "pipesim") {
    found.place = place_of_ours(frame.function);
    found.op = frame.function.substr(0, frame.function.find(" ("));
    found.frame = &frame;
    return true;
  }
  const Meaning* meaning = meaning_of(frame);
  if (meaning == nullptr) {
    if (found.frame == nullptr && is_any(bare_name(frame), kDeviceMethods)) {
      found.place = WaitPlace::kDevice;
      found.op = std::string(bare_name(frame));
      found.frame = &frame;
    }
    return false;
  }
  if (meaning->place == WaitPlace::kUnknown) return false;
  const bool weak = meaning->how == How::kWeak;
  if (!weak || says_more(meaning->place, found)) {
    found.place = meaning->place;
    found.op = op_of(frame, *meaning);
    found.frame = &frame;
  }
  const bool of_work = weak && meaning->function == "c10d::Work::wait";
  found.only_waits_for_work = found.only_waits_for_work || of_work;
  return !weak;
}

// Returns the wait of a stack without a known name: in the backward pass or for a lock.
FoundPlace unnamed_place(const std::vector<StackFrame>& frames) {
  const auto user = std::find_if(frames.begin(), frames.end(), is_of_user);
  const auto backward = std::find_if(frames.begin(), user, is_backward);
  if (backward != user) return {WaitPlace::kBackward, "backward", &*backward, false};
  const auto lock = std::find_if(frames.begin(), frames.end(), is_lock);
  if (lock == frames.end()) return {};
  return {WaitPlace::kLock, lock->function, &*lock, false};
}

}  // namespace

FoundPlace find_place(const std::vector<StackFrame>& frames) {
  const auto debugger = debugger_in(frames);
  if (debugger != frames.end()) return {WaitPlace::kDebugger, "a debugger", &*debugger, false};
  FoundPlace found;
  for (const StackFrame& frame : frames) {
    if (add_frame(frame, found)) return found;
  }
  return found.frame != nullptr ? found : unnamed_place(frames);
}

bool waits_for_thread(const std::vector<StackFrame>& frames) {
  if (debugger_in(frames) != frames.end()) return false;
  for (const StackFrame& frame : frames) {
    if (is_backward(frame)) return true;
    if (is_of_user(frame)) return false;
    const std::string_view name = bare_name(frame);
    const bool waits =
        ((name == "join" || name == "_wait_for_tstate_lock") && has(frame.place, "threading")) ||
        (name == "wait" && has(frame.place, "threading")) ||
        (name == "get" && has(frame.place, "queue.py")) ||
        (name == "result" && has(frame.place, "concurrent/futures")) ||
        name == "run_until_complete";
    if (waits) return true;
  }
  return false;
}

bool is_of_user(const StackFrame& frame) {
  if (!has(frame.place, ".py:") && !has(frame.place, ".ipynb")) return false;
  constexpr std::array kModules = {
      std::string_view("torch/"),         std::string_view("multiprocessing/"),
      std::string_view("concurrent/"),    std::string_view("asyncio/"),
      std::string_view("deepspeed/comm"), std::string_view("horovod/")};
  constexpr std::array kFiles = {
      std::string_view("threading.py:"),  std::string_view("selectors.py:"),
      std::string_view("queue.py:"),      std::string_view("socket.py:"),
      std::string_view("contextlib.py:"), std::string_view("functools.py:"),
      std::string_view("subprocess.py:"), std::string_view("runpy.py:")};
  const std::string_view place = frame.place;
  const bool of_module = std::any_of(kModules.begin(), kModules.end(), [&](std::string_view it) {
    return place.starts_with(it) || has(place, "/" + std::string(it));
  });
  const bool of_file = std::any_of(kFiles.begin(), kFiles.end(), [&](std::string_view it) {
    return place.starts_with(it) || has(place, "/" + std::string(it));
  });
  return !of_module && !of_file && !has(place, "<frozen") && !is_debugger(frame);
}

OutsideText host_text(const std::vector<StackFrame>& frames, const FoundPlace& found) {
  const StackFrame& frame = found.frame == nullptr ? frames.front() : *found.frame;
  if (frame.place == "pipesim") return frame.function;
  const std::string own =
      frame.place.empty() ? std::string(frame.function) : frame.function + " (" + frame.place + ")";
  if (is_of_user(frame)) return own;
  // A debugger's input is not of the user's program.
  const auto first = frames.begin() + (&frame - frames.data());
  const auto user = std::find_if(first, frames.end(), is_of_user);
  if (user == frames.end()) return own;
  std::string name = found.frame == nullptr ? std::string(frame.function) : std::string(found.op);
  if (found.place == WaitPlace::kInput) name = "its data loader (" + name + ")";
  return name + ", called in " + user->function + " (" + user->place + ")";
}

std::optional<HostStanding> host_at(const std::vector<StackFrame>& frames,
                                    const EvidencePlace& place) {
  const FoundPlace found = find_place(frames);
  const bool idle = found.place == WaitPlace::kMessages || found.place == WaitPlace::kFinished;
  if (idle || frames.empty()) return std::nullopt;
  const bool ours = found.frame != nullptr && found.frame->place == "pipesim";
  HostStanding standing;
  standing.waits = waits_for_others(found.place) || ours;
  standing.blocked = standing.waits || is_wait(found.place);
  standing.collective = !ours && found.place == WaitPlace::kCollective;
  standing.message = !ours && found.place == WaitPlace::kMessage;
  standing.in_line = !standing.blocked && is_of_user(frames.front());
  standing.at = host_text(frames, found);
  standing.place = place;
  return standing;
}

std::string short_function(std::string_view name) {
  constexpr std::size_t kLong = 100;
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  if (name.starts_with("0x")) return "?";  // an address, which differs between processes
  if (!has(name, "::")) return std::string(name);
  std::size_t end = name.size();
  for (std::size_t at = name.find('('); at != std::string_view::npos; at = name.find('(', at + 1)) {
    if (name.substr(at).starts_with(kAnonymous)) continue;
    end = at;
    break;
  }
  // A parenthesis within template arguments does not start the parameters.
  const std::string_view head = name.substr(0, end);
  const bool within =
      std::count(head.begin(), head.end(), '<') > std::count(head.begin(), head.end(), '>');
  if (!within && head.size() <= kLong) return std::string(head);
  return std::string(name.substr(0, name.find('<'))) + (has(name, "<") ? "<...>" : "");
}

bool waits_for_others(WaitPlace place) {
  switch (place) {
    case WaitPlace::kCollective:
    case WaitPlace::kMessage:
    case WaitPlace::kInit:
    case WaitPlace::kTeardown:
    case WaitPlace::kDevice:
    case WaitPlace::kStore:
    case WaitPlace::kBackward:
      return true;
    default:
      return false;
  }
}

bool is_wait(WaitPlace place) {
  return waits_for_others(place) || place == WaitPlace::kLock || place == WaitPlace::kInput ||
         place == WaitPlace::kDebugger;
}

std::string_view place_name(WaitPlace place) {
  switch (place) {
    case WaitPlace::kUnknown:
      break;
    case WaitPlace::kCollective:
      return "in a collective";
    case WaitPlace::kMessage:
      return "in a message";
    case WaitPlace::kInit:
      return "creating a communicator";
    case WaitPlace::kTeardown:
      return "destroying a communicator";
    case WaitPlace::kDevice:
      return "for the device";
    case WaitPlace::kStore:
      return "for the store";
    case WaitPlace::kBackward:
      return "in the backward pass";
    case WaitPlace::kLock:
      return "for a lock";
    case WaitPlace::kInput:
      return "for input";
    case WaitPlace::kDebugger:
      return "in a debugger";
    case WaitPlace::kMessages:
      return "for messages";
    case WaitPlace::kFinished:
      return "finished";
  }
  return "elsewhere";
}

}  // namespace pipesim::models
