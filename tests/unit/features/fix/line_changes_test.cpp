// Changes to the lines of a script, which `fix` tries on the script's record.
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/record.hpp"

using namespace pipesim;
using testing::contains;

namespace {

const std::string kLines = R"({"def": "a", "at": "job.py:1", "call": "all_reduce"}
{"def": "b", "at": "job.py:2", "call": "all_reduce"}
{"def": "c", "at": "job.py:3", "call": "barrier"}
{"def": "s", "at": "job.py:4", "call": "send"}
{"def": "r", "at": "job.py:5", "call": "recv"}
)";
const std::string kFinished = "{\"end\": \"finished\"}\n";
const std::string kStands = "{\"end\": \"cut\", \"why\": \"rest\"}\n";

std::string collective(const std::string& operation, const std::string& line, int number) {
  return R"({"call": ")" + operation + R"(", "g": "g0", "n": )" + std::to_string(number) +
         (operation == "barrier" ? "" : R"(, "bytes": 4, "type": "float32")") + R"(, "l": ")" +
         line + "\", \"sync\": true}\n";
}

std::string message(const std::string& operation, int peer) {
  return R"({"call": ")" + operation + R"(", "g": "g0", "n": 1, "peer": )" + std::to_string(peer) +
         R"(, "bytes": 4000000, "type": "float32", "l": ")" + operation.substr(0, 1) +
         "\", \"sync\": true}\n";
}

// Returns the report of `fix` on a record of these ranks.
testing::CommandResult fix(const std::vector<std::string>& ranks,
                           const std::vector<std::string>& options = {}) {
  std::vector<std::string> texts;
  for (const std::string& rank : ranks) texts.push_back(kLines + rank);
  const testing::Folder folder;
  for (const formats::RecordText& file : testing::record_files("gloo", texts)) {
    folder.write("rec/" + file.path, file.text);
  }
  std::vector<std::string> words = {"fix", folder / "rec"};
  words.insert(words.end(), options.begin(), options.end());
  return testing::command(words);
}

// Returns the changes that help, or those that do not, as "kind: text".
std::vector<std::string> lines(const std::vector<std::string>& ranks, const char* key = "lines") {
  std::vector<std::string> result;
  const auto json = nlohmann::json::parse(fix(ranks, {"--json"}).out);
  for (const auto& change : json.at(key)) {
    result.push_back(change.at("kind").get<std::string>() + ": " +
                     change.at("text").get<std::string>());
  }
  return result;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("fix: a line that only some ranks call can go", "[app][fix][line_changes]") {
  // Line 2 is a call of rank 0 alone, twice. All later calls of the record fit without it.
  const std::string plain = collective("all_reduce", "a", 1) + collective("barrier", "c", 2) +
                            collective("all_reduce", "a", 3) + collective("barrier", "c", 4) +
                            kFinished;
  const std::string more = collective("all_reduce", "a", 1) + collective("all_reduce", "b", 2) +
                           collective("barrier", "c", 3) + collective("all_reduce", "a", 4) +
                           collective("all_reduce", "b", 5) + collective("barrier", "c", 6) +
                           kFinished;
  CHECK(lines({more, plain}) ==
        Lines{"drop: without job.py:2 all_reduce, which only rank 0 calls in this record"});
  const auto report = fix({more, plain});
  CHECK(report.code == 1);
  CHECK(contains(report.out, "1 later call matches, too"));
  CHECK(contains(report.err, "note: job.py is not here"));
  CHECK(!contains(report.out, "No change"));
}

TEST_CASE("fix: nobody is blamed where the record shows both sides", "[app][fix][line_changes]") {
  // Rank 0 ends in line 2 and rank 1 in line 3, and neither calls from the other's line.
  const std::string zero =
      collective("all_reduce", "a", 1) + collective("all_reduce", "b", 2) + kStands;
  const std::string one =
      collective("all_reduce", "a", 1) + collective("barrier", "c", 2) + kStands;
  CHECK(lines({zero, one}) ==
        Lines{"drop: without job.py:2 all_reduce, which only rank 0 calls in this record",
              "drop: without job.py:3 barrier, which only rank 1 calls in this record"});
  CHECK(contains(fix({zero, one}).out, "so later ones are unknown"));
}

TEST_CASE("fix: a call of all ranks does not go", "[app][fix][line_changes]") {
  // Without line 2, the calls of the ranks would not differ. But all ranks call from line 2, in
  // different orders, so `fix` does not drop the line.
  const std::string zero =
      collective("all_reduce", "b", 1) + collective("barrier", "c", 2) + kFinished;
  const std::string one =
      collective("barrier", "c", 1) + collective("all_reduce", "b", 2) + kFinished;
  CHECK(lines({zero, one}).empty());
  CHECK(contains(fix({zero, one}).out, "No change that was tried on the record"));
}

TEST_CASE("fix: sends that wait for each other", "[app][fix][line_changes]") {
  // gloo's send returns only after the matching recv is posted, so each rank stays in its send.
  std::vector<std::string> ranks;
  for (const int peer : {1, 0})
    ranks.push_back(message("send", peer) + message("recv", peer) + kFinished);
  CHECK(lines(ranks) == Lines{"isend: job.py:4 send as isend, with its wait after the next recv",
                              "order: job.py:5 recv before job.py:4 send on rank 1"});
  CHECK(lines(ranks, "lines_without_use") ==
        Lines{"order: job.py:5 recv before job.py:4 send on ranks 0, 1"});
}
