// Scenarios with patches, as each command accepts them.
#include "app/input/scenario_input.hpp"

#include <string>

#include "app/command.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/without_command.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;
using testing::Folder;

namespace {

const std::string kHang = "scenarios/swin_2x2x2.yaml";
const std::string kFix = "patch: 1\nof: swin_2x2x2\nactors: {BdstBuf: {stream: backward}}\n";

}  // namespace

TEST_CASE("run: a patch does what the setting does", "[app][patch]") {
  const auto patched = command({"run", kHang, "--patch", "-", "--json"}, kFix);
  CHECK(patched.code == 0);
  CHECK(patched.err.empty());
  CHECK(testing::without_command(patched.out) ==
        testing::without_command(
            command({"run", kHang, "--set", "bwd_dst_buffer=backward", "--json"}).out));
  // A patch sets a parameter, and --set overrides the patch.
  const std::string set = "patch: 1\nset: {acc: 2}\n";
  CHECK(testing::without_command(command({"run", kHang, "--patch", "-", "--json"}, set).out) ==
        testing::without_command(command({"run", kHang, "--set", "acc=2", "--json"}).out));
  CHECK(command({"run", kHang, "--patch", "-", "--set", "acc=4"}, set).code == 1);
}

TEST_CASE("run: several patches, in their order", "[app][patch]") {
  const Folder folder;
  const std::string first = folder.write("first.yaml", "patch: 1\nset: {acc: 2}\n");
  const std::string second = folder.write("second.yaml", "patch: 1\nset: {acc: 4}\n");
  CHECK(command({"run", kHang, "--patch", second, "--patch", first}).code == 0);
  CHECK(command({"run", kHang, "--patch", first, "--patch", second}).code == 1);
}

TEST_CASE("run: mistakes name the file that has them", "[app][patch]") {
  const auto result =
      command({"run", kHang, "--patch", "-"}, "patch: 1\nactors: {BdstBuf: {stream: bakward}}\n");
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(contains(result.err, "standard input:2:28: error[E0404]: "));
  CHECK(contains(result.err, "\n  actors: {BdstBuf: {stream: bakward}}\n"));
  CHECK(contains(result.err, "\n                             ^\n"));

  // If a patch makes a line of the scenario invalid, the error points to this line.
  const auto gone = command({"run", kHang, "--patch", "-"}, "patch: 1\nactors: {Zeros: ~}\n");
  CHECK(gone.code == 2);
  CHECK(contains(gone.err, kHang + ":"));
}

TEST_CASE("run: files of patches", "[app][patch]") {
  CHECK(command({"run", kHang, "--patch", "there_is_no_such_file.yaml"}).code == 74);
  const auto twice = command({"run", "-", "--patch", "-"}, kFix);
  CHECK(twice.code == 2);
  CHECK(contains(twice.err, "only one input may be '-'"));
  CHECK(command({"run", "a.goal", "--patch", "b.yaml"}).code == 2);
}

TEST_CASE("lint: with a patch", "[app][patch][lint]") {
  CHECK(contains(command({"lint", kHang}).out, "[buffer-stream]"));
  const auto fixed = command({"lint", kHang, "--patch", "-"}, kFix);
  CHECK(fixed.code == 1);
  CHECK_FALSE(contains(fixed.out, "[buffer-stream]"));
  // lint reports a finding in patched text with the line of the patch.
  const auto worse = command({"lint", "scenarios/buffer_on_the_right_stream.yaml", "--patch", "-"},
                             "patch: 1\nactors:\n  +late: {stream: forward, reads: [loss]}\n"
                             "  reduce: {reads: {+: [late]}}\n");
  CHECK(contains(worse.out, "standard input:3:3: suspect: 'late' runs on stream 'forward'"));
}

TEST_CASE("a scenario that contradicts itself is not written", "[app]") {
  const auto problem = [](const char* program) {
    try {
      app::require_readable(
          std::string("schema: 1\nranks: 3\ngroups: {pg1: [1, 2]}\nprograms:\n") + program,
          "dumps");
    } catch (const app::InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(problem("  - {on: 1, do: [{send: pg1, to: 2}]}\n  - {on: 2, do: [{recv: pg1, from: 1}]}\n")
            .empty());
  // The first error is found when the file is read, the second when the scenario is lowered.
  CHECK(problem("  - {on: 1, do: [{sent: pg1, to: 2}]}\n")
            .find("not written: this step has no operation") != std::string::npos);
  CHECK(problem("  - {on: 0, do: [{recv: pg1, from: 1}]}\n") ==
        "dumps: the scenario made from it is not valid, and was not written: 'recv pg1' is on rank "
        "0, which is not in group 'pg1'");
}
