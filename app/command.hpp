// The description of a command. The command line, --help, man page and shell completion all use it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/codes.hpp"

namespace pipesim::app {

struct Console;

/// Error in the command line. If the error has no help line, the message suggests --help.
class UsageError : public models::UserError {
 public:
  using UserError::UserError;
};

/// Error in the input of a valid command line.
class InputError : public models::UserError {
 public:
  using UserError::UserError;
};

struct Option {
  std::string name;                    // name without dashes
  char letter = '\0';                  // short form; '\0': none
  std::string value{};                 // placeholder in --help, such as FILE; empty: a flag
  std::string about{};                 // a sentence without its period
  std::vector<std::string> choices{};  // all possible values, if they can be listed
  std::string otherwise{};             // default value
  bool repeats = false;                // can be given several times
  // Whether the option changes only outputs or speed, so that reports omit it from the command that
  // made them.
  bool output = false;
  std::map<std::string, std::string> removed{};  // former choice -> what to do instead
};

struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

/// Names and their meanings, such as the kinds of evidence.
struct HelpTable {
  std::string title;
  std::vector<std::pair<std::string, std::string>> rows;
};

class Arguments;

struct Command {
  std::string name;
  std::string about;                       // one line
  std::vector<std::string> usage;          // arguments after the command name, one entry per form
  std::vector<std::string> description{};  // paragraphs
  std::vector<HelpTable> tables{};
  std::vector<OptionGroup> options{};  // without --help, which every command has
  std::vector<std::string> examples{};
  std::string exit_status{};
  std::vector<std::string> pages{};  // pages of the documentation
  std::vector<std::string> words{};  // all values of the first argument, if they can be listed
  bool passes_on = false;            // whether another program parses all arguments except --help
  int (*run)(const Arguments& arguments, const Console& console) = nullptr;
};

/// The arguments of a command, as typed. A query for an option that the command does not declare is
/// a bug, and throws std::out_of_range.
class Arguments {
 public:
  /// Reads `words`. Throws UsageError. Rejects abbreviations: an abbreviation that works today can
  /// become ambiguous.
  Arguments(const Command& command, const std::vector<std::string>& words);

  const Command& command() const { return command_; }
  bool declares(const std::string& option) const { return given_.count(option) > 0; }

  bool has(const std::string& option) const { return !all(option).empty(); }

  /// Returns all values of an option, in the given order.
  const std::vector<std::string>& all(const std::string& option) const { return given_.at(option); }

  /// Returns the value of an option, or its default; nullopt if it has neither.
  std::optional<std::string> text(const std::string& option) const;

  /// Returns the value of an option that has a default.
  std::string value(const std::string& option) const { return text(option).value(); }

  /// Returns the value of an option as an integer from `min` to `max`; `otherwise` if the option is
  /// absent. Throws UsageError for any other value.
  std::uint64_t number(const std::string& option, std::uint64_t min, std::uint64_t max,
                       std::uint64_t otherwise) const;

  /// Returns the output file of an option. Throws UsageError for `-`, because the report uses
  /// standard output.
  std::optional<std::string> output_file(const std::string& option) const;

  /// Returns the values NAME=VALUE of an option such as --set, as pairs of name and value. Throws
  /// UsageError for a value of another form.
  std::vector<std::pair<std::string, std::string>> settings(const std::string& option) const;

  /// Returns the words of the command line, without options whose `output` is set. Reduces an
  /// absolute path to its last component.
  std::vector<std::string> words_of_result() const;

  /// Returns the arguments that are not options.
  const std::vector<std::string>& positional() const { return positional_; }

  /// Returns the only positional argument. Throws UsageError if there are none or several.
  const std::string& one_file() const;

  /// Throws UsageError if `option` was given together with one of `others`.
  void exclude(const std::string& option, const std::vector<std::string>& others) const;

  /// Throws UsageError if `option` was given without `needed`.
  void require(const std::string& option, const std::string& needed) const;

 private:
  const Command& command_;
  // Values by option, with a key for every declared option.
  std::map<std::string, std::vector<std::string>> given_;
  std::map<std::string, std::string> otherwise_;
  std::vector<std::string> positional_;
};

/// Returns the options of a command in their groups, with --help.
std::vector<OptionGroup> all_options(const Command& command);

/// Returns "did you mean 'x'?", or else "possible values: x, y".
std::string choice_help(const std::string& found, const std::vector<std::string>& choices);

/// Throws UsageError if several of `paths` are `-`: standard input can be read only once.
void check_one_standard_input(const std::vector<std::string>& paths);

/// Returns the parts of `text` between commas; always at least one.
std::vector<std::string> split_at_commas(const std::string& text);

/// Reads "0,1,4..7" or "0,1,4-7". Returns the ranks in increasing order, without duplicates.
/// Returns nullopt if `text` is not such a list, or has a rank that no job can have.
std::optional<std::vector<std::uint32_t>> parse_rank_list(const std::string& text);

}  // namespace pipesim::app
