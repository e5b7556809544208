#include "models/graph/diagnostics.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using namespace pipesim::models;

namespace {

constexpr Code kSome = Code::kUnknownActor;

}  // namespace

TEST_CASE("mistakes are sorted by place, those of one place in the order they were found",
          "[models][diagnostics]") {
  Diagnostics diagnostics;
  diagnostics.error({3, 1}, kSome, "third");
  diagnostics.error({1, 9}, kSome, "second");
  diagnostics.warning({1, 2}, kSome, "first");
  diagnostics.error({3, 1}, kSome, "fourth");
  diagnostics.error({}, kSome, "without a place");
  std::vector<std::string> messages;
  for (const Diagnostic& item : diagnostics.sorted()) messages.push_back(item.message);
  CHECK(messages ==
        std::vector<std::string>{"without a place", "first", "second", "third", "fourth"});
}

TEST_CASE("only errors stop what follows", "[models][diagnostics]") {
  Diagnostics diagnostics;
  diagnostics.warning({1, 1}, kSome, "odd");
  CHECK(!diagnostics.has_errors());
  diagnostics.error({1, 1}, kSome, "wrong").notes.emplace_back("do this");
  CHECK(diagnostics.has_errors());
  CHECK(diagnostics.error_count() == 1);
  CHECK(diagnostics.sorted().back().notes == std::vector<std::string>{"do this"});
}

TEST_CASE("the nearest name is the first with the fewest edits", "[models][diagnostics]") {
  CHECK(nearest_name("forwrad", {"backward", "forward", "forwards"}) == "forward");
  CHECK(nearest_name("slto", {"slot", "salto"}) == "slot");  // a swap counts as one edit
  CHECK(nearest_name("abcd", {"abce", "abcf"}) == "abce");
  CHECK(nearest_name("gather", {"gather"}) == "gather");
}

TEST_CASE("a name is near up to a third of its length, and up to one edit where it is short",
          "[models][diagnostics]") {
  CHECK(nearest_name("tp", {"pp"}) == "pp");
  CHECK(nearest_name("tp", {"dq"}).empty());
  CHECK(nearest_name("abcdef", {"abcdxy"}) == "abcdxy");
  CHECK(nearest_name("abcdef", {"abcxyz"}).empty());
  CHECK(nearest_name("", {"ab"}).empty());
  CHECK(nearest_name("x", {}).empty());
  CHECK(nearest_name("1F1B", {"1f1", "1f1b", "gpipe"}) == "1f1b");
  CHECK(nearest_name("NCCL", {"gloo", "nccl"}) == "nccl");
}

TEST_CASE("a name of a megabyte is compared with nothing", "[models][diagnostics]") {
  const std::string huge(1'000'000, 'x');
  CHECK(nearest_name(huge, {huge}).empty());
}

TEST_CASE("where no name is near, a short list of the known ones helps", "[models][diagnostics]") {
  const auto notes = [](const std::string& name, const std::vector<std::string>& known) {
    Diagnostic diagnostic;
    suggest_name(diagnostic, name, known);
    return diagnostic.notes;
  };
  CHECK(notes("forwrad", {"forward"}) == std::vector<std::string>{"did you mean 'forward'?"});
  CHECK(notes("copy", {"forward", "backward"}) ==
        std::vector<std::string>{"known here: forward, backward"});
  CHECK(notes("copy", {}).empty());
  CHECK(notes("copy", std::vector<std::string>(13, "stream")).empty());
  Diagnostic longer;
  suggest_name(longer, "copy", std::vector<std::string>(13, "stream"), 13);
  CHECK(longer.notes.size() == 1);
}

TEST_CASE("what a terminal would act on is shown as question marks", "[models][diagnostics]") {
  CHECK(printable("a\tb\x1b[1m\x7f\xc2\x9b"
                  "c\xc3\xa4\xe2\x82\xac") == "a?b?[1m???c\xc3\xa4\xe2\x82\xac");
  // U+202E and U+2066 would show the following text from right to left.
  CHECK(printable("\xe2\x80\xaetaolF\xe2\x81\xa6") == "???taolF???");
  CHECK(has_control_characters(std::string("\0", 1)));
  CHECK(!has_control_characters("\xc2\xa0 \xc3\x9b"));
}

TEST_CASE("the same mistake at the same place is reported once", "[models][diagnostics]") {
  Diagnostics diagnostics;
  diagnostics.error({1, 2}, kSome, "a");
  diagnostics.error({1, 2}, kSome, "b");
  diagnostics.error({1, 3}, kSome, "a");
  diagnostics.error({1, 2}, kSome, "a");
  REQUIRE(diagnostics.sorted().size() == 3);
  CHECK(diagnostics.sorted()[1].message == "b");
}

TEST_CASE("a small place is the same place, wherever a scenario can have one",
          "[models][diagnostics]") {
  constexpr std::uint32_t kLast = (1U << 27U) - 1;  // the last line or column that fits
  CHECK(sizeof(SmallPlace) == 8);
  CHECK(SmallPlace().place() == Place());
  for (const Place place : {Place{1, 1, 0}, Place{kLast, 1, 255}, Place{1, kLast, 7},
                            Place{kLast, kLast, 255}, Place{0, 0, 3}}) {
    for (const bool mark : {false, true}) {
      CHECK(SmallPlace(place, mark).place() == place);
      CHECK(SmallPlace(place, mark).mark() == mark);
    }
  }
  // A larger line or column does not spill into another one or into the file.
  CHECK(SmallPlace({5, 0xffffffff, 2}).place() == Place{5, kLast, 2});
}
