#include "models/short_list.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

using pipesim::models::ShortList;

namespace {

std::vector<std::string> all(const ShortList<std::string>& list) {
  return {list.begin(), list.end()};
}

const std::string kLong(100, 'x');  // too long for the string's inline buffer

}  // namespace

TEST_CASE("a short list is a pointer, and an empty one is null", "[models][short_list]") {
  CHECK(sizeof(ShortList<std::string>) == sizeof(void*));
  const ShortList<std::string> none;
  CHECK(none.empty());
  CHECK(none.size() == 0);
  CHECK(none.begin() == none.end());
}

TEST_CASE("a short list keeps items and their order as it grows", "[models][short_list]") {
  ShortList<std::string> list;
  std::vector<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    list.push_back(std::to_string(i) + kLong);
    expected.push_back(std::to_string(i) + kLong);
  }
  CHECK(all(list) == expected);
  CHECK(list.front() == expected.front());
  CHECK(list.back() == expected.back());
  CHECK(list[7] == expected[7]);
  list.push_back(list.front());  // an element of the list itself, which moves
  CHECK(list.back() == expected.front());
  CHECK(list.front() == expected.front());
}

TEST_CASE("copies of a short list are apart", "[models][short_list]") {
  ShortList<std::string> a = {"a", kLong};
  ShortList<std::string> b = a;
  CHECK(a == b);
  b[1] = "b";
  CHECK(a[1] == kLong);
  CHECK(!(a == b));
  a = std::move(b);
  CHECK(all(a) == std::vector<std::string>{"a", "b"});
  const ShortList<std::string>& same = a;
  a = same;
  CHECK(all(a) == std::vector<std::string>{"a", "b"});
  CHECK(!(a == ShortList<std::string>{"a"}));
}

TEST_CASE("items leave a short list as they leave a vector", "[models][short_list]") {
  ShortList<std::string> list = std::vector<std::string>{"a", kLong, "b", "c", "d"};
  list.erase(list.begin() + 1);
  CHECK(all(list) == std::vector<std::string>{"a", "b", "c", "d"});
  list.erase(std::remove(list.begin(), list.end(), "c"), list.end());
  CHECK(all(list) == std::vector<std::string>{"a", "b", "d"});
  list.erase(list.end(), list.end());
  CHECK(list.size() == 3);
  list.assign(2, kLong);
  CHECK(all(list) == std::vector<std::string>{kLong, kLong});
  list.clear();
  CHECK(list.empty());
  CHECK(list.erase(list.begin(), list.end()) == list.end());
}

TEST_CASE("each item of a short list is destroyed once", "[models][short_list]") {
  const auto counted = std::make_shared<int>();
  {
    ShortList<std::shared_ptr<int>> list;
    for (int i = 0; i < 5; ++i) list.push_back(counted);
    CHECK(counted.use_count() == 6);
    list.erase(list.begin() + 1, list.begin() + 3);
    CHECK(counted.use_count() == 4);
    const ShortList<std::shared_ptr<int>> copy = list;
    CHECK(counted.use_count() == 7);
  }
  CHECK(counted.use_count() == 1);
}
