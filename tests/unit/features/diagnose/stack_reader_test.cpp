#include "features/diagnose/stack_reader.hpp"

#include <algorithm>
#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;
using models::StackVerdict;
using models::WaitPlace;

namespace {

models::StackDumps stacks_in(const std::string& text, const std::string& path = "stacks.txt") {
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
      stacks_in(process("python train.py --local_rank=3",
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
    CHECK(stacks_in(labelled(label)).threads.front().rank == 5);
  }
  CHECK(stacks_in(text, "dumps/rank_7.txt").threads.front().rank == 7);
  CHECK(stacks_in(text, "dumps/stacks7").threads.front().rank == 7);
  const auto counted = stacks_in(labelled("node3: ") + labelled("node4: "));
  CHECK(counted.numbered);
  REQUIRE(counted.threads.size() == 2);
  CHECK(counted.threads[0].rank == 0);
  CHECK(counted.threads[1].rank == 1);
  CHECK(counted.threads[1].frames.size() == 3);
}

TEST_CASE("who does not wait in the collective is the straggler", "[formats][stack_reader]") {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) {
    text += process("python t.py --rank " + std::to_string(rank), rank == 2 ? kLoads : kAllReduce);
  }
  const auto found = models::diagnose(stacks_in(text));
  CHECK(found.verdict == StackVerdict::kStragglers);
  CHECK(found.roots == std::vector<std::uint32_t>{2});
  REQUIRE(found.groups.size() == 2);
  CHECK(found.groups[0].ranks == std::vector<std::uint32_t>{0, 1, 3});
  CHECK(found.groups[0].place == WaitPlace::kCollective);
  CHECK(found.groups[0].op == "all_reduce");
  CHECK(found.groups[1].place == WaitPlace::kLock);
}

TEST_CASE("what frames say a thread waits in", "[formats][stack_reader]") {
  const auto place = [](const std::string& frames) {
    return models::diagnose(stacks_in(process("p --rank 0", frames))).groups.front().place;
  };
  CHECK(place("    pthread_cond_wait (libc.so)\n    barrier (torch/distributed/c10d.py:1)\n") ==
        WaitPlace::kCollective);
  CHECK(place("    batch_isend_irecv (distributed_c10d.py:1)\n") == WaitPlace::kMessage);
  CHECK(place("    synchronize (torch/cuda/__init__.py:1)\n") == WaitPlace::kDevice);
  CHECK(place("    synchronize (torch/cuda/streams.py:9)\n    all_gather (c10d.py:1)\n") ==
        WaitPlace::kCollective);
  CHECK(place("    cudaStreamSynchronize (libcudart.so)\n") == WaitPlace::kDevice);
  CHECK(place("    oneflow::EagerNcclCommMgr::GetCommForDeviceAndStreamName (liboneflow.so)\n") ==
        WaitPlace::kInit);
  CHECK(place("    _try_get_data (torch/utils/data/dataloader.py:1)\n") == WaitPlace::kInput);
  CHECK(place("    take_gil (python3.10)\n    f (a.py:1)\n") == WaitPlace::kLock);
  CHECK(place("    f (a.py:1)\n") == WaitPlace::kUnknown);
}

TEST_CASE("options tell ranks only where each process has another one", "[formats][stack_reader]") {
  std::string adapters;
  for (int i = 0; i < 3; ++i) adapters += process("python t.py --rank 64", kAllReduce);
  const auto counted = stacks_in(adapters);
  CHECK(counted.numbered);
  CHECK(counted.threads[2].rank == 2);
  CHECK(counted.names.at(2) == "process 41");
  // Processes on different hosts can have the same process id.
  formats::StackReader hosts;
  models::Diagnostics none;
  for (const char* file : {"first.txt", "second.txt"}) {
    REQUIRE(hosts.read(process("python t.py", kAllReduce), file, none));
  }
  const auto both = hosts.take();
  CHECK(both.names.at(0) == "process 41 (first.txt)");
  CHECK(both.names.at(1) == "process 41 (second.txt)");
  // If a file holds several processes, the rank in its name does not apply to all of them.
  const auto four = stacks_in(adapters, "dumps/rank_1.txt");
  CHECK(four.numbered);
  CHECK(four.threads[0].rank != four.threads[1].rank);
  std::string local;
  for (int i = 0; i < 3; ++i) {
    local += process("python t.py --rank 64 --local_rank=" + std::to_string(2 - i), kAllReduce);
  }
  CHECK(stacks_in(local).threads[0].rank == 2);
  CHECK(stacks_in(local).names.at(2) == "local rank 2");
  // On one host, the local rank is the job rank.
  for (const std::uint32_t ranks : {3U, 6U}) {
    formats::StackReader reader;
    models::Diagnostics diagnostics;
    REQUIRE(reader.read(local, "stacks.txt", diagnostics));
    reader.know(ranks, {});
    CHECK(reader.take().names.empty() == (ranks == 3));
  }
}

TEST_CASE("launchers and data workers are no ranks", "[formats][stack_reader]") {
  const std::string launcher =
      "    sleep (time.py:1)\n    _monitor_workers "
      "(torch/distributed/elastic/agent/server/api.py:1)\n";
  const std::string worker =
      "    select (selectors.py:1)\n    _worker_loop (torch/utils/data/_utils/worker.py:9)\n";
  const auto found =
      stacks_in(process("torchrun", launcher) + process("python t.py --rank 1", worker) +
                process("python t.py --rank 0", kAllReduce));
  CHECK(found.helpers == 2);
  REQUIRE(found.threads.size() == 1);
  CHECK(models::diagnose(found).verdict == StackVerdict::kAlike);
}

TEST_CASE("where the backward pass runs, that thread counts", "[formats][stack_reader]") {
  std::string text;
  for (int rank = 0; rank < 3; ++rank) {
    text += process("python t.py --rank " + std::to_string(rank),
                    "    _engine_run_backward (torch/autograd/graph.py:1)\n") +
            "Thread 79 (idle): \"Thread-1\"\n    wait (threading.py:1)\n    run "
            "(tqdm/_monitor.py:6)\n" +
            "Thread 80 (active)\n" + (rank == 1 ? kLoads : kAllReduce);
  }
  const auto found = models::diagnose(stacks_in(text));
  CHECK(found.verdict == StackVerdict::kStragglers);
  CHECK(found.roots == std::vector<std::uint32_t>{1});
}

TEST_CASE("a thread that waits in a call counts where the main thread waits for it",
          "[formats][stack_reader]") {
  const std::string future =
      "    Condition.wait (threading.py:327)\n    Future.result (concurrent/futures/_base.py:451)\n"
      "    save (train.py:125)\n";
  const std::string worker = "Thread 80 (idle): \"checkpoint_0\"\n";
  const auto rank = [](int number) { return "python t.py --rank " + std::to_string(number); };
  const auto found = models::diagnose(stacks_in(process(rank(0), future) + worker +
                                                "    all_gather (torch/distributed/c10d.py:1)\n" +
                                                process(rank(1), kAllReduce)));
  CHECK(found.verdict == StackVerdict::kDifferent);
  REQUIRE(found.groups.size() == 2);
  CHECK(found.groups[1].thread == "checkpoint_0");
  CHECK(found.groups[1].op == "all_gather");
  // The report also lists a thread that waits for no other thread.
  const auto stuck =
      models::diagnose(stacks_in(process(rank(0), future) + worker + "    write (storage.py:31)\n" +
                                 process(rank(1), kAllReduce)));
  CHECK(stuck.roots == std::vector<std::uint32_t>{0});
  REQUIRE(stuck.groups[0].others.size() == 1);
  CHECK(stuck.groups[0].others[0] == "thread checkpoint_0 is in write (storage.py:31)");
}

TEST_CASE("in the backward pass, an idle thread waits, and a busy one shows nothing",
          "[formats][stack_reader]") {
  const std::string backward = "    _engine_run_backward (torch/autograd/graph.py:865)\n";
  std::string text = process("python t.py --rank 0", backward) +
                     process("python t.py --rank 1", "    load (data.py:12)\n");
  CHECK(models::diagnose(stacks_in(text)).roots == std::vector<std::uint32_t>{1});
  text.replace(text.find("(idle)"), 6, "(active)");
  CHECK(models::diagnose(stacks_in(text)).verdict == StackVerdict::kUndecided);
}

TEST_CASE("a rank with data workers is no launcher, and its workers are reported",
          "[formats][stack_reader]") {
  const std::string input =
      "    select (selectors.py:1)\n    _try_get_data (torch/utils/data/dataloader.py:1)\n"
      "    <module> (train.py:9)\n";
  const std::string worker =
      "Process 50: python t.py\nParent Process 41: python t.py\nThread 50 (idle): "
      "\"MainThread\"\n    __getitem__ (data.py:7)\n    _worker_loop "
      "(torch/utils/data/_utils/worker.py:9)\n";
  const auto dumps = stacks_in(process("python t.py", input) + worker);
  REQUIRE(dumps.threads.size() == 1);
  CHECK(dumps.helpers == 1);
  REQUIRE(dumps.workers.count(0) == 1);
  CHECK(dumps.workers.at(0).front() == "data worker 50 is in __getitem__ (data.py:7)");
}

TEST_CASE("launchers are known by their command, and the debug server by its module",
          "[formats][stack_reader]") {
  const std::string waits =
      "    recv (multiprocessing/connection.py:250)\n    launch (engine.py:8)\n";
  const std::string server =
      "    wait (threading.py:1)\n    join (torch/distributed/debug/_frontend.py:429)\n";
  const auto dumps = stacks_in(process("/usr/bin/python3 /usr/bin/torchrun train.py", waits) +
                               process("python t.py --rank 0", server) +
                               process("python train.py --launcher torchrun", kAllReduce));
  CHECK(dumps.helpers == 2);
  REQUIRE(dumps.threads.size() == 1);
  CHECK(dumps.threads[0].frames.size() == 3);
  const auto agent = stacks_in(
      process("torchrun t.py", "    next_rendezvous (torch/distributed/elastic/a.py:1)\n"));
  CHECK(agent.rendezvous);
}

TEST_CASE("labels of Ray and torchrun stand before stacks", "[formats][stack_reader]") {
  const std::string text = process("python train.py", kAllReduce);
  for (const char* label : {"(WorkerDict pid=200) ", "[default3]:", "[pod/a/b] "}) {
    std::string labelled;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      labelled += label + text.substr(begin, end - begin + 1);
      begin = end + 1;
    }
    INFO(label);
    const auto dumps = stacks_in(labelled);
    REQUIRE(dumps.threads.size() == 1);
    CHECK(dumps.threads[0].frames.size() == 3);
    CHECK(dumps.threads[0].rank == (std::string(label) == "[default3]:" ? 3 : 0));
  }
}

