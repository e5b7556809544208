#include "features/diagnose/debug_page.hpp"

#include <algorithm>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"

using namespace pipesim;

namespace {

// Returns a page as the debug server prints it.
std::string page(const std::string& first, const std::string& second) {
  return "<!doctype html>\n<h1>Stacks</h1>\n        <h2>Rank 0: http://n0:1/handler/x?</h2>\n"
         "            <pre>" +
         first + "</pre>\n        <h2>Rank 1: http://n1:1</h2>\n" + second;
}

}  // namespace

TEST_CASE("the answers of ranks are below their headings", "[formats][debug_page]") {
  const std::string text = page("{&#34;a&#34;:\n 1}", "<pre>x &lt;module&gt; &amp; y</pre>\n");
  CHECK(formats::is_debug_page(text));
  const auto parts = formats::debug_page_parts(text);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].rank == 0);
  CHECK(parts[0].text == "{\"a\":\n 1}");
  CHECK(parts[1].text == "x <module> & y");
  // Each line keeps its number.
  const std::string plain = formats::debug_page_text(text);
  CHECK(std::count(plain.begin(), plain.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
  CHECK(plain.find("=== Rank 1: http://n1:1 ===\nx <module>") != std::string::npos);
}

TEST_CASE("a rank that did not answer has no part", "[formats][debug_page]") {
  const auto parts = formats::debug_page_parts(
      page("x", "<p>Failed to fetch: status=503</p>\n<pre>ConnectionError</pre>\n"));
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].rank == 0);
  CHECK_FALSE(formats::is_debug_page("Process 1: python\nThread 1 (idle)\n"));
}

// torch 2.13 wrote these rows of /fr_trace.
TEST_CASE("the tables of /fr_trace become those of torchfrtrace", "[formats][debug_page]") {
  const std::string text =
      "<h2>Memberships</h2>\n<table>\n<tr><td>0</td><td style=\"text-align: right;\">  "
      "1</td></tr>\n"
      "    <h2>Collectives</h2>\n    <table>\n<thead>\n<tr><th>  id</th><th>group_id</th></tr>\n"
      "</thead>\n<tr><td style=\"text-align: right;\">   5</td><td>   0</td><td>True        </td>"
      "<td>   6</td><td>   0</td><td>   5</td><td>0:default_pg</td><td>gloo:all_reduce  </td>"
      "<td>[[64]]  </td><td>[[64]]  </td><td>{0, 1, 2}  </td><td>scheduled  </td>"
      "<td>[{&#x27;name&#x27;: &#x27;f&#x27;}]</td><td>  </td><td>  </td><td>{2}  </td></tr>\n"
      "</table>\n    <h2>NCCL Calls</h2>\n";
  CHECK(formats::is_debug_page(text));
  CHECK(formats::has_trace_tables(text));
  const std::string plain = formats::debug_page_text(text);
  CHECK(std::count(plain.begin(), plain.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
  CHECK(plain.find("\n--- Collectives ---\n") != std::string::npos);
  CHECK(plain.find("[{'name': 'f'}]") != std::string::npos);
  const testing::Folder folder;
  const auto found =
      testing::command({"diagnose", folder.write("fr_trace.html", "<!doctype html>\n" + text)});
  INFO(found.out << found.err);
  CHECK(found.code == 1);
  CHECK(testing::contains(found.out, "The job waits for rank 2."));
  CHECK(testing::contains(found.out, "rank 2 never called all_reduce pg0#6"));
  // The page may be cut off anywhere.
  for (std::size_t size = 0; size < text.size(); ++size) {
    CHECK(formats::debug_page_text(text.substr(0, size)).size() < 2 * text.size());
  }
}

TEST_CASE("a page may be cut off anywhere", "[formats][debug_page]") {
  const std::string text = page("{}", "<pre>y</pre>\n");
  for (std::size_t size = 0; size < text.size(); ++size) {
    CHECK(formats::debug_page_parts(text.substr(0, size)).size() <= 2);
  }
}
