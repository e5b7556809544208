#include "features/diagnose/pyspy_json.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "formats/document/json_tree.hpp"

namespace pipesim::formats {
namespace {

using Kind = PlainTree::Kind;
using Index = PlainTree::Index;

std::string text_of(const PlainTree& tree, Index object, const char* key) {
  const auto found = tree.find(object, key);
  if (!found) return {};
  if (tree.kind(*found) == Kind::kText) return std::string(tree.text(*found));
  const bool number = tree.kind(*found) == Kind::kInteger && tree.integer(*found) >= 0;
  return number ? std::to_string(tree.integer(*found)) : std::string();
}

models::StackFrame frame_of(const PlainTree& tree, Index frame) {
  std::string file = text_of(tree, frame, "short_filename");
  if (file.empty()) file = short_file(text_of(tree, frame, "filename"));
  const std::string line = text_of(tree, frame, "line");
  const bool has_line = !line.empty() && line != "0";
  return {text_of(tree, frame, "name"), has_line ? fmt::format("{}:{}", file, line) : file};
}

std::optional<PySpyThread> thread_of(const PlainTree& tree, Index object) {
  const auto frames = tree.find(object, "frames");
  if (!frames || tree.kind(*frames) != Kind::kList) return std::nullopt;
  PySpyThread thread;
  thread.pid = text_of(tree, object, "pid");
  if (const auto process = tree.find(object, "process_info")) {
    thread.command = text_of(tree, *process, "command_line");
  }
  thread.name = text_of(tree, object, "thread_name");
  if (thread.name.empty()) thread.name = text_of(tree, object, "thread_id");
  const auto active = tree.find(object, "active");
  thread.active = active && tree.kind(*active) == Kind::kTruth && tree.truth(*active);
  for (const Index frame : tree.items(*frames)) {
    if (tree.kind(frame) == Kind::kMap) thread.frames.push_back(frame_of(tree, frame));
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

// Finds the arrays by their last lines, which have only the closing bracket.
std::optional<std::vector<std::vector<PySpyThread>>> read_pyspy_json(const std::string& text) {
  const auto parsed = [&](std::size_t begin, std::size_t end) {
    JsonProblem problem;
    return read_json_tree(std::string_view(text).substr(begin, end - begin), problem);
  };
  std::vector<std::vector<PySpyThread>> dumps;
  for (std::size_t begin = text.find('['); begin != std::string::npos;) {
    std::size_t end = text.find("\n]", begin);
    end = end == std::string::npos ? text.size() : end + 2;
    std::optional<JsonTree> array = parsed(begin, end);
    if (!array && end < text.size()) {
      end = text.size();
      array = parsed(begin, end);
    }
    if (!array || array->tree.kind(array->root) != Kind::kList) return std::nullopt;
    std::vector<PySpyThread>& dump = dumps.emplace_back();
    for (const Index object : array->tree.items(array->root)) {
      if (auto thread = thread_of(array->tree, object)) dump.push_back(std::move(*thread));
    }
    begin = text.find('[', end);
  }
  return dumps;
}

}  // namespace pipesim::formats