TEST_CASE("two threads of a rank in collectives at once are reported", "[formats][stack_reader]") {
  const auto found = models::diagnose(
      stacks_in(process("python t.py --rank 0", kAllReduce) + "Thread 80 (idle): \"saver\"\n" +
                "    gather_object (torch/distributed/c10d.py:1)\n    save (io.py:3)\n"));
  REQUIRE(found.notes.size() == 1);
  CHECK(found.notes[0] ==
        "Two threads are in collectives at once on rank 0: MainThread in all_reduce, saver in "
        "gather_object");
  const auto twice = stacks_in(process("python t.py --rank 0", kAllReduce) +
                               process("python t.py --rank 0", kAllReduce));
  CHECK(models::diagnose(twice).notes.empty());
}

TEST_CASE("a saved page of the debug server has the stacks of all ranks",
          "[formats][stack_reader]") {
  const auto dumps = stacks_in(
      "<h2>Rank 0: http://n0:1</h2>\n<pre>Thread 0x7f (most recent call first):\n  File "
      "&#34;/j/train.py&#34;, line 9 in &lt;module&gt;\n</pre>\n<h2>Rank 1: http://n1:1</h2>\n"
      "<pre>Thread 0x7f (most recent call first):\n  File &#34;/j/data.py&#34;, line 4 in load\n"
      "</pre>\n");
  REQUIRE(dumps.threads.size() == 2);
  CHECK(dumps.threads[0].thread == "MainThread");
  CHECK(dumps.threads[1].rank == 1);
  CHECK(dumps.threads[1].frames.front().place == "j/data.py:4");
}

