// Collective algorithms from other projects (../shared/data/msccl), with their known properties.
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/shared.hpp"

#include "features/algorithm/algorithm_file.hpp"
#include "features/algorithm/verify_algorithm.hpp"

using namespace pipesim;
using models::AlgoVerdict;

namespace {

std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

models::CollectiveAlgorithm read_algorithm(const std::string& path) {
  models::Diagnostics diagnostics;
  auto algorithm = formats::read_algorithm(file_text(path), diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(algorithm);
  return *algorithm;
}

}  // namespace

TEST_CASE("the files of others get the verdicts that are known", "[verify_algorithm]") {
  const std::string folder = testing::shared_data("msccl/");
  if (folder.empty()) return;
  const std::map<std::string, AlgoVerdict> known = {
      {"xml/azure_ncv4_ag_hier_4_LL.xml", AlgoVerdict::kCorrect},
      {"xml/azure_ncv4_ar_hier_12_Simple.xml", AlgoVerdict::kCorrect},
      {"xml/azure_ncv4_ar_tree_12_LL.xml", AlgoVerdict::kCorrect},
      {"xml/azure_ndv4_r48ll.xml", AlgoVerdict::kCorrect},
      {"xml/lyd_allreduce_a100_ring_ch24_manul_scratch.xml", AlgoVerdict::kCorrect},
      {"xml/lyd_allreduce_a100_ring_ch4.xml", AlgoVerdict::kCorrect},
      {"xml/lyd_allreduce_binary_tree_Simple_gpu2_ins1.xml", AlgoVerdict::kCorrect},
      {"xml/lyd_allreduce_binary_tree_Simple_gpu4_ins1.xml", AlgoVerdict::kCorrect},
      {"xml/lyd_allreduce_binary_tree_h_p_1ch_intra_2ch_inter_Simple_gpu64_ins1.xml",
       AlgoVerdict::kDeadlock},
      {"xml/lyd_allreduce_binary_tree_h_p_2ch_intra_1ch_inter_Simple_gpu64_ins1.xml",
       AlgoVerdict::kCorrect},
      {"xml/lyd_allreduce_rec_doub_halv_Simple_gpu64_ins1.xml", AlgoVerdict::kHangsForLarge},
      {"xml/rccl_1296_allreduce-allpairs-8n-Simple-1pass.xml", AlgoVerdict::kRanksDiffer},
      {"xml/rccl_1373_allgather-8n-0-8kb.xml", AlgoVerdict::kCorrect},
      {"xml/rccl_1375_allreduce-1step-4n-ll-1pass.xml", AlgoVerdict::kRanksDiffer},
      {"xml/rccl_939_allgather-allpairs-8n-ll.xml", AlgoVerdict::kCorrect},
      {"xml/rccl_alltoall-8n-0-9kb.xml", AlgoVerdict::kCorrect},
      {"plan/allreduce.json", AlgoVerdict::kCorrect},
      {"plan/allreduce_packet.json", AlgoVerdict::kCorrect},
      {"plan/dsl_allreduce_multi_nodes_2x2.json", AlgoVerdict::kCorrect},
      {"plan/dsl_alltoall_4.json", AlgoVerdict::kCorrect},
      {"plan/dsl_put_with_signal_fuse_test.json", AlgoVerdict::kUnbalanced},
      {"plan/dsl_signal_wait_fuse_test.json", AlgoVerdict::kDeadlock},
      {"plan/reduce.json", AlgoVerdict::kCorrect},
      {"plan/reduce_pack.json", AlgoVerdict::kCorrect},
      {"plan/reduce_tbg.json", AlgoVerdict::kRace},
  };
  for (const auto& [file, wanted] : known) {
    CAPTURE(file);
    const models::VerifyReport report = models::verify(read_algorithm(folder + file), {});
    CHECK(report.verdict == wanted);
    if (file.find("1ch_intra_2ch_inter") != std::string::npos) CHECK(report.slots_needed == 3);
    if (file.find("rec_doub_halv") != std::string::npos) CHECK(report.hangs_from == 8'388'609);
    if (file.find("rccl_1296") != std::string::npos) CHECK(report.hangs_from == 4'194'305);
  }
  // Plans with an MSCCL++ op that writes only its first target, although the sum should also be
  // sent on; p_rres.json is a correct variant.
  const std::string faults = testing::shared_data("faults3/");
  const std::map<std::string, AlgoVerdict> not_sent = {
      {"p_rre.json", AlgoVerdict::kWrongResult},
      {"p13_not_sent_rre.json", AlgoVerdict::kWrongResult},
      {"single_node__allreduce_pkt_repkt.json", AlgoVerdict::kDeadlock},
      {"reduce_pack_tbg_repkt.json", AlgoVerdict::kDeadlock},
      {"reduce_pack_tbg_recpkt.json", AlgoVerdict::kDeadlock},
      {"default__allreduce_3x2_recpkt.json", AlgoVerdict::kDeadlock},
      {"p_rres.json", AlgoVerdict::kCorrect},
      // Changes of such plans, which their names describe. A wait that is left out leaves its
      // signal over; without its signal, packet or partner at a barrier, a wait never ends.
      {"p01_drop_wait_rre.json", AlgoVerdict::kUnbalanced},
      {"p02_drop_signal_rre.json", AlgoVerdict::kDeadlock},
      {"p03_wait_first_rre.json", AlgoVerdict::kDeadlock},
      {"p04_no_entry_sync_rre.json", AlgoVerdict::kWrongResult},
      {"p05_wrong_chunk_rre.json", AlgoVerdict::kRace},
      {"p06_single_scratch_repkt.json", AlgoVerdict::kDeadlock},
      {"p08_barrier_count_recpkt.json", AlgoVerdict::kDeadlock},
      {"p10_no_nop_after_wait_rre.json", AlgoVerdict::kWrongResult},
      {"p11_no_unpack_repkt.json", AlgoVerdict::kWrongResult},
      {"p12_no_put_repkt.json", AlgoVerdict::kDeadlock},
  };
  for (const auto& [file, wanted] : not_sent) {
    CAPTURE(file);
    CHECK(models::verify(read_algorithm(faults + file), {}).verdict == wanted);
  }
  // The two waits of this plan are on channels that no thread block signals.
  const models::CollectiveAlgorithm fused =
      read_algorithm(folder + "plan/dsl_signal_wait_fuse_test.json");
  const auto changes = models::try_changes(fused, models::verify(fused, {}), {});
  REQUIRE_FALSE(changes.empty());
  CHECK(changes[0].helps);
  CHECK(changes[0].what ==
        "rank 1 tb 0 step 3 waits on channels 0 and 1; rank 0 tb 0 step 3 waits on channels 0 and "
        "1, where there are signals");
  models::Diagnostics diagnostics;
  CHECK_FALSE(
      formats::read_algorithm(file_text(folder + "plan/allreduce_pipeline.json"), diagnostics));
  REQUIRE(diagnostics.has_errors());
  CHECK(diagnostics.sorted()[0].message == "a switch channel needs 'buffer_type'");
  CHECK(diagnostics.sorted()[0].place.line == 143);
}
