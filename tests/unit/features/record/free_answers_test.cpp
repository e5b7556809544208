// Free answers of a record, counted in the sentence about what a verdict assumes.
#include "features/record/free_answers.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/record.hpp"

using namespace pipesim;
using testing::record_of;

namespace {

std::string ask(const std::string& kind, const std::string& more = "") {
  return "{\"ask\": \"" + kind + "\"" + more + "}\n";
}

std::string file(const std::string& path, bool writes) {
  return ask("file", ", \"path\": \"" + path + "\"" + (writes ? ", \"writes\": true" : ""));
}

std::string text(const std::string& first, const std::string& second) {
  return models::free_answers_text(record_of("gloo", {first, second}));
}

}  // namespace

TEST_CASE("free answers are counted by kind", "[models][free_answers]") {
  CHECK(text("", "").empty());
  CHECK(text(ask("clock"), "") == "1 free answer (1 deadline): pipesim explore tries the others");
  CHECK(text(ask("clock") + ask("queue"), ask("clock", ", \"got\": \"has passed\"")) ==
        "3 free answers (2 deadlines, 1 queue): pipesim explore tries the others");
}

TEST_CASE("a poll that is never true has no other answer", "[models][free_answers]") {
  const std::string call =
      "{\"call\": \"all_reduce\", \"g\": \"g0\", \"n\": 1, \"bytes\": 4, \"w\": 1}\n";
  CHECK(text(call + "{\"poll\": 1}\n", call + "{\"poll\": 1, \"never\": true}\n") ==
        "1 free answer (1 poll): pipesim explore tries the others");
}

TEST_CASE("a note counts if its answers were not counted", "[models][free_answers]") {
  const std::string note = "{\"note\": \"store_order\", \"text\": \"t\"}\n";
  CHECK(text(note, "") == "1 free answer (1 store call): pipesim explore tries the others");
  CHECK(text(note + ask("store") + ask("store"), "") ==
        "2 free answers (2 store calls): pipesim explore tries the others");
}

TEST_CASE("only files that one rank changes and another uses are free", "[models][free_answers]") {
  CHECK(text(file("a", false), file("a", false)).empty());
  CHECK(text(file("a", true), file("b", true)).empty());
  CHECK(text(file("a", true) + file("b", true), file("a", false) + file("b", true)) ==
        "2 free answers (2 files): pipesim explore tries the others");
}
