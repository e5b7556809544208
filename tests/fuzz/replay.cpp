// Runs fuzz targets over files, with any compiler, so that faults found earlier do not return.
//
//   fuzz_replay --list
//   fuzz_replay TARGET FILE_OR_FOLDER...
//   fuzz_replay TARGET --mutate TIMES CURRENT FILE_OR_FOLDER...
//
// The last form also runs TIMES deterministic mutations of each input: a short fuzz run for
// compilers without libFuzzer. It writes each input to the file CURRENT before running it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/target.hpp"
#include "tests/twin/random.hpp"

namespace {

using pipesim::fuzz::Target;
using pipesim::twin::Random;

// Replacements for numbers in a file.
constexpr std::array<std::string_view, 9> kNumbers = {
    "0", "1", "-1", "255", "65536", "4294967296", "9223372036854775807", "-999999999", "1e999"};

std::size_t below(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.below(static_cast<int>(count)));
}

void change_number(std::string& text, Random& random) {
  constexpr std::string_view kDigits = "0123456789";
  std::size_t begin = text.find_first_of(kDigits, below(random, text.size() + 1));
  if (begin == std::string::npos) begin = text.find_first_of(kDigits);
  if (begin == std::string::npos) return;
  const std::size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
  text.replace(begin, end - begin, kNumbers[below(random, kNumbers.size())]);
}

// Returns a seed that depends only on the input, so that a new sample does not change the mutations
// of other samples.
std::size_t seed_of(std::string_view bytes) {
  std::size_t seed = 1;
  for (const char byte : bytes) seed = seed * 1'099'511'628'211U + static_cast<unsigned char>(byte);
  return seed;
}

void change(std::string& text, const std::string& other, Random& random) {
  const std::size_t at = below(random, text.size() + 1);
  const std::size_t size = 1 + below(random, 16);
  switch (random.below(6)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
      break;
    case 1:
      text.erase(at, size);
      break;
    case 2:
      text.insert(at, text.substr(at, size));
      break;
    case 3:
      text.insert(at, other.substr(below(random, other.size() + 1), 4 * size));
      break;
    case 4:
      text.resize(at);
      break;
    default:
      change_number(text, random);
      break;
  }
}

std::vector<std::string> files_in(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Mutations {
  int times = 0;
  std::string current;  // path of the file CURRENT of the usage
};

int replay(const Target& target, const Mutations& mutations,
           const std::vector<std::string>& paths) {
  const std::vector<std::string> files = files_in(paths);
  std::string before;
  for (const std::string& file : files) {
    const std::string bytes = bytes_of(file);
    std::fprintf(stderr, "%s\n", file.c_str());  // names the input of a crash
    target.run(bytes);
    for (int k = 0; k < mutations.times; ++k) {
      Random random(seed_of(bytes) + static_cast<std::size_t>(k));
      std::string changed = bytes;
      for (int changes = random.between(1, 4); changes > 0; --changes) {
        change(changed, before, random);
      }
      std::ofstream(mutations.current, std::ios::binary) << changed;
      target.run(changed);
    }
    before = bytes;
  }
  std::printf("%s: %zu inputs\n", std::string(target.name).c_str(), files.size());
  return files.empty() ? 2 : 0;
}

int run(const std::vector<std::string>& arguments) {
  const std::vector<Target> all = pipesim::fuzz::targets();
  if (arguments.size() == 1 && arguments[0] == "--list") {
    for (const Target& target : all) std::printf("%s\n", std::string(target.name).c_str());
    return 0;
  }
  const bool mutates = arguments.size() >= 5 && arguments[1] == "--mutate";
  if (arguments.size() < 2 || (arguments[1] == "--mutate" && !mutates)) {
    std::fputs("usage: fuzz_replay --list | TARGET [--mutate TIMES CURRENT] PATH...\n", stderr);
    return 2;
  }
  const auto target = std::find_if(all.begin(), all.end(),
                                   [&](const Target& it) { return it.name == arguments[0]; });
  if (target == all.end()) {
    std::fprintf(stderr, "there is no target '%s'\n", arguments[0].c_str());
    return 2;
  }
  Mutations mutations;
  if (mutates) mutations = {std::stoi(arguments[2]), arguments[3]};
  return replay(*target, mutations, {arguments.begin() + (mutates ? 4 : 1), arguments.end()});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
