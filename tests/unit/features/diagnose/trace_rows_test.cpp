// Tables of `torchfrtrace -j`, with and without -v, in the form that torch 2.13 writes.
#include "features/diagnose/trace_rows.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"

using namespace pipesim;
using testing::contains;
using Column = std::vector<std::string>;

namespace {

// Prints a table as tabulate does.
std::string table(const std::vector<Column>& columns) {
  std::vector<std::string> lines;
  for (std::size_t rank = 0; rank < columns.size(); ++rank) {
    std::vector<std::string> cells = {"Rank " + std::to_string(rank), ""};
    std::size_t width = cells[0].size();
    for (const std::string& cell : columns[rank]) {
      width = std::max(width, cell.size());
      cells.push_back(cell);
    }
    cells[1] = std::string(width, '-');
    if (lines.size() < cells.size()) lines.resize(cells.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::string cell = i < cells.size() ? cells[i] : "";
      cell.resize(width, ' ');
      lines[i] += (rank == 0 ? "" : "  ") + cell;
    }
  }
  std::string text = "loaded 3 files in 0.0003s\nbuilt groups, memberships\n";
  for (const std::string& line : lines)
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return text;
}

std::string call(const std::string& op, const std::string& number, const std::string& state,
                 const std::string& group = "0-4850097147344926394, pg_description=default_pg") {
  return op + "(timestamp_created=17958250, " + (op == "send" ? "s=0 d=1, " : "") +
         "input_sizes=[[64]], output_sizes=[[64], [2, 3]], input_dtypes=['Float'], "
         "output_dtypes=['Float'], collective_seq_id | p2p_seq_id=" +
         number + ", pg_name=" + group + ", pg_size=3, stack_id=-1, state=" + state + ")";
}

testing::CommandResult diagnosed(const std::string& text) {
  const testing::Folder folder;
  return testing::command({"diagnose", folder.write("table.txt", text)});
}

}  // namespace

TEST_CASE("with -v, the table of torchfrtrace shows who is missing", "[formats][trace_rows]") {
  const std::string first = call("all_reduce", "1", "completed");
  const std::string text = table({{first, call("all_reduce", "2", "started")},
                                  {first, call("all_reduce", "2", "started")},
                                  {first}});
  const auto found = diagnosed(text);
  INFO(found.out << found.err);
  CHECK(found.code == 1);
  CHECK(found.err.empty());
  CHECK(contains(found.out, "The job waits for rank 2."));
  CHECK(contains(found.out, "rank 2 never called all_reduce pg0#2; 2 calls wait for it"));
}

TEST_CASE("calls of gloo in the table are over if all ranks made them", "[formats][trace_rows]") {
  const std::string first = call("all_reduce", "1", "scheduled");
  const auto done = diagnosed(table({{first}, {first}, {first}}));
  INFO(done.out);
  CHECK(done.code == 3);  // gloo records no sends and recvs
  CHECK(contains(done.out, "0 calls not done"));
  const auto differs = diagnosed(table({{first, call("all_reduce", "2", "scheduled")},
                                        {first, call("broadcast", "2", "scheduled")},
                                        {first, call("all_reduce", "2", "scheduled")}}));
  INFO(differs.out);
  CHECK(differs.code == 1);
  CHECK(
      contains(differs.out, "rank 0's all_reduce pg0#2 does not match broadcast pg0#2 on rank 1"));
}

TEST_CASE("sends of the table are between ranks of the job", "[formats][trace_rows]") {
  const std::string other = "71-29, pg_description=pp";
  const std::string send = call("send", "1", "started", other);
  const std::string meets = call("all_reduce", "1", "completed", other);
  const auto dumps = formats::dumps_of_trace_rows(table({{meets, send}, {meets}, {meets}}));
  REQUIRE(dumps.size() == 3);
  CHECK(contains(dumps[0].text, R"("profiling_name":"nccl:send 0->1")"));
  CHECK(contains(dumps[0].text, R"("pg_config":{"71":{"desc":"pp","ranks":[0,1,2]}})"));
  // If a member of the group has no column, its ranks are not numbered.
  const auto part = formats::dumps_of_trace_rows(table({{meets, send}, {meets}}));
  REQUIRE(part.size() == 2);
  CHECK_FALSE(contains(part[0].text, "send"));
  CHECK(contains(part[0].text, R"("pg_config":{})"));
}

TEST_CASE("without -v, the table blames nobody", "[formats][trace_rows]") {
  const std::string done = "all_reduce(input_sizes=[[64]], state=completed)";
  const std::string waits = "all_reduce(input_sizes=[[64]], state=started)";
  const std::string message = "recv(s=1 d=0, input_sizes=[[64]], state=started)";
  for (const std::string& last : {waits, message}) {
    const auto found = diagnosed(table({{done, last}, {done, waits}, {done}}));
    INFO(found.out << found.err);
    CHECK(found.code == 3);
    CHECK(contains(found.out, "UNDECIDED"));
    CHECK(contains(found.out, "that of 'torchfrtrace -j -v'"));
    CHECK_FALSE(contains(found.out, "The job waits for"));
  }
  CHECK(diagnosed(table({{done}, {done}})).code == 3);
}

TEST_CASE("a damaged table is no evidence of a fault", "[formats][trace_rows]") {
  const std::string text = table({{call("all_reduce", "1", "started")}, {}});
  for (std::size_t size = 0; size <= text.size(); ++size) {
    CHECK(formats::dumps_of_trace_rows(text.substr(0, size)).size() <= 2);
  }
  CHECK(formats::dumps_of_trace_rows("Rank 0\n------\n").size() == 1);
  CHECK(formats::dumps_of_trace_rows("Rank 99999999999\n----------------\n").empty());
  CHECK(formats::dumps_of_trace_rows("all_reduce(input_sizes=[[64]], state=started)\n").empty());
  CHECK(diagnosed("all_reduce(input_sizes=[[64]], state=started)\n").code == 2);
}
