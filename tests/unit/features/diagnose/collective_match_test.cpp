// Matching of pairs of calls. PyTorch's own assertions about pairs are in
// flight_recorder_file_test.cpp, together with their dumps.
#include "features/diagnose/collective_match.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/evidence.hpp"

using namespace pipesim;
using models::Called;
using models::CallState;
using models::Match;
using models::RecordedOp;

namespace {

RecordedOp op(const std::string& name, models::TensorSizes in, models::TensorSizes out) {
  RecordedOp result;
  result.name = name;
  result.input_sizes = std::move(in);
  result.output_sizes = std::move(out);
  result.input_types = {"Float"};
  result.output_types = {"Float"};
  return result;
}

Match same(const std::string& name, models::TensorSizes in, models::TensorSizes out,
           std::size_t members) {
  const RecordedOp it = op(name, std::move(in), std::move(out));
  return match_ops(it, it, members).match;
}

}  // namespace

TEST_CASE("a collective that gathers or scatters fits the size of its group",
          "[models][collective_match]") {
  CHECK(same("_all_gather_base", {{16}}, {{128}}, 8) == Match::kFull);
  CHECK(same("_all_gather_base", {{16}}, {{128}}, 4) == Match::kSize);
  CHECK(same("all_gather", {{4}}, {{4}, {4}, {4}}, 3) == Match::kFull);
  CHECK(same("_reduce_scatter_base", {{64, 2}}, {{16, 2}}, 4) == Match::kFull);
  CHECK(same("_reduce_scatter_base", {{64, 2}}, {{16, 2}}, 2) == Match::kSize);
  CHECK(same("all_reduce", {{4}}, {{5}}, 2) == Match::kSize);
  CHECK(same("broadcast", {{4}}, {{5}}, 2) == Match::kFull);
  CHECK(same("all_to_all", {{4}}, {{5}}, 2) == Match::kUndecided);
  // The size of this call in bytes overflows 64 bits.
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK(same("_all_gather_base", {{huge, huge}}, {{1}}, 8) == Match::kSize);
}

TEST_CASE("a rule of sizes says nothing about unknown members, or where a rank breaks it itself",
          "[models][collective_match]") {
  CHECK(same("_all_gather_base", {{16}}, {{128}}, models::kUnknownMembers) == Match::kFull);
  CHECK(same("all_reduce", {{4}}, {{5}}, models::kUnknownMembers) == Match::kFull);
  const RecordedOp eight = op("all_gather", {{8}}, {{24}});
  const RecordedOp nine = op("all_gather", {{9}}, {{24}});
  CHECK(match_ops(eight, nine, models::kUnknownMembers).match == Match::kSize);
  const auto checked = [](bool all_members, const RecordedOp& first, const RecordedOp& second) {
    testing::EvidenceBuilder job(2);
    const auto all = job.group("all", {0, 1});
    job.evidence().groups[all].all_members = all_members;
    for (const std::uint32_t rank : {0U, 1U}) {
      auto& made = job.call(rank, all, 1, "all_gather").ops.front();
      made.input_sizes = (rank == 0 ? first : second).input_sizes;
      made.output_sizes = (rank == 0 ? first : second).output_sizes;
    }
    return check_collectives(job.evidence(), models::CallIndex(job.evidence())).front();
  };
  const RecordedOp good = op("all_gather", {{12}}, {{24}});
  CHECK(checked(true, good, good).culprits.empty());
  CHECK(checked(false, eight, eight).culprits.empty());  // the group may have three members
  // If both calls break the rule, the backend records other shapes, and neither call is at fault.
  CHECK(checked(true, eight, eight).culprits.empty());
  // Sizes that differ between ranks are a mismatch anyway.
  CHECK(checked(true, eight, nine).culprits.size() == 1);
  CHECK(checked(false, eight, nine).culprits.size() == 1);
}

