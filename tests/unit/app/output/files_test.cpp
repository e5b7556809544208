#include "app/output/files.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;

TEST_CASE("a word is found wherever it stands in a file") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "pipesim_files_test.txt").string();
  const std::string word = "\"threadblocks\"";
  for (const std::size_t before : {0UL, 1UL, 65'520UL, 65'530UL, 65'536UL, 131'060UL, 200'000UL}) {
    INFO(before);
    app::write_file(path, std::string(before, '"') + word + "end");
    CHECK(app::file_contains(path, word, 1 << 20));
    app::write_file(path, std::string(before, '"') + word.substr(1) + "end");
    CHECK(app::file_contains(path, word, 1 << 20) == (before > 0));
    app::write_file(path, std::string(before, 'x') + word.substr(1) + "end");
    CHECK_FALSE(app::file_contains(path, word, 1 << 20));
  }
  app::write_file(path, "");
  CHECK_FALSE(app::file_contains(path, word, 1 << 20));
  std::filesystem::remove(path);
  CHECK_THROWS_AS(app::file_contains(path, word, 1 << 20), app::FileError);
}
