#include "viz/report/command_text.hpp"

#include <string_view>

#include "models/outside_text.hpp"

namespace pipesim::viz {
namespace {

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string command_text(const char* command, const std::string& path,
                         const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<std::string> words = {command, path};
  for (const auto& [name, value] : settings)
    words.insert(words.end(), {"--set", name + "=" + value});
  return command_line_text(words);
}

std::string command_line_text(const std::vector<std::string>& words) {
  std::string text = "pipesim";
  for (const std::string& word : words) text += " " + shell_word(word);
  return models::printable(text);
}

}  // namespace pipesim::viz