TEST_CASE("stacks of faulthandler, gdb, the debug server and py-spy's JSON are read",
          "[formats][stack_reader]") {
  const std::string server =
      "=== Rank 0: http://n0:1 ===\nCurrent thread 0x7f (most recent call first):\n"
      "  File \"/x/site-packages/torch/distributed/distributed_c10d.py\", line 2501 in all_reduce\n"
      "  File \"/job/train.py\", line 9 in <module>\n"
      "=== Rank 1: http://n1:1 ===\n  File \"/job/data.py\", line 40 in load_config\n";
  const auto found = stacks_in(server);
  REQUIRE(found.threads.size() == 2);
  CHECK(found.threads[0].thread == "MainThread");
  CHECK(found.threads[0].frames[0].place == "torch/distributed/distributed_c10d.py:2501");
  CHECK(found.threads[1].rank == 1);
  CHECK(models::diagnose(found).roots == std::vector<std::uint32_t>{1});
  const auto gdb = stacks_in(
      "Thread 1 (Thread 0x7f (LWP 41) \"python\"):\n#0  0x00007f in pthread_cond_wait () from "
      "/lib/libc.so.6\n#1  0x00007f in gloo::transport::tcp::UnboundBuffer::waitRecv (this=0x1) at "
      "buffer.cc:61\n",
      "rank_3.txt");
  REQUIRE(gdb.threads.size() == 1);
  CHECK(gdb.threads[0].rank == 3);
  CHECK(gdb.threads[0].frames[1].function == "gloo::transport::tcp::UnboundBuffer::waitRecv");
  CHECK(models::diagnose(gdb).groups.front().place == WaitPlace::kCollective);
  const auto json = stacks_in(
      R"([{"pid": 7, "thread_id": 1, "thread_name": "MainThread", "active": true, "frames": [
          {"name": "step", "short_filename": "train.py", "line": 83}], "process_info":
          {"pid": 7, "command_line": "python t.py --rank 5", "parent": null}}])");
  REQUIRE(json.threads.size() == 1);
  CHECK(json.threads[0].rank == 5);
  CHECK(json.threads[0].frames[0].place == "train.py:83");
  for (const std::string& text : {std::string("[{"), std::string("[{\"pid\": 1}]")}) {
    formats::StackReader reader;
    models::Diagnostics diagnostics;
    CHECK_FALSE(reader.read(text, "x", diagnostics));
    CHECK(diagnostics.has_errors());
  }
}

TEST_CASE("what is no stack says so", "[formats][stack_reader]") {
  for (const std::string& text : {std::string(), std::string("hello\n"), std::string(100'000, '\0'),
                                  std::string("Process 1: x\n"), std::string("    f (a.py:1)\n")}) {
    formats::StackReader reader;
    models::Diagnostics diagnostics;
    CHECK_FALSE(reader.read(text, "x", diagnostics));
    CHECK(diagnostics.sorted().front().message == "no stack found in this file");
  }
  // A file cut off at any byte is read without a crash.
  const std::string whole = process("p", kAllReduce);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    formats::StackReader reader;
    models::Diagnostics diagnostics;
    if (reader.read(whole.substr(0, size), "x", diagnostics)) models::diagnose(reader.take());
  }
}
