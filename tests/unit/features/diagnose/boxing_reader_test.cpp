#include "features/diagnose/boxing_reader.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

const std::string kHeader =
    "src_op_name,dst_op_name,src_parallel_desc,dst_parallel_desc,src_nd_sbp,dst_nd_sbp,lbi,dtype,"
    "shape,builder,comment\n";

std::string row(const std::string& from, const std::string& to) {
  return "repeat,gather_grad,{0:cuda:0-0 1:cuda:1-1 (2)},{0:cuda:0-0 1:cuda:1-1 (2)}," + from +
         "," + to + ",repeat/out_0,float,(169 6),NaiveB2P,-\n";
}

std::string boxing_problem(const std::string& text) {
  models::Diagnostics diagnostics;
  if (formats::read_boxing(text, diagnostics)) return "read";
  const auto found = diagnostics.sorted().front();
  return std::to_string(found.place.line) + " " + found.message;
}

bool partial(const std::string& from, const std::string& to) {
  models::Diagnostics diagnostics;
  const auto rows = formats::read_boxing(kHeader + row(from, to), diagnostics);
  REQUIRE(rows);
  REQUIRE(rows->size() == 1);
  CHECK(rows->front().from == from);
  CHECK(rows->front().to == to);
  CHECK(rows->front().shape == "(169 6)");
  return rows->front().makes_partial_sum();
}

}  // namespace

TEST_CASE("partial sums from broadcasts are found in any dimension", "[formats][boxing_reader]") {
  CHECK(partial("(B, B)", "(P, P)"));
  CHECK(partial("(S(0), B)", "(S(0), P)"));
  CHECK(partial("B", "P"));
  CHECK(partial("(B)", "(P)"));
  CHECK_FALSE(partial("(S(0), B)", "(B, B)"));
  CHECK_FALSE(partial("(P, B)", "(B, B)"));
  CHECK_FALSE(partial("(B, S(1))", "(S(0), P)"));
}

TEST_CASE("cells in quotes are read without them", "[formats][boxing_reader]") {
  models::Diagnostics diagnostics;
  const auto rows = formats::read_boxing(
      kHeader + "\"=a,b\",\"-b \"\"c\"\"\",c,d,B,P,e,f,g,h,\"@i, j\"\n", diagnostics);
  REQUIRE(rows);
  REQUIRE(rows->size() == 1);
  CHECK(rows->front().producer == "=a,b");
  CHECK(rows->front().consumer == "-b \"c\"");
  CHECK(rows->front().builder == "h");
}

TEST_CASE("a comment may have commas, and mistakes have a line", "[formats][boxing_reader]") {
  models::Diagnostics diagnostics;
  const auto rows = formats::read_boxing(
      kHeader + "a,b,c,d,B,P,e,f,g,h,i, j\r\n\n" + row("(B, B)", "(B, B)"), diagnostics);
  REQUIRE(rows);
  CHECK(rows->size() == 2);
  CHECK(rows->front().builder == "h");
  CHECK(rows->back().line == 4);
  CHECK(boxing_problem("") == "0 not a boxing log: the file is empty");
  CHECK(boxing_problem("a,b\n") == "1 not a boxing log: the columns of its first line differ");
  CHECK(boxing_problem(kHeader + "a,b,c\n") == "2 a row has 11 fields, found 3");
  CHECK(boxing_problem(kHeader + "a,b,((((,d,e,f,g,h,i,j,k\n") == "2 a row has 11 fields, found 3");
}

TEST_CASE("the lines of eager boxings give a row for each step", "[formats][boxing_reader]") {
  models::Diagnostics diagnostics;
  const std::string glog = "I20220412 10:15:00.000001  4242 eager_boxing_logger.cpp:37] ";
  const auto rows = formats::read_boxing(
      "something else\n" + glog + "Boxing route: symmetric-b-to-s -> naive-s-to-p\n" + glog +
          "Logical shape: (169,6)\n" + glog +
          "Altered state of sbp: (B, B) -> (S(0), B) -> (P, B)\n" + glog +
          "Altered state of placement: {a} -> {b} -> {c}\r\n" + glog + "Boxing route: identity\n" +
          glog + "Altered state of sbp: (B) -> (P)\n",
      diagnostics);
  REQUIRE(rows);
  REQUIRE(rows->size() == 3);
  CHECK((*rows)[0].line == 4);
  CHECK((*rows)[0].from == "(B, B)");
  CHECK((*rows)[0].to == "(S(0), B)");
  CHECK((*rows)[0].builder == "symmetric-b-to-s");
  CHECK((*rows)[0].placement == "{b}");
  CHECK((*rows)[0].shape == "(169,6)");
  CHECK_FALSE((*rows)[0].makes_partial_sum());
  CHECK((*rows)[1].to == "(P, B)");
  CHECK((*rows)[1].builder == "naive-s-to-p");
  CHECK((*rows)[1].placement == "{c}");
  CHECK((*rows)[2].shape.empty());
  CHECK((*rows)[2].makes_partial_sum());
}