TEST_CASE("roots have other sizes and types than the rest", "[models][collective_match]") {
  const RecordedOp root = op("gather", {{4}}, {{4}, {4}});
  RecordedOp member = op("gather", {{4}}, {{}});
  member.output_types.clear();
  CHECK(match_ops(root, member, 2).match == Match::kFull);
  const RecordedOp scatters = op("scatter", {{4}, {4}}, {{4}});
  CHECK(match_ops(scatters, op("scatter", {{}}, {{4}}), 2).match == Match::kFull);
  CHECK(match_ops(scatters, op("scatter", {{}}, {{5}}), 2).difference == "output sizes 4 and 5");
}

TEST_CASE("who has made a call is known from what it has called later",
          "[models][collective_match]") {
  testing::EvidenceBuilder job(4);
  const auto all = job.group("all", {0, 1, 2, 3});
  job.call(0, all, 7, "all_reduce");
  job.call(1, all, 9, "all_reduce");
  job.no_dump(2);
  job.evidence().ranks[3].progress = {{all, 8, -1, 8, false, {}}};
  const models::CallIndex index(job.evidence());
  std::uint32_t call = 5;
  CHECK(index.collective(0, {all, 7, 0}, &call) == Called::kYes);
  CHECK(call == 0);
  CHECK(index.collective(0, {all, 8, 0}, &call) == Called::kNo);
  CHECK(index.collective(0, {all, 7, 1}, &call) == Called::kNo);
  CHECK(index.collective(1, {all, 7, 0}, &call) == Called::kDone);
  CHECK(index.collective(2, {all, 7, 0}, &call) == Called::kUnknown);
  CHECK(index.collective(3, {all, 8, 0}, &call) == Called::kDone);
  CHECK(index.collective(3, {all, 9, 0}, &call) == Called::kNo);
  // The sequence number of a send or recv does not count collectives.
  job.message(0, all, true, 1);
  CHECK(models::CallIndex(job.evidence()).collective(3, {all, 8, 0}, &call) == Called::kNo);
}

TEST_CASE("only what most members do not call is wrong; else both sides are reported",
          "[models][collective_match]") {
  const auto check = [](const std::vector<const char*>& ops, std::size_t members) {
    testing::EvidenceBuilder job(static_cast<std::uint32_t>(members));
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < members; ++rank) ranks.push_back(rank);
    const auto all = job.group("all", ranks);
    for (std::uint32_t rank = 0; rank < members; ++rank) {
      if (rank < ops.size()) {
        job.call(rank, all, 1, ops[rank]);
      } else {
        job.no_dump(rank);
      }
    }
    return check_collectives(job.evidence(), models::CallIndex(job.evidence())).front();
  };
  using Ranks = std::vector<std::uint32_t>;
  const char* a = "all_reduce";
  const char* b = "broadcast";
  const auto most = check({b, a, a}, 3);
  CHECK(most.other_side.empty());
  REQUIRE(most.culprits.size() == 1);
  CHECK(most.culprits[0].rank == 0);
  const auto tied = check({a, b, a, b}, 4);
  CHECK(tied.other_side == Ranks{0, 2});
  CHECK(tied.culprits.size() == 2);
  // Two of the four ranks have no dump, and can have made either call.
  CHECK(check({a, b}, 4).other_side == Ranks{0});
  CHECK(check({a, a, b}, 6).other_side == Ranks{0, 1});
  CHECK(check({a, a, a, b}, 6).other_side == Ranks{0, 1, 2});
  CHECK(check({a, a, a, a, b}, 6).other_side.empty());
}

TEST_CASE("behind the first collective of a group that does not fit nothing is looked at",
          "[models][collective_match]") {
  testing::EvidenceBuilder job(2);
  const auto all = job.group("all", {0, 1});
  for (const std::uint32_t rank : {0U, 1U}) {
    job.call(rank, all, 1, "all_reduce");
    job.call(rank, all, 2, rank == 0 ? "all_reduce" : "broadcast");
    job.call(rank, all, 3, rank == 0 ? "all_gather" : "barrier");
  }
  const auto checks = check_collectives(job.evidence(), models::CallIndex(job.evidence()));
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].result == models::CheckResult::kMatched);
  CHECK(checks[1].result == models::CheckResult::kMismatch);
  CHECK(checks[1].sequence == 2);
}
