#include "app/input/text_input.hpp"

#include "app/output/files.hpp"

namespace pipesim::app {

TextInput TextInput::read(const std::string& path, std::size_t max_bytes, const Console& console) {
  return {app::shown_path(path), read_file(path, console.in, max_bytes), console};
}

std::vector<viz::SourceText> TextInput::sources() const {
  std::vector<viz::SourceText> sources = {{shown_path_, text()}};
  for (const formats::PatchText& patch : patches_) sources.push_back({patch.path, patch.text});
  return sources;
}

std::string TextInput::excerpts(const models::Diagnostics& diagnostics, bool colour) const {
  if (diagnostics.sorted().empty()) return "";
  return viz::diagnostic_text(diagnostics, sources(), colour);
}

void TextInput::report() {
  console_.err << excerpts(diagnostics_, console_.err_colour);
  diagnostics_ = models::Diagnostics();
}

void TextInput::fail() {
  report();
  throw ReportedMistakes();
}

void TextInput::fail(models::Code code, const std::string& message) {
  diagnostics_.error({}, code, message);
  fail();
}

}  // namespace pipesim::app
