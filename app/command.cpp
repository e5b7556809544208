// Boost.Program_options splits the command line and decides which words are option values. The
// error messages are pipesim's own.
#include "app/command.hpp"

#include <algorithm>
#include <set>

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/graph/diagnostics.hpp"
#include "models/graph/whole_number.hpp"

namespace pipesim::app {
namespace {

namespace po = boost::program_options;
using Words = std::vector<std::string>;

// Returns the long form of an option: "--output FILE".
std::string form(const Option& option) {
  return fmt::format("--{}{}{}", option.name, option.value.empty() ? "" : " ", option.value);
}

[[noreturn]] void fail_on_unknown(const std::string& found, const Command& command,
                                  const std::vector<Option>& options) {
  std::string name = found.substr(std::min(found.find_first_not_of('-'), found.size()));
  name.erase(std::min(name.find('='), name.size()));
  Words known;
  for (const Option& option : options) known.push_back(option.name);
  const std::string nearest = models::nearest_name(name, known);
  throw UsageError(models::Code::kUnknownOption,
                   fmt::format("unknown option '{}' for 'pipesim {}'", found, command.name),
                   nearest.empty() ? "" : fmt::format("did you mean '--{}'?", nearest));
}

// Throws UsageError for an option without its value, or for a flag with a value.
[[noreturn]] void fail_on_value(const std::string& found, const std::vector<Option>& options) {
  const auto is_found = [&](const Option& option) {
    return found == "--" + option.name || found == std::string{'-', option.letter};
  };
  const auto option = std::find_if(options.begin(), options.end(), is_found);
  if (option == options.end())
    throw UsageError(models::Code::kOptionValue, fmt::format("cannot read option '{}'", found));
  if (option->value.empty())
    throw UsageError(models::Code::kOptionValue, fmt::format("option '{}' takes no value", found));
  throw UsageError(models::Code::kOptionValue, fmt::format("option '{}' needs a value", found),
                   fmt::format("write '{}'", form(*option)));
}

std::vector<po::option> split_words(const Command& command, const std::vector<Option>& options,
                                    const Words& words) {
  po::options_description known;
  auto add = known.add_options();
  for (const Option& option : options) {
    const std::string names =
        option.letter == '\0' ? option.name : fmt::format("{},{}", option.name, option.letter);
    if (option.value.empty()) {
      add(names.c_str(), "");
    } else {
      add(names.c_str(), po::value<std::string>(), "");
    }
  }
  using Style = po::command_line_style::style_t;
  const int style = Style::default_style & ~Style::allow_guessing;
  try {
    return po::command_line_parser(words).options(known).style(style).run().options;
  } catch (const po::unknown_option& error) {
    fail_on_unknown(error.get_option_name(), command, options);
  } catch (const po::error_with_option_name& error) {
    fail_on_value(error.get_option_name(), options);
  }
}

void check_values(const Option& option, const Words& values) {
  if (values.size() > 1 && !option.repeats) {
    throw UsageError(models::Code::kOptionConflict,
                     fmt::format("option '--{}' is given {} times", option.name, values.size()),
                     "remove one of them");
  }
  if (option.choices.empty()) return;
  for (const std::string& value : values) {
    if (std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end()) {
      continue;
    }
    throw UsageError(models::Code::kOptionValue,
                     fmt::format("invalid value '{}' for '--{}'", value, option.name),
                     option.removed.contains(value) ? option.removed.at(value)
                                                    : choice_help(value, option.choices));
  }
}

}  // namespace

Arguments::Arguments(const Command& command, const Words& words) : command_(command) {
  std::vector<Option> options;
  for (const OptionGroup& group : all_options(command)) {
    options.insert(options.end(), group.options.begin(), group.options.end());
  }
  for (const Option& option : options) {
    given_[option.name];
    if (!option.otherwise.empty()) otherwise_[option.name] = option.otherwise;
  }
  if (command.passes_on) {
    positional_ = words;
    const bool asks = !words.empty() && (words.front() == "--help" || words.front() == "-h");
    if (asks) given_.at("help").emplace_back();
    return;
  }
  for (const po::option& found : split_words(command, options, words)) {
    if (found.string_key.empty()) {
      positional_.insert(positional_.end(), found.value.begin(), found.value.end());
      continue;
    }
    // Records a flag as given, although it has no value.
    given_.at(found.string_key).push_back(found.value.empty() ? "" : found.value.front());
  }
  for (const Option& option : options) check_values(option, all(option.name));
}

Words Arguments::words_of_result() const {
  const auto shown = [](const std::string& word) {
    return word.starts_with('/') ? word.substr(word.find_last_of('/') + 1) : word;
  };
  Words words = {command_.name};
  for (const std::string& word : positional_) words.push_back(shown(word));
  for (const OptionGroup& group : command_.options) {
    for (const Option& option : group.options) {
      if (option.output) continue;
      for (const std::string& value : all(option.name)) {
        words.push_back("--" + option.name);
        if (!option.value.empty()) words.push_back(shown(value));
      }
    }
  }
  return words;
}

std::optional<std::string> Arguments::text(const std::string& option) const {
  if (has(option)) return all(option).front();
  const auto otherwise = otherwise_.find(option);
  return otherwise == otherwise_.end() ? std::nullopt : std::optional(otherwise->second);
}

std::uint64_t Arguments::number(const std::string& option, std::uint64_t min, std::uint64_t max,
                                std::uint64_t otherwise) const {
  if (!has(option)) return otherwise;
  const std::string& text = all(option).front();
  const auto found = models::whole_number<std::uint64_t>(text);
  if (found && *found >= min && *found <= max) return *found;
  throw UsageError(models::Code::kOptionValue,
                   fmt::format("invalid value '{}' for '--{}'", text, option),
                   fmt::format("expected an integer from {} to {}", min, max));
}

std::optional<std::string> Arguments::output_file(const std::string& option) const {
  std::optional<std::string> path = text(option);
  if (path == "-") {
    throw UsageError(models::Code::kStandardStreams,
                     fmt::format("'--{}' cannot write to standard output", option),
                     "name a file ('./-' for one that is called '-')");
  }
  return path;
}

std::vector<std::pair<std::string, std::string>> Arguments::settings(
    const std::string& option) const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& text : all(option)) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(models::Code::kOptionValue,
                       fmt::format("'--{}' needs a name and a value, found '{}'", option, text),
                       fmt::format("write '--{} NAME=VALUE'", option));
    }
    result.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

