#include "app/cli/help_text.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "viz/report/words.hpp"

namespace pipesim::app {
namespace {

constexpr std::size_t kWidth = 80;
// Width of the name column; a longer name gets its own line.
constexpr std::size_t kMaxNameWidth = 24;

}  // namespace

std::string wrapped(const std::string& head, std::string_view text, std::size_t indent) {
  return viz::paragraph(head + std::string(text), kWidth, 0, indent);
}

std::string two_columns(const std::vector<HelpTable>& sections) {
  std::size_t width = 0;
  for (const HelpTable& section : sections) {
    for (const auto& [name, about] : section.rows) {
      if (name.size() <= kMaxNameWidth) width = std::max(width, name.size());
    }
  }
  std::string text;
  for (const HelpTable& section : sections) {
    text += fmt::format("\n{}:\n", section.title);
    for (const auto& [name, about] : section.rows) {
      const bool fits = name.size() <= width;
      if (!fits) text += fmt::format("  {}\n", name);
      text += wrapped(fmt::format("  {:{}}  ", fits ? name : "", width), about, width + 4);
    }
  }
  return text;
}

namespace {

// Returns the form "-o, --output FILE".
std::string option_form(const Option& option) {
  const std::string letter = option.letter == '\0' ? "    " : fmt::format("-{}, ", option.letter);
  return fmt::format("{}--{}{}{}", letter, option.name, option.value.empty() ? "" : " ",
                     option.value);
}

}  // namespace

std::string option_text(const Option& option) {
  std::string text = option.about;
  if (!option.choices.empty()) text += fmt::format(" [{}]", fmt::join(option.choices, ", "));
  if (!option.otherwise.empty()) text += fmt::format(" (default: {})", option.otherwise);
  return text;
}

std::string help_text(const Command& command) {
  const std::string name = command.name.empty() ? "pipesim" : "pipesim " + command.name;
  std::string text;
  if (command.name.empty()) text += wrapped("pipesim: ", command.about, 0) + "\n";
  for (const std::string& form : command.usage) {
    text += fmt::format("{} {}{}{}\n", text.empty() || text.ends_with("\n\n") ? "Usage:" : "      ",
                        name, form.empty() ? "" : " ", form);
  }
  for (const std::string& paragraph : command.description) {
    text += "\n" + wrapped("", paragraph, 0);
  }
  std::vector<HelpTable> options;
  for (const OptionGroup& group : all_options(command)) {
    HelpTable& section = options.emplace_back();
    section.title = group.title;
    for (const Option& option : group.options) {
      section.rows.emplace_back(option_form(option), option_text(option));
    }
  }
  text += two_columns(command.tables) + two_columns(options);
  text += "\nExamples:\n";
  for (const std::string& example : command.examples) text += fmt::format("  {}\n", example);
  text += "\n" + wrapped("Exit status: ", command.exit_status, 0);
  text += fmt::format("\nRead more: {}\n", fmt::join(command.pages, ", "));
  return text;
}

}  // namespace pipesim::app
