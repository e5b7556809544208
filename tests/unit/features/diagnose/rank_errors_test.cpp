#include "features/diagnose/rank_errors.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;
using formats::ErrorKind;

namespace {

formats::RankErrors errors_in(const std::string& text) {
  formats::RankErrors errors;
  formats::each_log_line(text, [&](const formats::LogLine& line) {
    errors.take(line, {0, line.number});
  });
  return errors;
}

const std::string kFrames =
    "Traceback (most recent call last):\n"
    "  File \"/app/train.py\", line 90, in <module>\n"
    "    main()\n"
    "  File \"/app/train.py\", line 64, in step\n"
    "    dist.broadcast(x, src=0)\n"
    "    ^^^^^^^^^^^^^^^^^^^^^^^^\n"
    "  File \"/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py\", line "
    "3151, "
    "in broadcast\n"
    "    work.wait()\n";

std::string labelled(const std::string& label, const std::string& text) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    result += label + text.substr(begin, end - begin + 1);
    begin = end + 1;
  }
  return result;
}

}  // namespace

TEST_CASE("the error of a traceback is the line of the exception, under every label",
          "[formats][rank_errors]") {
  const std::string text = kFrames + "ValueError: loss is NaN\n";
  for (const char* label : {"[rank3]: ", "[default3]:", "[default3]:[rank3]: ", "3: ",
                            "[1,3]<stderr>:", "(Worker[rank=3] pid=7) "}) {
    INFO(label);
    const auto errors = errors_in(labelled(label, text));
    REQUIRE(errors.by_rank().count(3) == 1);
    const formats::RankError& error = errors.by_rank().at(3).front();
    CHECK(error.error == "ValueError: loss is NaN");
    CHECK(error.kind == ErrorKind::kOwn);
    REQUIRE(error.frames.size() == 3);
    CHECK(error.frames.front().place == "torch/distributed/distributed_c10d.py:3151");
    CHECK(error.at() == "broadcast, called in step (train.py:64)");
  }
  CHECK(errors_in(text).by_rank().empty());  // the rank is unknown
}

TEST_CASE("lines after a traceback are no error of it", "[formats][rank_errors]") {
  const auto errors = errors_in(labelled("[rank0]: ", kFrames) +
                                "[rank0]:[W1126 14:14:10.8 WorkerServer.cpp:151] destructor\n" +
                                "[rank0]: Current thread 0x7f (most recent call first):\n" +
                                "[rank0]: RuntimeError: [Rank 0]: Ranks 3 failed to pass "
                                "monitoredBarrier in 30000 ms\n");
  REQUIRE(errors.by_rank().at(0).size() == 1);
  CHECK(errors.by_rank().at(0).front().kind == ErrorKind::kTimeout);
  // Without the line of the exception, there is no error.
  CHECK(errors_in(labelled("[rank0]: ", kFrames) + "[rank0]:[W1 a.cpp:1] destructor\n")
            .by_rank()
            .empty());
}

TEST_CASE("an error raised while another one is handled is chained", "[formats][rank_errors]") {
  const auto errors = errors_in(
      labelled("[rank1]: ", kFrames +
                                "KeyError: 3\n\nDuring handling of the above exception, another "
                                "exception occurred:\n\n" +
                                kFrames + "RuntimeError: cannot log\n"));
  REQUIRE(errors.by_rank().at(1).size() == 2);
  CHECK_FALSE(errors.by_rank().at(1)[0].chained);
  CHECK(errors.by_rank().at(1)[1].chained);
}

TEST_CASE("exceptions of C++ that end a process are errors", "[formats][rank_errors]") {
  const auto errors = errors_in(
      "[default1]:terminate called after throwing an instance of 'gloo::EnforceNotMet'\n"
      "[default1]:  what():  [enforce fail at gloo/transport/tcp/pair.cc:456] 2048 vs 2000\n");
  REQUIRE(errors.by_rank().at(1).size() == 1);
  CHECK(errors.by_rank().at(1).front().error ==
        "gloo::EnforceNotMet: [enforce fail at gloo/transport/tcp/pair.cc:456] 2048 vs 2000");
  CHECK(errors.by_rank().at(1).front().kind == ErrorKind::kOwn);
}

TEST_CASE("the file of a rank has the exceptions of C++ that name no rank",
          "[formats][rank_errors]") {
  formats::RankErrors errors;
  for (const std::string text :
       {"Traceback (most recent call last):", "ValueError: caught",
        "terminate called after throwing an instance of 'gloo::EnforceNotMet'",
        "  what():  [enforce fail at pair.cc:456] op.preamble.length <= op.nbytes. 184 vs 4. "
        "Size"}) {
    formats::LogLine line;
    line.text = text;
    errors.take(line, {}, 3);
  }
  REQUIRE(errors.by_rank().size() == 1);
  REQUIRE(errors.by_rank().at(3).size() == 1);
  const formats::RankError& error = errors.by_rank().at(3).front();
  CHECK(error.native);
  CHECK(formats::end_of_process(error.error) ==
        "gloo ended it because sizes differ: 184 bytes came where its call expects 4");
  CHECK(formats::end_of_process("std::bad_alloc: x") == "an exception of C++, std::bad_alloc: x");
}

TEST_CASE("the name of a file can have a rank", "[formats][rank_errors]") {
  using formats::rank_in_name;
  CHECK(rank_in_name("logs/rank_12.log") == 12);
  CHECK(rank_in_name("log_rank_3_stdout.log") == 3);
  CHECK(rank_in_name("rank7") == 7);
  CHECK(rank_in_name("rank-0.txt") == 0);
  CHECK_FALSE(rank_in_name("local_rank_3.log"));
  CHECK_FALSE(rank_in_name("rank_1/job.log"));
  CHECK_FALSE(rank_in_name("ranks.log"));
  CHECK_FALSE(rank_in_name("job.log"));
}

TEST_CASE("errors that follow from other ranks are recognized", "[formats][rank_errors]") {
  using formats::kind_of_error;
  const std::string gloo = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/";
  CHECK(
      kind_of_error(gloo + "unbound_buffer.cc:78] Timed out waiting 30000ms for recv operation") ==
      ErrorKind::kTimeout);
  CHECK(kind_of_error(gloo + "pair.cc:553] Connection closed by peer [127.0.0.1]:7594") ==
        ErrorKind::kLostPeer);
  CHECK(kind_of_error("RuntimeError: Rank 1 successfully reached monitoredBarrier, but received "
                      "errors while waiting for send/recv from rank 0") == ErrorKind::kTimeout);
  CHECK(kind_of_error("torch.distributed.DistBackendError: NCCL error") == ErrorKind::kLostPeer);
  CHECK(kind_of_error("KeyboardInterrupt") == ErrorKind::kLostPeer);
  CHECK(kind_of_error("RuntimeError: CUDA out of memory") == ErrorKind::kOwn);
}

TEST_CASE("a work that timed out says what the frames do not show", "[formats][rank_errors]") {
  const auto errors = errors_in(
      "[rank2]: Traceback (most recent call last):\n"
      "[rank2]:   File \"/app/jobs.py\", line 211, in batch_p2p\n"
      "[rank2]:     for w in dist.batch_isend_irecv(ops): w.wait()\n"
      "[rank2]: RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 15000ms "
      "for recv operation to complete\n");
  CHECK(errors.by_rank().at(2).front().at() == "a recv, called in batch_p2p (jobs.py:211)");
}
