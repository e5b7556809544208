// `pipesim completion`: prints scripts for shells that complete pipesim's command lines.
#include <filesystem>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/command_table.hpp"
#include "app/exit_codes.hpp"
#include "app/input/schedule_input.hpp"
#include "app/output/console.hpp"
#include "app/output/files.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/codes.hpp"

namespace pipesim::app {
namespace {

// The kind of an option's value.
enum class ValueKind { kWords, kParameters, kFiles, kFolders, kOther };

ValueKind kind_of(const Option& option) {
  if (!option.choices.empty()) return ValueKind::kWords;
  if (option.value.rfind("NAME=VALUE", 0) == 0) return ValueKind::kParameters;
  if (option.value == "FILE") return ValueKind::kFiles;
  if (option.value == "DIR") return ValueKind::kFolders;
  return ValueKind::kOther;
}

// Quotes `text` for a shell, with single quotes.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::vector<Option> flat_options(const Command& command) {
  std::vector<Option> options;
  for (const OptionGroup& group : all_options(command)) {
    options.insert(options.end(), group.options.begin(), group.options.end());
  }
  return options;
}

// Returns all values of the first argument; empty if they cannot be listed.
std::vector<std::string> first_words(const Command& command) {
  return command.name == "help" ? command_names() : command.words;
}

std::string all_forms(const Option& option, const char* between) {
  const std::string name = "--" + option.name;
  return option.letter == '\0' ? name : fmt::format("-{}{}{}", option.letter, between, name);
}

std::string bash_options(const Command& command) {
  std::string forms;
  std::string cases;
  for (const Option& option : flat_options(command)) {
    forms += (forms.empty() ? "" : " ") + all_forms(option, " ");
    if (option.value.empty()) continue;
    const auto what = [&]() -> std::string {
      switch (kind_of(option)) {
        case ValueKind::kWords:
          return fmt::format("words {}", fmt::join(option.choices, " "));
        case ValueKind::kParameters:
          return "parameters";
        case ValueKind::kFiles:
          return "files";
        case ValueKind::kFolders:
          return "folders";
        case ValueKind::kOther:
          break;
      }
      return "other";
    }();
    cases += fmt::format("    {}.{}) value={} ;;\n", command.name,
                         all_forms(option, fmt::format(" | {}.", command.name).c_str()),
                         in_quotes(what));
  }
  return fmt::format("    {}.)\n      options={}\n      first={} ;;\n", command.name,
                     in_quotes(forms),
                     in_quotes(fmt::format("{}", fmt::join(first_words(command), " ")))) +
         cases;
}

// Beginning of the bash script. readline breaks words at '=' (see COMP_WORDBREAKS) and replaces
// only the text after the last break. So the script first joins words, and then cuts the part
// before the break from each reply.
constexpr std::string_view kBashBegin =
    R"bash(# Completion of pipesim for bash: what 'pipesim completion bash' prints.

# Sets `value` to what follows option $2 of command $1; without $2, `options` and `first`.
_pipesim_tables() {
  value='' options='' first=''
  case $1.$2 in
)bash";

constexpr std::string_view kBashEnd = R"bash(  esac
}

