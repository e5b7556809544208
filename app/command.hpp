// What a command says about itself, once: its command line, --help, the man page and the completion
// of shells are all made from this.
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

/// The command line is wrong. Without a help, the user is sent to --help.
class UsageError : public models::UserError {
 public:
  using UserError::UserError;
};

/// The command line is right, but its input cannot be used.
class InputError : public models::UserError {
 public:
  using UserError::UserError;
};

struct Option {
  std::string name;                    // without dashes
  char letter = '\0';                  // its short form, if it has one
  std::string value{};                 // what --help calls its value: FILE; empty: it is a flag
  std::string about{};                 // a sentence without its period
  std::vector<std::string> choices{};  // all values that it takes, if they can be listed
  std::string otherwise{};             // its value where it is not given
  bool repeats = false;                // it may be given several times
};

struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

/// Names and what they mean, such as the kinds of evidence.
struct HelpTable {
  std::string title;
  std::vector<std::pair<std::string, std::string>> rows;
};

class Arguments;

struct Command {
  std::string name;
  std::string about;                       // in one line
  std::vector<std::string> usage;          // what follows the name, one form each
  std::vector<std::string> description{};  // paragraphs
  std::vector<HelpTable> tables{};
  std::vector<OptionGroup> options{};  // but for --help, which every command has
  std::vector<std::string> examples{};
  std::string exit_status{};
  std::vector<std::string> pages{};  // of the documentation
  std::vector<std::string> words{};  // all values of its first argument, if they can be listed
  bool passes_on = false;            // its arguments are read by another program, but for --help
  int (*run)(const Arguments& arguments, const Console& console) = nullptr;
};

/// The arguments of a command, as they were typed. Asking for an option that the command does not
/// declare is a bug, and throws std::out_of_range.
class Arguments {
 public:
  /// Reads `words`. Throws UsageError. Abbreviations are refused: one that works today may be
  /// ambiguous tomorrow.
  Arguments(const Command& command, const std::vector<std::string>& words);

  const Command& command() const { return command_; }
  bool declares(const std::string& option) const { return given_.count(option) > 0; }

  bool has(const std::string& option) const { return !all(option).empty(); }

  /// All values of an option, in the order in which they were given.
  const std::vector<std::string>& all(const std::string& option) const { return given_.at(option); }

  /// Its value, or its default.
  std::optional<std::string> text(const std::string& option) const;

  /// The same of an option that has a default.
  std::string value(const std::string& option) const { return text(option).value(); }

  /// Its value as an integer from `min` to `max`, or `otherwise`. Throws UsageError.
  std::uint64_t number(const std::string& option, std::uint64_t min, std::uint64_t max,
                       std::uint64_t otherwise) const;

  /// The file that an option writes, where `-` makes no sense: standard output has the report.
  /// Throws UsageError.
  std::optional<std::string> output_file(const std::string& option) const;

  /// What an option such as --set gives, as pairs. Throws UsageError.
  std::vector<std::pair<std::string, std::string>> settings(const std::string& option) const;

  /// The command line again, word by word, without some options; of an absolute path its name.
  std::vector<std::string> words_without(const std::vector<std::string>& options) const;

  /// What is not an option.
  const std::vector<std::string>& positional() const { return positional_; }

  /// The only one of these. Throws UsageError.
  const std::string& one_file() const;

  /// Throws UsageError if `option` was given together with one of `others`.
  void exclude(const std::string& option, const std::vector<std::string>& others) const;

  /// Throws UsageError if `option` was given without `needed`.
  void require(const std::string& option, const std::string& needed) const;

 private:
  const Command& command_;
  std::map<std::string, std::vector<std::string>> given_;  // by option, all that are declared
  std::map<std::string, std::string> otherwise_;
  std::vector<std::string> positional_;
};

/// The options of a command in their groups, with --help.
std::vector<OptionGroup> all_options(const Command& command);

/// "did you mean 'x'?", or else "possible values: x, y".
std::string choice_help(const std::string& found, const std::vector<std::string>& choices);

/// Only one input can be read from standard input. Throws UsageError if several of `paths` are `-`.
void check_one_standard_input(const std::vector<std::string>& paths);

/// The parts of `text` between commas: at least one.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace pipesim::app
