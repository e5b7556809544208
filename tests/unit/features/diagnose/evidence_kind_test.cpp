// Detection of the kind of evidence from the beginning of a file. The texts are as the runtimes
// write them.
#include "features/diagnose/evidence_kind.hpp"

#include "tests/support/catch.hpp"

using pipesim::formats::EvidenceKind;
using pipesim::formats::find_evidence_kind;
using pipesim::formats::kind_of_evidence;

TEST_CASE("the beginning of evidence says its kind", "[formats][evidence_kind]") {
  CHECK(kind_of_evidence(R"({"version":"2.9","pg_config":{}})") == EvidenceKind::kFlightRecorder);
  CHECK(kind_of_evidence("\x80\x02}q\x01") == EvidenceKind::kFlightRecorder);
  CHECK(kind_of_evidence("node0:980:1265 [0] NCCL INFO comm 0x55 rank 0 nranks 4 - Init START\n") ==
        EvidenceKind::kNcclLog);
  CHECK(kind_of_evidence("loss 2.3\nbefore: x\n[rank0]: last enqueued NCCL work: 9\n") ==
        EvidenceKind::kNcclLog);
  CHECK(kind_of_evidence("I0622 10:00:00.000000  77 kernel.cpp:30] before: F0\n") ==
        EvidenceKind::kLaunchLog);
  CHECK(kind_of_evidence("Process 7: python train.py\nPython v3.10.12\n\n"
                         "Thread 7 (idle): \"MainThread\"\n") == EvidenceKind::kStacks);
  CHECK(kind_of_evidence("src_op_name,dst_op_name,src_parallel_desc\n") == EvidenceKind::kBoxing);
}

TEST_CASE("what begins with nothing known is left to the reader of dumps",
          "[formats][evidence_kind]") {
  CHECK(kind_of_evidence("") == EvidenceKind::kFlightRecorder);
  CHECK(kind_of_evidence("hello\n") == EvidenceKind::kFlightRecorder);
}

TEST_CASE("kinds have names", "[formats][evidence_kind]") {
  CHECK(find_evidence_kind("stacks") == EvidenceKind::kStacks);
  CHECK(find_evidence_kind("oneflow") == EvidenceKind::kLaunchLog);
  CHECK_FALSE(find_evidence_kind("logs").has_value());
}
