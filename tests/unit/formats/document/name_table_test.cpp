#include "formats/document/name_table.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using pipesim::formats::NameTable;

namespace {

// Returns all numbers of `name`, in the order in which the lookup finds them.
std::vector<std::uint32_t> found(const NameTable& table, const std::vector<std::string>& names,
                                 const std::string& name) {
  std::vector<std::uint32_t> numbers;
  table.find(name, [&](std::uint32_t number) {
    if (names[number] == name) numbers.push_back(number);
    return false;
  });
  return numbers;
}

}  // namespace

TEST_CASE("things of one name keep their order while the table grows") {
  NameTable table;
  CHECK(table.find("x", [](std::uint32_t) { return true; }) == NameTable::kNone);
  std::vector<std::string> names;
  std::vector<std::vector<std::uint32_t>> expected(40);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const std::uint32_t which = i * 7 % 41 % 40;
    names.push_back("name" + std::to_string(which));
    table.add(names.back(), i);
    expected[which].push_back(i);
    if (i % 250 == 0) CHECK(found(table, names, names.back()) == expected[which]);
  }
  for (std::uint32_t which = 0; which < expected.size(); ++which) {
    CHECK(found(table, names, "name" + std::to_string(which)) == expected[which]);
  }
  CHECK(found(table, names, "name40").empty());
}
