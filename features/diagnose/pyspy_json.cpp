#include "features/diagnose/pyspy_json.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "formats/document/json_reader.hpp"

namespace pipesim::formats {
namespace {

// Returns the string or the non-negative integer at `key` as a string; empty if `key` has neither.
std::string text_of(const YamlValue& object, const char* key) {
  const auto found = object.find(key);
  const bool known = found && (found->is_text() || found->integer<std::int64_t>() >= 0);
  return known ? std::string(found->text()) : std::string();
}

models::StackFrame frame_of(const YamlValue& frame) {
  std::string file = text_of(frame, "short_filename");
  if (file.empty()) file = short_file(text_of(frame, "filename"));
  const std::string line = text_of(frame, "line");
  const bool has_line = !line.empty() && line != "0";
  return {text_of(frame, "name"), has_line ? fmt::format("{}:{}", file, line) : file};
}

std::optional<PySpyThread> thread_of(const YamlValue& object) {
  const auto frames = object.find("frames");
  if (!frames || !frames->is_list()) return std::nullopt;
  PySpyThread thread;
  thread.pid = text_of(object, "pid");
  if (const auto process = object.find("process_info")) {
    thread.command = text_of(*process, "command_line");
  }
  thread.name = text_of(object, "thread_name");
  if (thread.name.empty()) thread.name = text_of(object, "thread_id");
  const auto active = object.find("active");
  thread.active = active && active->truth().value_or(false);
  frames->for_each_item([&](const YamlValue& frame) {
    if (frame.is_map()) thread.frames.push_back(frame_of(frame));
  });
  return thread;
}

}  // namespace

std::string short_file(std::string_view path) {
  for (const std::string_view mark : {"site-packages/", "dist-packages/", "/site/"}) {
    const std::size_t at = path.rfind(mark);
    if (at != std::string_view::npos) return std::string(path.substr(at + mark.size()));
  }
  const std::size_t python = path.rfind("/lib/python3");
  if (python != std::string_view::npos) {
    return std::string(path.substr(path.find('/', python + 5) + 1));
  }
  const std::size_t slash = path.rfind('/');
  const std::size_t before = slash == 0 || slash == std::string_view::npos
                                 ? std::string_view::npos
                                 : path.rfind('/', slash - 1);
  return std::string(before == std::string_view::npos ? path.substr(slash + 1)
                                                      : path.substr(before + 1));
}

// Finds the end of each array by its last line, which has only the closing bracket.
std::optional<std::vector<std::vector<PySpyThread>>> read_pyspy_json(const std::string& text) {
  const std::string_view all = text;
  std::vector<std::vector<PySpyThread>> dumps;
  for (std::size_t begin = text.find('['); begin != std::string::npos;) {
    std::size_t end = text.find("\n]", begin);
    end = end == std::string::npos ? text.size() : end + 2;
    std::optional<YamlDocument> array = read_json(all.substr(begin, end - begin));
    if (!array && end < text.size()) {
      end = text.size();
      array = read_json(all.substr(begin));
    }
    if (!array || !array->root().is_list()) return std::nullopt;
    std::vector<PySpyThread>& dump = dumps.emplace_back();
    array->root().for_each_item([&](const YamlValue& object) {
      if (auto thread = thread_of(object)) dump.push_back(std::move(*thread));
    });
    begin = text.find('[', end);
  }
  return dumps;
}

}  // namespace pipesim::formats
