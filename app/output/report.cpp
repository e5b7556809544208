#include "app/output/report.hpp"

#include <fmt/format.h>

#include "app/version.hpp"
#include "models/outside_text.hpp"
#include "viz/report/command_text.hpp"
#include "viz/report/words.hpp"

namespace pipesim::app {

std::string made_by(const Arguments& arguments) {
  constexpr std::size_t kMaxLength = 300;  // a shell expands dumps/* to a long list
  std::string text = viz::command_line_text(arguments.words_of_result());
  if (text.size() > kMaxLength) text = text.substr(0, text.rfind(' ', kMaxLength)) + " ...";
  return fmt::format("pipesim {}: {}", version(), text);
}

std::vector<std::string> job_words(const Arguments& arguments) {
  std::vector<std::string> words = {arguments.one_file()};
  if (words.front() == "-") return {};
  for (const char* option : {"set", "patch", "reading", "rules"}) {
    for (const std::string& value : arguments.all(option)) {
      words.insert(words.end(), {fmt::format("--{}", option), value});
    }
  }
  return words;
}

std::string last_line(std::string_view made_by, const Console& console) {
  return viz::paragraph(models::printable(made_by), console.out_columns, 0, 2);
}

std::string last_line(const Arguments& arguments, const Console& console) {
  return last_line(made_by(arguments), console);
}

void print_report(const Arguments& arguments, const Console& console,
                  const std::function<std::string()>& data,
                  const std::function<std::string(const viz::TextOptions&)>& text) {
  if (arguments.has("json")) {
    console.out << data();
  } else {
    console.out << text({console.out_colour, console.out_columns}) << last_line(arguments, console);
  }
}

}  // namespace pipesim::app
