#include "features/diagnose/stall_reports.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/nccl_log_reader.hpp"

using namespace pipesim;

namespace {

formats::NcclLogReader stalls_in(const std::string& text) {
  formats::NcclLogReader reader;
  models::Diagnostics diagnostics;
  REQUIRE(reader.read(text, diagnostics));
  return reader;
}

const std::string kStall =
    "[0]<stderr>:[2020-12-29 16:50:57.7: W horovod/common/stall_inspector.cc:105] One or more "
    "tensors were submitted to be reduced, gathered or broadcasted by subset of ranks\n"
    "[0]<stderr>:Missing ranks:\n";

std::string arrived(int device) {
  return "2021-06-01 12:19:09.912475: E collective_ops_utils.h:209] This thread has been waiting: "
         "participant for device ordinal " +
         std::to_string(device) +
         ", stream 0x5 waiting for all participants to arrive at rendezvous "
         "RendezvousKey{run_id=RunId: 8, global_devices=[0,1,2,3], num_local_participants=4, "
         "collective_op_kind=cross_replica, op_id=534}\n";
}

}  // namespace

TEST_CASE("Horovod lists what each rank has not submitted", "[formats][stall_reports]") {
  const auto crossed = stalls_in(
      kStall + "[0]<stderr>:0: [broadcast.a]\n[0]<stderr>:1: [allreduce.b, allreduce.c ...]\n");
  CHECK(crossed.notes() == std::vector<models::OutsideText>{
                               "Horovod waits for rank 0 to submit broadcast.a",
                               "Horovod waits for rank 1 to submit allreduce.b, allreduce.c"});
  const auto found = models::diagnose(crossed.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kDeadlock);
  CHECK(found.explanation.cycle.size() == 2);
  // Only ranks 1 and 2 have not submitted the tensor: rank 0 is not in the list.
  const auto behind =
      models::diagnose(stalls_in(kStall + "[0]<stderr>:1: [x]\n[0]<stderr>:2: [x]\n").evidence());
  CHECK(behind.explanation.cycle.empty());
}

TEST_CASE("a device without a line about a rendezvous is a suspect", "[formats][stall_reports]") {
  const auto reader = stalls_in(arrived(1) + arrived(0) + arrived(3));
  CHECK(
      reader.notes().front() ==
      "XLA: 3 of 4 devices wait in a rendezvous; no line shows that device 2 has arrived. Devices "
      "stand for ranks here");
  const auto found = models::diagnose(reader.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kLimit);
  CHECK(found.roots.empty());
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects.front().rank == 2);
  // Newer versions of XLA print the name of the rendezvous.
  const auto newer = stalls_in(
      "2024-07-29 17:14:59.9: E xla/service/rendezvous.cc:38] This thread has been waiting for "
      "`initialize clique for rank 1; clique=devices=[0,1]; stream=0; run_id=7` for 10 seconds and "
      "may be stuck. Expected 2 threads to join the rendezvous, but not all of them arrived on "
      "time.\n");
  CHECK(
      newer.notes().front() ==
      "XLA: 1 of 2 devices wait in a rendezvous; no line shows that device 0 has arrived. Devices "
      "stand for ranks here");
}