# What can follow --set for program $1 and its command $2: of the first of the other words that is a
# file.
_pipesim_parameters() {
  local program=$1 command=$2 word value options first
  shift 2
  while (($# > 0)); do
    word=$1
    shift
    if [[ $word == -* ]]; then
      _pipesim_tables "$command" "$word"
      if [[ -n $value ]] && (($# > 0)); then shift; fi
      continue
    fi
    word=${word//[\\\"\']/}
    word=${word/#\~\//$HOME/}
    if [[ -f $word ]]; then
      # ./pipesim of a clone would build what is not built.
      PIPESIM_BUILD=no "$program" completion parameters "$word" 2>/dev/null </dev/null
      return
    fi
  done
}

_pipesim() {
  local words=() word join=no
  for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if ((${#words[@]} > 0)) && [[ $join == yes || $word == = ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    join=no
    if [[ $word == = ]]; then join=yes; fi
  done

  local last=$((${#words[@]} - 1)) value='' options='' first='' prefix='' candidates='' line
  local current=${words[last]} command=${words[1]-}
  COMPREPLY=()
  if ((last == 1)); then
    value="words $commands --help --version"
  elif [[ $current == --*=* ]]; then
    prefix=${current%%=*}=
    _pipesim_tables "$command" "${current%%=*}"
    current=${current#*=}
  else
    _pipesim_tables "$command" "${words[last - 1]}"
  fi
  if [[ -z $value ]]; then
    _pipesim_tables "$command" ''
    if [[ -z $options ]]; then return; fi
    if [[ $current == -* ]]; then
      value="words $options"
    elif ((last == 2)) && [[ -n $first ]]; then
      value="words $first"
    else
      value=files
    fi
  fi

  case $value in
    words\ *)
      while IFS= read -r line; do COMPREPLY+=("$line"); done \
        < <(compgen -W "${value#words }" -- "$current") ;;
    parameters)
      while IFS= read -r line; do
        # Without a name, the names; with one, its values.
        if [[ $current != *=* ]]; then line=${line%%=*}=; fi
        if [[ $line == "$current"* && $candidates != *"|$line|"* ]]; then
          COMPREPLY+=("$line")
          candidates+="|$line|"
        fi
      done < <(_pipesim_parameters "${words[0]/#\~\//$HOME/}" "$command" \
        "${words[@]:2:last-2}")
      if [[ $current != *=* ]]; then compopt -o nospace 2>/dev/null; fi ;;
    files | folders)
      local action=-f
      if [[ $value == folders ]]; then action=-d; fi
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen $action -- "$current") ;;
  esac

  if [[ $COMP_WORDBREAKS == *=* ]]; then
    if [[ $current == *=* ]]; then COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*=}"}"}"); fi
  elif [[ -n $prefix ]]; then
    COMPREPLY=("${COMPREPLY[@]/#/$prefix}")
  fi
}

complete -F _pipesim pipesim
)bash";

// Escapes `text` for a specification of _arguments.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_words(const std::vector<std::string>& words) {
  return fmt::format("({})", fmt::join(words, " "));
}

std::string zsh_action(const Option& option) {
  switch (kind_of(option)) {
    case ValueKind::kWords:
      return zsh_words(option.choices);
    case ValueKind::kParameters:
      return "_pipesim_parameters";
    case ValueKind::kFiles:
      return "_files";
    case ValueKind::kFolders:
      return "_files -/";
    case ValueKind::kOther:
      break;
  }
  return " ";  // a value without suggestions
}

std::string zsh_options(const Command& command) {
  std::string text = fmt::format("        {})\n          _arguments -s", command.name);
  for (const Option& option : flat_options(command)) {
    const auto add = [&](const std::string& form, const char* joined) {
      std::string spec = fmt::format("*{}[{}]", form, zsh_text(option.about));
      if (!option.value.empty()) {
        spec = fmt::format("*{}{}[{}]:{}:{}", form, joined, zsh_text(option.about),
                           zsh_text(option.value), zsh_action(option));
      }
      text += " \\\n            " + in_quotes(spec);
    };
    if (option.letter != '\0') add(fmt::format("-{}", option.letter), "+");
    add("--" + option.name, "=");
  }
  const std::vector<std::string> words = first_words(command);
  if (!words.empty()) {
    text += " \\\n            " + in_quotes("1:what:" + zsh_words(words));
  }
  return text + " \\\n            '*:file:_files' ;;\n";
}

constexpr std::string_view kZshBegin = R"zsh(#compdef pipesim
# Completion of pipesim for zsh: what 'pipesim completion zsh' prints.

# What can follow --set: of the first word that is a file.
_pipesim_parameters() {
  local word file name
  local -a found
  for word in "${words[@]}"; do
    word=${${(Q)word}/#\~\//$HOME/}
    if [[ $word != -* && -f $word ]]; then
      file=$word
      break
    fi
  done
  [[ -n $file ]] || return 1
  # ./pipesim of a clone would build what is not built.
  found=(${(f)"$(PIPESIM_BUILD=no ${_pipesim_program/#\~\//$HOME/} completion parameters $file 2>/dev/null </dev/null)"})
  if [[ $PREFIX == *=* ]]; then
    name=${PREFIX%%=*}
    compset -P 1 '*='
    compadd -- ${${(M)found:#$name=?*}#$name=}
  else
    compadd -S '' -- ${(u)found/%=*/=}
  fi
}

_pipesim() {
  local curcontext=$curcontext state line ret=1
  local _pipesim_program=$words[1]
  local -a commands
  commands=(
)zsh";

constexpr std::string_view kZshMiddle = R"zsh(  )
  _arguments -C \
    '(- *)'{-h,--help}'[print help]' \
    '(- *)--version[print which version this is]' \
    '1: :->command' \
    '*:: :->argument' && ret=0
  case $state in
    command)
      _describe -t commands command commands && ret=0 ;;
    argument)
      case $line[1] in
)zsh";

// End of the zsh script. zsh loads the script as the function `_pipesim`, or by `source`.
constexpr std::string_view kZshEnd = R"zsh(      esac && ret=0 ;;
  esac
  return ret
}

if [[ $funcstack[1] == _pipesim ]]; then
  _pipesim "$@"
else
  compdef _pipesim pipesim
fi
)zsh";

// Maximum size, in bytes, of a scenario that completion reads: TAB must answer without delay, and
// only programs write larger scenarios.
constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

std::string bash_completion() {
  std::string text(kBashBegin);
  for (const Command* command : all_commands()) text += bash_options(*command);
  std::string end(kBashEnd);
  const std::string_view mark = "$commands";
  end.replace(end.find(mark), mark.size(), fmt::format("{}", fmt::join(command_names(), " ")));
  return text + end;
}

std::string zsh_completion() {
  std::string text(kZshBegin);
  for (const Command* command : all_commands()) {
    text += fmt::format("    {}\n", in_quotes(command->name + ":" + zsh_text(command->about)));
  }
  text += kZshMiddle;
  for (const Command* command : all_commands()) text += zsh_options(*command);
  return text + std::string(kZshEnd);
}

// Returns the words that can follow --set for the scenario at `path`, one per line: NAME=VALUE for
// each value of a word or a switch, else NAME=. Returns no words if the file is not a scenario, not
// regular, or larger than kMaxBytes: completion cannot report mistakes.
std::string parameter_words(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::istringstream no_input;
  std::string text;
  try {
    text = read_file(path, no_input, kMaxBytes);
  } catch (const FileError&) {
    return {};
  }
  if (text.size() > kMaxBytes) return {};
  models::Diagnostics ignored;
  if (is_schedule_path(path)) {
    text = scenario_of_schedule(text, path, ignored).value_or(std::string());
  }
  std::string words;
  for (const formats::Parameter& parameter : formats::read_parameters_of(text, ignored)) {
    std::vector<std::string> values = parameter.options;
    if (values.empty() && parameter.value.type == formats::ValueType::kTruth) {
      values = {"on", "off"};
    }
    if (values.empty()) values.emplace_back();
    for (const std::string& value : values) words += parameter.name + "=" + value + "\n";
  }
  return words;
}

int run_completion(const Arguments& arguments, const Console& console) {
  const auto& given = arguments.positional();
  const std::string shell = given.empty() ? "" : given.front();
  if (given.size() == 2 && shell == "parameters") {
    console.out << parameter_words(given.back());
    return kExitGood;
  }
  if (given.size() != 1 || (shell != "bash" && shell != "zsh")) {
    throw UsageError(models::Code::kOptionValue,
                     given.size() == 1 ? fmt::format("unknown shell '{}'", shell)
                                       : "'pipesim completion' needs the name of a shell",
                     choice_help(shell, arguments.command().words));
  }
  console.out << (shell == "bash" ? bash_completion() : zsh_completion());
  return kExitGood;
}

}  // namespace

Command completion_command() {
  return {
      .name = "completion",
      .about = "Print a completion script for bash or zsh",
      .usage = {"bash|zsh", "parameters FILE"},
      .description = {"Prints a script that lets the shell complete commands, options, files and, "
                      "after --set, the parameters of the scenario.",
                      "The second form is for these scripts: NAME=VALUE of all parameters of a "
                      "scenario, one per line, and nothing if FILE is not a scenario."},
      .examples = {"source <(pipesim completion bash)",
                   "pipesim completion zsh > ~/.zfunc/_pipesim"},
      .exit_status = "0 success, 2 invalid usage",
      .pages = {"docs/how-to/install.md"},
      .words = {"bash", "zsh"},
      .run = run_completion,
  };
}

}  // namespace pipesim::app