const std::string& Arguments::one_file() const {
  if (positional_.size() == 1) return positional_.front();
  throw UsageError(models::Code::kArguments,
                   positional_.empty() ? fmt::format("'pipesim {}' needs a file", command_.name)
                                       : fmt::format("'pipesim {}' takes one file, found {}",
                                                     command_.name, positional_.size()),
                   fmt::format("write 'pipesim {} {}'", command_.name, command_.usage.front()));
}

void Arguments::exclude(const std::string& option, const Words& others) const {
  if (!has(option)) return;
  for (const std::string& other : others) {
    if (!has(other)) continue;
    throw UsageError(models::Code::kOptionConflict,
                     fmt::format("'--{}' and '--{}' cannot be used together", option, other));
  }
}

void Arguments::require(const std::string& option, const std::string& needed) const {
  if (!has(option) || has(needed)) return;
  throw UsageError(models::Code::kOptionNeeds, fmt::format("'--{}' needs '--{}'", option, needed));
}

std::vector<OptionGroup> all_options(const Command& command) {
  std::vector<OptionGroup> groups = command.options;
  if (groups.empty() || groups.back().title != "General options") {
    groups.push_back({"General options", {}});
  }
  groups.back().options.push_back({.name = "help", .letter = 'h', .about = "Print this help"});
  return groups;
}

std::string choice_help(const std::string& found, const Words& choices) {
  const std::string nearest = models::nearest_name(found, choices);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  return fmt::format("possible values: {}", fmt::join(choices, ", "));
}

void check_one_standard_input(const Words& paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) {
    throw UsageError(models::Code::kStandardStreams, "only one input may be '-'",
                     "give the others as files");
  }
}

Words split_at_commas(const std::string& text) {
  Words parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::optional<std::vector<std::uint32_t>> parse_rank_list(const std::string& text) {
  constexpr std::uint32_t kMaxRank = (1U << 20) - 1;
  std::set<std::uint32_t> ranks;
  for (const std::string& part : split_at_commas(text)) {
    const std::size_t end = part.find_first_of(".-");
    const std::size_t dots = part.find("..");
    const auto first = models::whole_number<std::uint32_t>(part.substr(0, end));
    auto last = first;
    if (end != std::string::npos) {
      last = models::whole_number<std::uint32_t>(part.substr(end + (dots == end ? 2 : 1)));
      if (part[end] == '.' && dots != end) return std::nullopt;
    }
    if (!first || !last || *first > *last || *last > kMaxRank) return std::nullopt;
    for (std::uint32_t rank = *first; rank <= *last; ++rank) ranks.insert(rank);
  }
  return std::vector<std::uint32_t>(ranks.begin(), ranks.end());
}

}  // namespace pipesim::app
