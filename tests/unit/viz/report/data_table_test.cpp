// Tables of ranks on a terminal.
#include "viz/report/data_table.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;

TEST_CASE("adjacent ranks with equal cells share a row", "[viz][report]") {
  viz::DataTable table{.id = "t", .title = "T"};
  table.columns = {{"rank", "rank"}, {"busy", "time"}, {"peak", "bytes"}, {"ops", "number"}};
  table.rows = {{0, 1'500, 2'048, 7}, {1, 1'500, 2'048, 7}, {2, 0, 0, 7}, {3, 1'500, 2'048, 7}};
  CHECK(viz::table_text(table, {}, 2) ==
        "  rank  busy    peak   ops\n"
        "  0-1   1.5 us  2 KiB  7\n"
        "  2     0 ns    0 B    7\n"
        "  3     1.5 us  2 KiB  7\n");
}

TEST_CASE("a table of memory leaves out what no rank holds", "[viz][report]") {
  models::MemoryReport memory(2);
  memory[1].reserved = 1'024;
  CHECK(viz::memory_table(memory).columns.size() == 4);
  memory[0].held = 1;
  const viz::DataTable table = viz::memory_table(memory);
  CHECK(table.columns.size() == 5);
  CHECK(std::get<std::int64_t>(table.rows[0][1]) == 1);
  CHECK(std::get<std::int64_t>(table.rows[1][2]) == 1'024);
}

TEST_CASE("a schedule's table has the causes of idle time that occur", "[viz][report]") {
  models::PipelineReport pipeline;
  pipeline.ranks.resize(2);
  pipeline.ranks[1].idle.message_ns = 5;
  const viz::DataTable table = viz::schedule_table(pipeline);
  CHECK(table.columns.size() == 5);  // rank, busy, idle, messages, activations
  CHECK(table.columns[3].name == "messages");
  CHECK(std::get<std::int64_t>(table.rows[1][3]) == 5);
}
