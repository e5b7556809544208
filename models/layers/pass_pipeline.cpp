#include "models/layers/pass_pipeline.hpp"

#include <utility>

#include "models/graph/graph_edit.hpp"
#include "models/layers/verifier.hpp"

namespace pipesim::models {
namespace {

constexpr std::string_view kSigns = ",:=";

class Parser {
 public:
  Parser(std::string_view text, const PassRegistry& registry, Diagnostics& diagnostics)
      : text_(text), registry_(registry), diagnostics_(diagnostics) {}

  std::vector<PassCall> run();

 private:
  struct Given {
    std::string name;
    std::string value;
    std::size_t at = 0;  // position of the name, or of the value if there is no name
  };

  PassCall call();
  std::string word();
  void set_options(const Pass& pass, std::size_t at, const std::vector<Given>& given,
                   PassOptions& options);
  bool take(char sign) {
    if (at_ >= text_.size() || text_[at_] != sign) return false;
    ++at_;
    return true;
  }
  Diagnostic& error(std::size_t at, Code code, std::string message) {
    return diagnostics_.error({1, static_cast<std::uint32_t>(at + 1)}, code, std::move(message));
  }

  std::string_view text_;
  const PassRegistry& registry_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  bool is_complete_ = true;  // whether no parse error has dropped a pass or an option
};

std::vector<PassCall> Parser::run() {
  std::vector<PassCall> calls;
  if (text_.empty()) return calls;
  do {
    calls.push_back(call());
  } while (take(','));
  return calls;
}

// Reads the text up to the next of kSigns, or the text in quotes.
std::string Parser::word() {
  if (take('\'')) {
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) {
      error(at_ - 1, Code::kPassSyntax, "unterminated quote in the list of passes");
      is_complete_ = false;
      at_ = text_.size();
      return {};
    }
    std::string result(text_.substr(at_, end - at_));
    at_ = end + 1;
    return result;
  }
  const std::size_t end = std::min(text_.find_first_of(kSigns, at_), text_.size());
  std::string result(text_.substr(at_, end - at_));
  at_ = end;
  return result;
}

PassCall Parser::call() {
  const std::size_t begin = at_;
  is_complete_ = true;
  const std::string name = word();
  const Pass* pass = registry_.find(name);
  if (name.empty()) {
    error(begin, Code::kPassSyntax, "expected the name of a pass")
        .notes.emplace_back("write passes as 'canonicalize,set-slots=Repeat:slots=4'");
  } else if (pass == nullptr) {
    suggest_name(error(begin, Code::kUnknownPass, "unknown pass '" + name + "'"), name,
                 registry_.names());
  }
  std::vector<Given> given;
  if (take('=')) {
    const bool has_options = pass != nullptr && !pass->options.empty();
    if (pass != nullptr && !has_options)
      error(at_, Code::kPassOption, "pass '" + name + "' has no options");
    const std::size_t at = at_;
    const std::string value = word();
    if (has_options) given.push_back({pass->options.front().name, value, at});
  }
  while (take(':')) {
    Given option;
    option.at = at_;
    option.name = word();
    if (take('=')) {
      option.value = word();
      given.push_back(std::move(option));
    } else {
      error(option.at, Code::kPassOption,
            "option '" + option.name + "' of pass '" + name + "' needs a value: " + option.name +
                "=...");
      is_complete_ = false;
    }
  }
  PassCall result;
  result.pass = pass;
  if (at_ < text_.size() && text_[at_] != ',') {
    error(at_, Code::kPassSyntax,
          "did not expect '" + std::string(text_.substr(at_, 20)) + "' after pass '" + name + "'");
    at_ = std::min(text_.find(',', at_), text_.size());
  } else if (pass != nullptr) {
    set_options(*pass, begin, given, result.options);
  }
  result.text = text_.substr(begin, at_ - begin);
  return result;
}

void Parser::set_options(const Pass& pass, std::size_t at, const std::vector<Given>& given,
                         PassOptions& options) {
  const std::string of_pass = " of pass '" + pass.name + "'";
  std::vector<std::string> known;
  for (const PassOption& option : pass.options) known.push_back(option.name);
  for (const Given& each : given) {
    const PassOption* declared = nullptr;
    for (const PassOption& option : pass.options) {
      if (option.name == each.name) declared = &option;
    }
    if (declared == nullptr) {
      suggest_name(error(each.at, Code::kPassOption,
                         "pass '" + pass.name + "' has no option '" + each.name + "'"),
                   each.name, known);
      is_complete_ = false;  // the name can be a misspelled required option
    } else if (options.has(each.name)) {
      error(each.at, Code::kPassOption, "option '" + each.name + "'" + of_pass + " is given twice");
    } else if (!is_option_value(each.value, *declared)) {
      error(each.at, Code::kPassOption,
            "option '" + each.name + "'" + of_pass + " is " + option_values(*declared) +
                ", found '" + each.value + "'");
    } else {
      options.set(each.name, each.value);
      continue;
    }
    if (declared != nullptr && !options.has(each.name)) options.set(each.name, "");
  }
  for (const PassOption& option : pass.options) {
    if (options.has(option.name)) continue;
    if (option.otherwise || !is_complete_) {
      options.set(option.name, option.otherwise.value_or(""));
    } else {
      error(at, Code::kPassOption,
            "pass '" + pass.name + "' needs the option '" + option.name + "': " + option.about);
    }
  }
}

// Copies the diagnostics of `found`, each with `note`, which names the pass to blame.
void blame(const Diagnostics& found, const std::string& note, Diagnostics& diagnostics) {
  for (const Diagnostic& item : found.sorted()) {
    Diagnostic& told = item.severity == Severity::kError
                           ? diagnostics.error(item.place, item.code, item.message)
                           : diagnostics.warning(item.place, item.code, item.message);
    told.notes = item.notes;
    told.notes.push_back(note);
  }
}

}  // namespace

std::optional<std::vector<PassCall>> parse_passes(std::string_view text,
                                                  const PassRegistry& registry,
                                                  Diagnostics& diagnostics) {
  std::vector<PassCall> calls = Parser(text, registry, diagnostics).run();
  if (diagnostics.has_errors()) return std::nullopt;
  return calls;
}

bool run_passes(TaskGraph& graph, const std::vector<PassCall>& calls,
                const PipelineOptions& options, Diagnostics& diagnostics) {
  graph.pipeline.reset();
  if (!verify(graph, diagnostics)) return false;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const PassCall& call = calls[i];
    Diagnostics found;
    call.pass->run(graph, call.options, found);
    blame(found, "pass '" + call.text + "' reports this", diagnostics);
    if (found.has_errors()) return false;
    found = Diagnostics();
    const bool can_be_used = verify_references(graph, found);
    if (can_be_used) put_in_order(graph);
    const bool last = i + 1 == calls.size();
    if (!can_be_used || ((options.verify_each || last) && !verify(graph, found))) {
      const bool is_sure = options.verify_each || i == 0 || !can_be_used;
      blame(found,
            is_sure ? "pass '" + call.text + "' broke this rule: before it the graph kept it"
                    : "one of the passes broke this rule; --verify-each says which",
            diagnostics);
      return false;
    }
    if (options.after_each) options.after_each(call, graph);
  }
  return true;
}

}  // namespace pipesim::models
