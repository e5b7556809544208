#include "features/diagnose/stack_places.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using namespace pipesim;
using models::StackFrame;
using models::WaitPlace;

namespace {

using Frames = std::vector<StackFrame>;

const StackFrame kUser{"step", "train.py:88"};

WaitPlace place(Frames frames) {
  frames.push_back(kUser);
  return models::find_place(frames).place;
}

std::string host(Frames frames) {
  frames.push_back(kUser);
  return models::host_text(frames, models::find_place(frames));
}

}  // namespace

TEST_CASE("functions with the name of their class are known", "[models][stack_places]") {
  CHECK(place({{"_MultiProcessingDataLoaderIter._try_get_data",
                "torch/utils/data/dataloader.py:1"}}) == WaitPlace::kInput);
  CHECK(place({{"OpOverload.redispatch", "torch/_ops.py:882"},
               {"wait_tensor", "torch/distributed/_functional_collectives.py:142"}}) ==
        WaitPlace::kCollective);
  CHECK(place({{"_wait_batch_p2p", "torch/distributed/pipelining/schedules.py:7"}}) ==
        WaitPlace::kMessage);
  // Other libraries also send and receive.
  CHECK(place({{"HTTPAdapter.send", "requests/adapters.py:700"}}) == WaitPlace::kUnknown);
  CHECK(place({{"Connection.recv", "multiprocessing/connection.py:250"}}) == WaitPlace::kUnknown);
}

TEST_CASE("the outer frame of a native wait is more specific", "[models][stack_places]") {
  const StackFrame transport{"gloo::transport::tcp::UnboundBuffer::waitRecv", "libtorch_cpu.so"};
  const auto found = models::find_place(
      {transport, {"gloo::(anonymous namespace)::allreduce", "libtorch_cpu.so"}});
  CHECK(found.place == WaitPlace::kCollective);
  CHECK(found.op == "all_reduce");
  CHECK(place({transport, {"c10d::ProcessGroupGloo::RecvWork::wait", "libtorch_cpu.so"}}) ==
        WaitPlace::kMessage);
  CHECK(place({{"cudaStreamSynchronize", "libcudart.so.12"},
               {"c10d::ProcessGroupNCCL::WorkNCCL::synchronizeInternal", "libtorch_cuda.so"}}) ==
        WaitPlace::kCollective);
  CHECK(place({{"ncclCommDestroy", "libnccl.so.2"},
               {"destroy_process_group", "torch/distributed/distributed_c10d.py:2270"}}) ==
        WaitPlace::kTeardown);
  // A thread of gloo that serves all calls does not wait in one.
  CHECK(place({{"epoll_wait", "libc.so"},
               {"gloo::transport::tcp::Loop::run", "libtorch_cpu.so"}}) == WaitPlace::kUnknown);
  CHECK(models::find_place({{"c10d::Work::wait", "libtorch_cpu.so"}}).only_waits_for_work);
}

TEST_CASE("the backward pass is known in all versions of PyTorch", "[models][stack_places]") {
  CHECK(place({{"_engine_run_backward", "torch/autograd/graph.py:865"}}) == WaitPlace::kBackward);
  CHECK(place({{"backward", "torch/autograd/__init__.py:266"}}) == WaitPlace::kBackward);
  CHECK(models::waits_for_thread({{"backward", "torch/autograd/__init__.py:266"}}));
  // The user's own function of this name computes.
  CHECK(place({{"backward", "model.py:9"}}) == WaitPlace::kUnknown);
}

TEST_CASE("waits for another thread are known", "[models][stack_places]") {
  const StackFrame condition{"Condition.wait", "threading.py:327"};
  CHECK(
      models::waits_for_thread({condition, {"Future.result", "concurrent/futures/_base.py:451"}}));
  CHECK(models::waits_for_thread({{"Thread.join", "threading.py:1119"}, kUser}));
  CHECK(models::waits_for_thread({{"get", "queue.py:171"}, kUser}));
  CHECK_FALSE(models::waits_for_thread({{"Path.join", "paths.py:9"}, condition}));
}

TEST_CASE("a thread in a debugger stands at the user's line", "[models][stack_places]") {
  const Frames pdb = {{"cmdloop", "cmd.py:126"},
                      {"interaction", "/usr/lib/python3.11/pdb.py:360"},
                      {"trace_dispatch", "/usr/lib/python3.11/bdb.py:90"}};
  CHECK(place(pdb) == WaitPlace::kDebugger);
  CHECK(host(pdb) == "a debugger, called in step (train.py:88)");
  CHECK(host({{"run_in_thread", "prompt_toolkit/application.py:9"},
              {"cmdloop", "IPython/terminal/debugger.py:138"},
              {"interaction", "IPython/core/debugger.py:335"}}) ==
        "a debugger, called in step (train.py:88)");
  const Frames pydevd = {{"wait", "threading.py:331"},
                         {"_do_wait_suspend", "pydevd/pydevd.py:2188"}};
  CHECK(place(pydevd) == WaitPlace::kDebugger);
  CHECK_FALSE(models::waits_for_thread(pydevd));
  // A script that was started in a debugger, and files with similar names.
  CHECK(models::find_place({kUser, pdb[1]}).place == WaitPlace::kUnknown);
  CHECK(place({{"read", "cmd.py:3"}}) == WaitPlace::kUnknown);
  CHECK(host({{"read", "mypdb.py:3"}}) == "read (mypdb.py:3)");
}

TEST_CASE("a position has the line of the user's program", "[models][stack_places]") {
  CHECK(host({{"all_reduce", "torch/distributed/distributed_c10d.py:3252"}}) ==
        "all_reduce, called in step (train.py:88)");
  CHECK(host({{"select", "selectors.py:415"},
              {"_try_get_data", "torch/utils/data/dataloader.py:1291"}}) ==
        "its data loader (_try_get_data), called in step (train.py:88)");
  CHECK(host({{"load_shard", "data.py:40"}}) == "load_shard (data.py:40)");
  CHECK(models::host_text({{"waitRecv", "libgloo.so"}}, {}) == "waitRecv (libgloo.so)");
}

TEST_CASE("native names are short, and addresses are alike", "[models][stack_places]") {
  CHECK(models::short_function("0x7f516a6a3f16") == "?");
  CHECK(models::short_function("c10d::Work::wait(std::chrono::duration<long, std::ratio<1l> >)") ==
        "c10d::Work::wait");
  CHECK(models::short_function("gloo::(anonymous namespace)::ring(gloo::Options const&)") ==
        "gloo::(anonymous namespace)::ring");
  CHECK(models::short_function("pybind11::initialize<bool (c10d::Work*), " +
                               std::string(200, 'x')) == "pybind11::initialize<...>");
  CHECK(models::short_function("_exception_logger.<locals>.wrapper") ==
        "_exception_logger.<locals>.wrapper");
}
