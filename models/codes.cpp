// The codes and their explanations are sections of docs/reference/errors*.md.
#include "models/codes.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "models/data_files.hpp"

namespace pipesim::models {
namespace {

// Reads a page: an introduction, "## TOPIC", "### E0101: TITLE", the explanation, and an example in
// a code block.
void read_codes(std::string_view path, std::vector<CodeInfo>& codes) {
  std::string topic;  // empty in the introduction
  bool in_example = false;
  std::istringstream page{std::string(data_file(path))};
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("### E")) {
      CodeInfo& info = codes.emplace_back();
      info.code = static_cast<Code>(std::stoul(line.substr(5, 4)));
      info.topic = topic;
      info.title = line.substr(11);
    } else if (line.starts_with("## ")) {
      topic = line.substr(3);
    } else if (line.starts_with("```")) {
      in_example = !in_example;
    } else if (topic.empty()) {
      continue;
    } else if (in_example) {
      codes.back().example += line + "\n";
    } else if (!line.empty()) {
      codes.back().about += (codes.back().about.empty() ? "" : " ") + line;
    }
  }
}

std::vector<CodeInfo> read_pages() {
  std::vector<CodeInfo> codes;
  for (const char* part : {"", "-jobs", "-inputs"})
    read_codes(std::string("docs/reference/errors") + part + ".md", codes);
  return codes;
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::span<const CodeInfo> all_codes() {
  static const std::vector<CodeInfo> kCodes = read_pages();
  return kCodes;
}

std::string code_id(Code code) {
  const std::string digits = std::to_string(static_cast<unsigned>(code));
  return "E" + std::string(4 - std::min<std::size_t>(4, digits.size()), '0') + digits;
}

std::string code_help(Code code) { return "see 'pipesim help " + code_id(code) + "'"; }

const CodeInfo* find_code(std::string_view id) {
  std::string wanted(id);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), upper);
  const std::span<const CodeInfo> codes = all_codes();
  const auto found = std::find_if(codes.begin(), codes.end(), [&](const CodeInfo& info) {
    return code_id(info.code) == wanted;
  });
  return found == codes.end() ? nullptr : &*found;
}

}  // namespace pipesim::models
