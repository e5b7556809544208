#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "app/cli/command_table.hpp"
#include "app/cli/help_text.hpp"
#include "app/version.hpp"

namespace pipesim::app {
namespace {

// Escapes text for roff, so that minus signs and quotes copied from the page are plain ASCII.
std::string escaped(std::string_view text) {
  std::string result;
  // A leading '.' or ''' would start a roff request.
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

// Formats `lines` as unfilled text, exactly as given.
std::string verbatim(const std::vector<std::string>& lines) {
  std::string text = ".nf\n";
  for (const std::string& line : lines) text += escaped(line) + "\n";
  return text + ".fi\n";
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Returns the form "-o, --output FILE" in roff.
std::string option_names(const Option& option) {
  std::string text;
  if (option.letter != '\0') text += fmt::format("\\fB\\-{}\\fR, ", option.letter);
  text += fmt::format("\\fB\\-\\-{}\\fR", escaped(option.name));
  if (!option.value.empty()) text += fmt::format(" \\fI{}\\fR", escaped(option.value));
  return text;
}

std::string see_also(const Command& command) {
  std::vector<std::string> others = {"pipesim"};
  if (command.name.empty()) {
    others.clear();
    for (const std::string& name : command_names()) others.push_back("pipesim-" + name);
  }
  std::string text = ".SH SEE ALSO\n";
  for (const std::string& other : others) {
    text += fmt::format("\\fB{}\\fR(1){}\n", escaped(other), other == others.back() ? "" : ",");
  }
  text += ".PP\nRead more:";
  for (const std::string& page : command.pages) {
    text += fmt::format(" {}{}", escaped(page), page == command.pages.back() ? "\n" : ",");
  }
  return text;
}

}  // namespace

std::string man_page(const Command& command) {
  const std::string name = command.name.empty() ? "pipesim" : "pipesim-" + command.name;
  std::string text = fmt::format(".TH {} 1 \"\" \"pipesim {}\" \"User Commands\"\n",
                                 escaped(upper(name)), version());
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(name), escaped(command.about));
  std::vector<std::string> usage;
  for (const std::string& form : command.usage) {
    usage.push_back(fmt::format("pipesim{}{}{}{}", command.name.empty() ? "" : " ", command.name,
                                form.empty() ? "" : " ", form));
  }
  text += ".SH SYNOPSIS\n" + verbatim(usage) + ".SH DESCRIPTION\n";
  for (const std::string& paragraph : command.description) {
    text += fmt::format(".PP\n{}\n", escaped(paragraph));
  }
  for (const HelpTable& table : command.tables) {
    text += fmt::format(".SS {}:\n", escaped(table.title));
    for (const auto& [row, about] : table.rows) {
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(row), escaped(about));
    }
  }
  text += ".SH OPTIONS\n";
  for (const OptionGroup& group : all_options(command)) {
    text += fmt::format(".SS {}:\n", escaped(group.title));
    for (const Option& option : group.options) {
      text += fmt::format(".TP\n{}\n{}\n", option_names(option), escaped(option_text(option)));
    }
  }
  text += ".SH EXAMPLES\n" + verbatim(command.examples);
  text += fmt::format(".SH EXIT STATUS\n{}\n", escaped(command.exit_status));
  return text + see_also(command);
}

}  // namespace pipesim::app
