#include "app/cli/man_page.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "app/version.hpp"

namespace pipesim::app {
namespace {

using Lines = std::vector<std::string>;

// Text as roff prints it: a minus and no hyphen, quotes and all that are there to be copied.
std::string escaped(std::string_view text) {
  std::string result;
  // At the start of a line these would begin a request.
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) result = "\\&";
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  return result;
}

bool is_indented(const std::string& line) { return line.rfind("  ", 0) == 0; }

// The blocks of a text, which empty lines part.
std::vector<Lines> blocks_of(std::string_view text) {
  std::vector<Lines> blocks(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) {
      blocks.back().emplace_back(text.substr(0, end));
    } else if (!blocks.back().empty()) {
      blocks.emplace_back();
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (blocks.back().empty()) blocks.pop_back();
  return blocks;
}

// Lines `first` and on: indented ones as they are, others as a paragraph.
std::string body(const Lines& lines, std::size_t first) {
  std::string text;
  bool is_example = false;
  for (std::size_t i = first; i < lines.size(); ++i) {
    if (is_indented(lines[i]) != is_example) {
      is_example = !is_example;
      text += is_example ? ".PP\n.nf\n" : ".fi\n.PP\n";
    }
    text += escaped(is_example ? lines[i].substr(2) : lines[i]) + "\n";
  }
  return text + (is_example ? ".fi\n" : "");
}

// "Usage: a" and below it "       b".
std::string synopsis(const Lines& lines) {
  const std::string_view before = "Usage: ";
  std::string text = ".SH SYNOPSIS\n.nf\n";
  for (const std::string& line : lines) text += escaped(line.substr(before.size())) + "\n";
  return text + ".fi\n.SH DESCRIPTION\n";
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string section(const Lines& block) {
  const std::string_view codes = "Exit code: ";
  const std::string& first = block.front();
  if (first.rfind("Usage: ", 0) == 0) return synopsis(block);
  if (first.rfind(codes, 0) == 0) {
    Lines lines = block;
    lines.front().erase(0, codes.size());
    return ".SH EXIT STATUS\n" + body(lines, 0);
  }
  // A title of one word.
  if (first.back() == ':' && first.find(' ') == std::string::npos) {
    return fmt::format(".SH {}\n", upper(first.substr(0, first.size() - 1))) + body(block, 1);
  }
  return ".PP\n" + body(block, 0);
}

std::string options(const CommandText& command) {
  if (command.options.empty()) return {};
  std::string text = ".SH OPTIONS\n";
  for (const OptionText& option : command.options) {
    text += ".TP\n";
    if (option.letter != '\0') text += fmt::format("\\fB\\-{}\\fR, ", option.letter);
    text += fmt::format("\\fB\\-\\-{}\\fR", escaped(option.name));
    if (!option.value.empty()) text += fmt::format(" \\fI{}\\fR", escaped(option.value));
    text += "\n" + escaped(option.about) + "\n";
  }
  return text;
}

}  // namespace

std::string man_page(const CommandText& command, const std::vector<std::string>& others) {
  const std::string name = command.name.empty() ? "pipesim" : "pipesim-" + command.name;
  std::string text = fmt::format(".TH {} 1 \"\" \"pipesim {}\" \"User Commands\"\n",
                                 escaped(upper(name)), version());
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(name), escaped(command.about));
  for (const Lines& block : blocks_of(command.help)) text += section(block);
  text += options(command) + ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < others.size(); ++i) {
    text += fmt::format("\\fB{}\\fR(1){}\n", escaped(others[i]), i + 1 < others.size() ? "," : "");
  }
  return text;
}

}  // namespace pipesim::app
