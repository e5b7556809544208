#include "formats/evidence/stack_reader.hpp"

#include <algorithm>
#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;
using models::StackVerdict;
using models::WaitPlace;

namespace {

models::StackDumps read(const std::string& text, const std::string& path = "stacks.txt") {
  formats::StackReader reader;
  models::Diagnostics diagnostics;
  const bool good = reader.read(text, path, diagnostics);
  INFO(text);
  REQUIRE(good);
  return reader.take();
}

std::string process(const std::string& command, const std::string& frames) {
  return "Process 41: " + command + "\nPython v3.10.12 (/usr/bin/python3.10)\n\n" +
         "Thread 41 (idle): \"MainThread\"\n" + frames + "\n";
}

const std::string kAllReduce =
    "    wait (threading.py:320)\n    all_reduce (torch/distributed/distributed_c10d.py:1700)\n"
    "    step (train.py:88)\n";
const std::string kLoads = "    acquire (threading.py:9)\n    load (data.py:12)\n";

}  // namespace

TEST_CASE("what py-spy prints is read", "[formats][stack_reader]") {
  const auto found =
      read(process("python train.py --local_rank=3",
                   "    ncclGroupEnd (libnccl.so.2)\n    wait (threading.py:320)\n"
                   "        Locals:\n            x: 3\n    <module> (train.py:1)\n") +
           "Thread 0x7F3A (active+gil): \"Thread-2 (loader)\"\n    f (a b.py:3)\n");
  REQUIRE(found.threads.size() == 2);
  CHECK(found.threads[0].rank == 3);
  CHECK(found.threads[0].process == "41: python train.py --local_rank=3");
  REQUIRE(found.threads[0].frames.size() == 3);
  CHECK(found.threads[0].frames[0].function == "ncclGroupEnd");
  CHECK(found.threads[0].frames[0].place == "libnccl.so.2");
  CHECK(found.threads[0].frames[2].function == "<module>");
  CHECK_FALSE(found.threads[0].active);
  CHECK(found.threads[1].thread == "Thread-2 (loader)");
  CHECK(found.threads[1].active);
  CHECK(found.threads[1].frames.front().place == "a b.py:3");
  CHECK_FALSE(found.numbered);
}

TEST_CASE("the rank is in the label, the command, the file's name, or counted",
          "[formats][stack_reader]") {
  const std::string text = process("python train.py", kAllReduce);
  const auto labelled = [&](const std::string& label) {
    std::string result;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      result += label + text.substr(begin, end - begin + 1);
      begin = end + 1;
    }
    return result;
  };
  for (const char* label : {"5: ", "[node0:5] ", "rank 5: "}) {
    CHECK(read(labelled(label)).threads.front().rank == 5);
  }
  CHECK(read(text, "dumps/rank_7.txt").threads.front().rank == 7);
  CHECK(read(text, "dumps/stacks7").threads.front().rank == 7);
  const auto counted = read(labelled("node3: ") + labelled("node4: "));
  CHECK(counted.numbered);
  REQUIRE(counted.threads.size() == 2);
  CHECK(counted.threads[0].rank == 0);
  CHECK(counted.threads[1].rank == 1);
  CHECK(counted.threads[1].frames.size() == 3);
}

TEST_CASE("who does not wait in the collective is the odd one", "[formats][stack_reader]") {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) {
    text += process("python t.py --rank " + std::to_string(rank), rank == 2 ? kLoads : kAllReduce);
  }
  const auto found = models::diagnose(read(text));
  CHECK(found.verdict == StackVerdict::kOddOnes);
  CHECK(found.roots == std::vector<std::uint32_t>{2});
  REQUIRE(found.groups.size() == 2);
  CHECK(found.groups[0].ranks == std::vector<std::uint32_t>{0, 1, 3});
  CHECK(found.groups[0].place == WaitPlace::kCollective);
  CHECK(found.groups[0].op == "all_reduce");
  CHECK(found.groups[1].place == WaitPlace::kLock);
}

TEST_CASE("what frames say a thread waits in", "[formats][stack_reader]") {
  const auto place = [](const std::string& frames) {
    return models::diagnose(read(process("p --rank 0", frames))).groups.front().place;
  };
  CHECK(place("    pthread_cond_wait (libc.so)\n    barrier (torch/distributed/c10d.py:1)\n") ==
        WaitPlace::kCollective);
  CHECK(place("    batch_isend_irecv (distributed_c10d.py:1)\n") == WaitPlace::kMessage);
  CHECK(place("    synchronize (torch/cuda/__init__.py:1)\n") == WaitPlace::kDevice);
  CHECK(place("    synchronize (torch/cuda/streams.py:9)\n    all_gather (c10d.py:1)\n") ==
        WaitPlace::kCollective);
  CHECK(place("    cudaStreamSynchronize (libcudart.so)\n") == WaitPlace::kDevice);
  CHECK(place("    oneflow::EagerNcclCommMgr::GetCommForDeviceAndStreamName (liboneflow.so)\n") ==
        WaitPlace::kCreation);
  CHECK(place("    _try_get_data (torch/utils/data/dataloader.py:1)\n") == WaitPlace::kInput);
  CHECK(place("    take_gil (python3.10)\n    f (a.py:1)\n") == WaitPlace::kLock);
  CHECK(place("    f (a.py:1)\n") == WaitPlace::kUnknown);
}

TEST_CASE("what is no stack says so", "[formats][stack_reader]") {
  for (const std::string& text : {std::string(), std::string("hello\n"), std::string(100'000, '\0'),
                                  std::string("Process 1: x\n"), std::string("    f (a.py:1)\n")}) {
    formats::StackReader reader;
    models::Diagnostics diagnostics;
    CHECK_FALSE(reader.read(text, "x", diagnostics));
    CHECK(diagnostics.sorted().front().message == "no stack found in this file");
  }
  // Cut off anywhere.
  const std::string whole = process("p", kAllReduce);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    formats::StackReader reader;
    models::Diagnostics diagnostics;
    if (reader.read(whole.substr(0, size), "x", diagnostics)) models::diagnose(reader.take());
  }
}
