// Tests of verify(), with which a user's C++ program verifies the text of a collective algorithm.
#include "pipesim/verify.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "pipesim/pipesim.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

std::string sample(const std::string& name) {
  std::ifstream file("tests/golden/verify_samples/" + name, std::ios::binary);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a correct algorithm is proved, question by question", "[library][verify]") {
  const Verification result = verify(sample("pair.xml"));
  CHECK(result.verdict == "CORRECT");
  CHECK(result.correct);
  CHECK_FALSE(result.undecided);
  REQUIRE(result.answers.size() == 6);
  CHECK(result.answers[0].question == "hangs");
  CHECK(std::none_of(result.answers.begin(), result.answers.end(),
                     [](const VerifyAnswer& answer) { return answer.fault; }));
}

TEST_CASE("a fault has its answer, the report of the command, and JSON", "[library][verify]") {
  const std::string text = sample("too_few_slots.xml");
  const Verification result = verify(text, {}, "mine");
  CHECK(result.verdict == "DEADLOCK");
  CHECK_FALSE(result.correct);
  CHECK(result.answers[0].fault);
  CHECK(result.answers[0].text == "yes: it needs 3 slots, and Simple has 2");
  CHECK(result.report.rfind("mine  DEADLOCK", 0) == 0);
  CHECK(result.report.find("3 slots instead of 2") != std::string::npos);
  CHECK(result.json.find("\"slots_needed\": 3") != std::string::npos);
  VerifyOptions options;
  options.slots = 3;
  CHECK(verify(text, options).correct);
}

TEST_CASE("a size of the message is asked about alone", "[library][verify]") {
  const std::string text = sample("large.xml");
  CHECK(verify(text).verdict == "HANGS FOR LARGE MESSAGES");
  VerifyOptions options;
  options.bytes = 1 << 20;
  CHECK(verify(text, options).correct);
}

TEST_CASE("what cannot be read is an Error with a place", "[library][verify]") {
  try {
    verify("<algo name='x'", {}, "mine.xml");
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).rfind("mine.xml:1:", 0) == 0);
    CHECK_FALSE(error.mistakes().empty());
  }
}
