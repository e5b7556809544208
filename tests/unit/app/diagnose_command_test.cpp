// `pipesim diagnose`, through the command line. Whole outputs: tests/golden/diagnose_*.
#include "app/diagnose_command.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

const std::string kDumps = "tests/golden/diagnose_cycle/dumps";

// A dump of a job of two ranks in which nothing is pending.
std::string healthy(int rank) {
  return R"({"version":"2.9","rank":)" + std::to_string(rank) +
         R"(,"pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}},"entries":[)" +
         R"({"record_id":0,"process_group":["0","default_pg"],"collective_seq_id":1,)" +
         R"("profiling_name":"nccl:barrier","state":"completed"}]})";
}

}  // namespace

TEST_CASE("what evidence says is the exit code", "[app][diagnose_command]") {
  CHECK(command({"diagnose", "flight-recorder", kDumps}).code == 1);
  const testing::Folder folder;
  folder.write("0.json", healthy(0));
  folder.write("1.json", healthy(1));
  const auto good = command({"diagnose", "flight-recorder", folder.path()});
  CHECK(good.code == 0);
  CHECK(contains(good.out, "NOTHING WRONG FOUND   2 ranks, 0 calls not done"));
  const auto one = command({"diagnose", "flight-recorder", folder / "1.json"});
  CHECK(one.code == 3);
  CHECK(contains(one.out,
                 "1.json  UNDECIDED   2 ranks, 0 calls not done   Flight Recorder 2.9\n"
                 "No dump of rank 0\n"));
  CHECK(command({"diagnose", "flight-recorder", folder / "none_7"}).code == 74);
}

TEST_CASE("a dump may come from standard input", "[app][diagnose_command]") {
  const auto ran = command({"diagnose", "flight-recorder", "-"}, healthy(1));
  CHECK(ran.code == 3);
  CHECK(contains(ran.out, "standard input  UNDECIDED"));
}

TEST_CASE("usage of diagnose is checked", "[app][diagnose_command]") {
  CHECK(contains(command({"diagnose"}).err,
                 "'pipesim diagnose' needs a kind of evidence: flight-recorder"));
  CHECK(contains(command({"diagnose", "flight-recorde", "x"}).err,
                 "did you mean 'flight-recorder'?"));
  CHECK(contains(command({"diagnose", "flight-recorder"}).err,
                 "'pipesim diagnose flight-recorder' needs files or folders"));
  CHECK(command({"diagnose", "--help"}).code == 0);
}

TEST_CASE("what is no dump is said, and the rest is read", "[app][diagnose_command]") {
  const testing::Folder folder;
  folder.write("rank_0", healthy(0));
  folder.write("rank_1", "garbage");
  folder.write("rank_2", healthy(0));
  const auto ran = command({"diagnose", "flight-recorder", folder.path()});
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "rank_1: error: byte 0: "));
  CHECK(contains(ran.err, "rank_2: error: rank 0 has a dump already: '"));
  CHECK(contains(ran.out, "2 files could not be read: what is said here is said without them\n"));
  const testing::Folder empty;
  CHECK(command({"diagnose", "flight-recorder", empty.path()}).code == 2);
}

TEST_CASE("stacks of run are read back, and idle threads are no odd ones",
          "[app][diagnose_command]") {
  const std::string stacks = command({"run", "scenarios/swin_2x2x2.yaml", "--stacks"}).out;
  const auto swin = command({"diagnose", "stacks", "-", "--json"}, stacks);
  CHECK(swin.code == 1);
  CHECK(contains(swin.out, "\"root_ranks\": [\n    1\n  ]"));
  const std::string alike =
      command({"run", "scenarios/two_groups_opposite_order.yaml", "--stacks"}).out;
  CHECK(command({"diagnose", "stacks", "-"}, alike).code == 3);
  CHECK(contains(command({"diagnose", "stacks", "-", "--dot", "x"}).err,
                 "--dot, --draw and --html are for dumps and logs: stacks give no graph"));
}

TEST_CASE("usage of compare is checked, and an end is the same as itself",
          "[app][diagnose_command]") {
  CHECK(command({"compare", kDumps, kDumps}).out ==
        kDumps + ": deadlock, 3 ranks; to blame: ranks 0 and 1\n" + kDumps +
            ": deadlock, 3 ranks; to blame: ranks 0 and 1\nThey stand in the same place.\n");
  const auto other = command({"compare", kDumps, "scenarios/swin_2x2x2.yaml"});
  CHECK(other.code == 1);
  CHECK(
      contains(other.out, "They do not stand in the same place:\n  they have not as many ranks\n"));
  CHECK(contains(command({"compare", kDumps}).err, "'pipesim compare' takes two ends, found 1"));
  CHECK(contains(command({"compare", kDumps, kDumps, "--kind", "x"}).err,
                 "--kind is flight-recorder or nccl-log, found 'x'"));
  CHECK(command({"compare", kDumps, "none.yaml"}).code == 74);
  CHECK(command({"compare", "--help"}).code == 0);
}

TEST_CASE("the boxings of a model are read back, and its partial sums named",
          "[app][diagnose_command]") {
  const std::string log =
      command({"opt", "scenarios/swin_2x2x2_from_model.yaml", "--explain-boxing"}).out;
  const auto found = command({"diagnose", "boxing", "-"}, log);
  CHECK(found.code == 1);
  // One for the bias table of each of 12 blocks.
  CHECK(contains(found.out, ", 12 partial sums from a broadcast\n"));
  CHECK(contains(found.out, "Repeat-block11-gather_nd-bias_table  block11-gather_nd_grad"));
  CHECK(command({"diagnose", "boxing", "-"}, log.substr(0, log.find('\n') + 1)).code == 0);
  CHECK(command({"diagnose", "boxing", "-"}, "x").code == 2);
}

TEST_CASE("the graph of evidence is drawn, and shown on a page", "[app][diagnose_command]") {
  const testing::Folder folder;
  const std::string svg = folder / "hang.svg";
  const std::string html = folder / "hang.html";
  CHECK(command({"diagnose", "flight-recorder", kDumps, "--draw", svg, "--html", html}).code == 1);
  const std::string picture = testing::file_text(svg);
  CHECK(contains(picture, "dumps: DEADLOCK"));
  CHECK(contains(picture, "<title>rank 0 all_reduce pg1#7</title>"));
  const std::string page = testing::file_text(html);
  CHECK(contains(page, "<title>dumps hangs</title>"));
  // What waits is in the data, and so is what the terminal shows.
  CHECK(contains(page, R"("cycle_heading":"The cycle: 2 waits, ranks 0 and 1")"));
  CHECK(contains(page, R"("report":"dumps  DEADLOCK)"));
  CHECK(contains(page, R"("lanes":[])"));
  const auto refused = command({"diagnose", "flight-recorder", kDumps, "--draw", "hang.jpg"});
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "'hang.jpg' does not say what to draw"));
}
