#include "formats/evidence/pyspy_json.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace pipesim::formats {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->is_number_unsigned() ? std::to_string(found->get<std::uint64_t>()) : std::string();
}

models::StackFrame frame_of(const Json& frame) {
  std::string file = text_of(frame, "short_filename");
  if (file.empty()) file = short_file(text_of(frame, "filename"));
  const std::string line = text_of(frame, "line");
  const bool has_line = !line.empty() && line != "0";
  return {text_of(frame, "name"), has_line ? fmt::format("{}:{}", file, line) : file};
}

std::optional<PySpyThread> thread_of(const Json& object) {
  if (!object.is_object() || !object.contains("frames") || !object["frames"].is_array()) {
    return std::nullopt;
  }
  PySpyThread thread;
  thread.pid = text_of(object, "pid");
  const auto process = object.find("process_info");
  if (process != object.end() && process->is_object()) {
    thread.command = text_of(*process, "command_line");
  }
  thread.name = text_of(object, "thread_name");
  if (thread.name.empty()) thread.name = text_of(object, "thread_id");
  const auto active = object.find("active");
  thread.active = active != object.end() && active->is_boolean() && active->get<bool>();
  for (const Json& frame : object["frames"]) {
    if (frame.is_object()) thread.frames.push_back(frame_of(frame));
  }
  return thread;
}

}  // namespace

std::string short_file(std::string_view path) {
  for (const std::string_view mark : {"site-packages/", "dist-packages/", "/site/"}) {
    const std::size_t at = path.rfind(mark);
    if (at != std::string_view::npos) return std::string(path.substr(at + mark.size()));
  }
  const std::size_t slash = path.rfind('/');
  const std::size_t before = slash == 0 || slash == std::string_view::npos
                                 ? std::string_view::npos
                                 : path.rfind('/', slash - 1);
  return std::string(before == std::string_view::npos ? path.substr(slash + 1)
                                                      : path.substr(before + 1));
}

// The end of an array is a line that closes it.
std::optional<std::vector<std::vector<PySpyThread>>> read_pyspy_json(const std::string& text) {
  const auto parsed = [&](std::size_t begin, std::size_t end) {
    return Json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                       text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
  };
  std::vector<std::vector<PySpyThread>> dumps;
  for (std::size_t begin = text.find('['); begin != std::string::npos;) {
    std::size_t end = text.find("\n]", begin);
    end = end == std::string::npos ? text.size() : end + 2;
    Json array = parsed(begin, end);
    if (array.is_discarded() && end < text.size()) {
      end = text.size();
      array = parsed(begin, end);
    }
    if (!array.is_array()) return std::nullopt;
    std::vector<PySpyThread>& dump = dumps.emplace_back();
    for (const Json& object : array) {
      if (auto thread = thread_of(object)) dump.push_back(std::move(*thread));
    }
    begin = text.find('[', end);
  }
  return dumps;
}

}  // namespace pipesim::formats
