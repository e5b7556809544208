// Checks that every error code is explained, that its example gives the error, and that an expected
// output contains the code.
#include "models/codes.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using models::Code;
using models::CodeInfo;
using testing::contains;

namespace {

// Whether no input reliably provokes the error. No expected output contains the code of such an
// error.
bool is_seldom(Code code) {
  return code == Code::kMemory || code == Code::kGraphviz || code == Code::kContradiction;
}

// Returns one side of the code's example: a scenario, or command lines.
std::string side(const CodeInfo& info, char mark) {
  std::istringstream lines(info.example);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line[0] == ' ' || line[0] == mark) text += line.substr(1) + "\n";
  }
  return text;
}

std::string errors_of(const std::string& text) {
  const std::string prompt = "$ pipesim ";
  if (!text.starts_with(prompt)) return testing::command({"run", "-"}, text).err;
  std::istringstream words(text.substr(prompt.size()));
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) {
    arguments.push_back(word == "job.yaml" ? "scenarios/pipeline_1f1b.yaml" : word);
  }
  return testing::command(arguments).err;
}

std::string expected_outputs() {
  std::string text;
  for (const auto& file : std::filesystem::directory_iterator("tests/golden")) {
    if (file.path().extension() == ".test") text += testing::file_text(file.path().string());
  }
  return text;
}

}  // namespace

TEST_CASE("the example of a code has this mistake, and its fix has none", "[codes]") {
  for (const CodeInfo& info : models::all_codes()) {
    if (info.example.empty()) continue;
    CAPTURE(models::code_id(info.code), info.example);
    CHECK(contains(errors_of(side(info, '-')), "[" + models::code_id(info.code) + "]"));
    if (!contains(info.example, "\n+") && info.example[0] != '+') continue;
    const std::string left = errors_of(side(info, '+'));
    CAPTURE(left);
    CHECK_FALSE(contains(left, "error["));
  }
}

TEST_CASE("every code is met, and every one that is met is explained", "[codes]") {
  const std::string outputs = expected_outputs();
  for (const CodeInfo& info : models::all_codes()) {
    CAPTURE(models::code_id(info.code));
    CHECK((!info.example.empty() || is_seldom(info.code) ||
           contains(outputs, "[" + models::code_id(info.code) + "]: ")));
  }
  for (std::size_t at = outputs.find("[E"); at != std::string::npos;
       at = outputs.find("[E", at + 1)) {
    const std::string id = outputs.substr(at + 1, outputs.find(']', at) - at - 1);
    CAPTURE(id);
    CHECK(models::find_code(id) != nullptr);
  }
}

TEST_CASE("codes are sorted, and found by their ids", "[codes]") {
  const auto codes = models::all_codes();
  CHECK(std::is_sorted(codes.begin(), codes.end(),
                       [](const CodeInfo& a, const CodeInfo& b) { return a.code < b.code; }));
  CHECK(models::code_id(Code::kUnknownActor) == "E0401");
  for (const CodeInfo& info : codes) {
    CHECK(models::find_code(models::code_id(info.code)) == &info);
  }
  CHECK(models::find_code("e0401") == models::find_code("E0401"));
  CHECK(models::find_code("E0400") == nullptr);
  CHECK(models::find_code("") == nullptr);
}

TEST_CASE("help explains codes", "[codes]") {
  CHECK(contains(testing::command({"help", "e0401"}).out, "E0401: unknown actor or step\n"));
  CHECK(contains(testing::command({"help", "errors"}).out, "E0401  unknown actor or step\n"));
  const testing::CommandResult unknown = testing::command({"help", "E0499"});
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "'pipesim help errors' lists all ids"));
}

// The compiler numbers the codes, so without this test a forgotten section would go unnoticed.
TEST_CASE("the page of errors explains exactly the codes of the header", "[codes]") {
  std::vector<unsigned> numbers;
  unsigned next = 0;
  std::istringstream header(testing::file_text("models/codes.hpp"));
  for (std::string line; std::getline(header, line);) {
    std::smatch found;
    if (!std::regex_match(line, found, std::regex("  k[A-Z]\\w+(?: = (\\d+))?,.*"))) continue;
    if (found[1].matched) next = static_cast<unsigned>(std::stoul(found[1]));
    if (next > 0) numbers.push_back(next);
    ++next;
  }
  std::vector<unsigned> explained;
  for (const CodeInfo& info : models::all_codes()) {
    CAPTURE(models::code_id(info.code));
    explained.push_back(static_cast<unsigned>(info.code));
    CHECK_FALSE(info.title.empty());
    CHECK_FALSE(info.about.empty());
  }
  CHECK(explained == numbers);
}

// The hundreds digit of a number selects the topic.
TEST_CASE("a topic has the codes of one hundred", "[codes]") {
  const auto codes = models::all_codes();
  for (std::size_t i = 1; i < codes.size(); ++i) {
    CAPTURE(models::code_id(codes[i].code));
    const auto hundreds = [](const CodeInfo& info) { return static_cast<int>(info.code) / 100; };
    CHECK((codes[i - 1].topic == codes[i].topic) == (hundreds(codes[i - 1]) == hundreds(codes[i])));
  }
}
