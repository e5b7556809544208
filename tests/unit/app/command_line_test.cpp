#include "app/command_line.hpp"

#include <atomic>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

struct Result {
  int code = 0;
  std::string out;
  std::string err;
};

Result command(const std::vector<std::string>& arguments, const std::string& input = {}) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Result result;
  result.code = app::run_command_line(arguments, {in, out, err});
  result.out = out.str();
  result.err = err.str();
  return result;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string kSmall = "schema: 1\nactors: {a: {source: 1, takes: 1us}}\n";

}  // namespace

TEST_CASE("without a command the help goes to the error stream", "[app][command_line]") {
  const Result result = command({});
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(contains(result.err, "Usage: pipesim COMMAND"));
}

TEST_CASE("help and version are answers", "[app][command_line]") {
  CHECK(contains(command({"--help"}).out, "run"));
  CHECK(command({"--help"}).code == 0);
  CHECK(command({"help", "run"}).out == command({"run", "--help"}).out);
  CHECK(contains(command({"run", "--help"}).out, "--set NAME=VALUE"));
  CHECK(command({"--version"}).out.substr(0, 8) == "pipesim ");
}

TEST_CASE("misspelt commands and options are told with the nearest", "[app][command_line]") {
  CHECK(contains(command({"rnu"}).err, "there is no command 'rnu'; did you mean 'run'?"));
  CHECK(contains(command({"run", "--jsn", "x"}).err, "did you mean '--json'?"));
  CHECK(command({"run", "--jsn", "x"}).code == 2);
  // No abbreviations: one that works today may be ambiguous tomorrow.
  CHECK(command({"run", "--js", "x"}).code == 2);
}

TEST_CASE("usage mistakes of run have their own words", "[app][command_line]") {
  CHECK(contains(command({"run"}).err, "'pipesim run' needs a file"));
  CHECK(contains(command({"run", "a", "b"}).err, "takes one file, found 2"));
  CHECK(contains(command({"run", "a", "--set", "x"}).err, "--set needs NAME=VALUE, found 'x'"));
  CHECK(contains(command({"run", "a", "--color", "green"}).err, "auto, always or never"));
  CHECK(command({"run"}).code == 2);
}

TEST_CASE("a dash is standard input", "[app][command_line]") {
  const Result good = command({"run", "-"}, kSmall);
  CHECK(good.code == 0);
  CHECK(contains(good.out, "COMPLETED at 1 us"));
  const Result bad = command({"run", "-"}, "schema: 2\n");
  CHECK(bad.code == 2);
  CHECK(contains(bad.err, "standard input:1:9: error: this pipesim reads schema 1, found '2'"));
}

TEST_CASE("files that cannot be read or written exit with 74", "[app][command_line]") {
  CHECK(command({"run", "no/such/file.yaml"}).code == 74);
  CHECK(contains(command({"run", "no/such/file.yaml"}).err, "No such file or directory"));
  CHECK(command({"run", "scenarios"}).code == 74);
  const Result result = command({"run", "-", "--dot", "no/such/folder/x.dot"}, kSmall);
  CHECK(result.code == 74);
  CHECK(result.out.empty());
}

TEST_CASE("a stream that cannot be written to is no success", "[app][command_line]") {
  std::istringstream in(kSmall);
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  CHECK(app::run_command_line({"run", "-"}, {in, out, err}) == 74);
}

TEST_CASE("the exit code tells a hang from a completed run", "[app][command_line]") {
  CHECK(command({"run", "scenarios/buffer_on_the_wrong_stream.yaml"}).code == 1);
  CHECK(command({"run", "scenarios/buffer_on_the_right_stream.yaml"}).code == 0);
}

TEST_CASE("colour is there only where it is asked for", "[app][command_line]") {
  const std::string file = "scenarios/buffer_on_the_wrong_stream.yaml";
  CHECK(!contains(command({"run", file}).out, "\033["));
  CHECK(contains(command({"run", file, "--color", "always"}).out, "\033[31;1mDEADLOCK"));
}

TEST_CASE("the option params lists what --set can set", "[app][command_line]") {
  const Result result = command({"run", "scenarios/swin_2x2x2.yaml", "--params"});
  CHECK(result.code == 0);
  CHECK(contains(result.out, "bwd_dst_buffer"));
  CHECK(contains(result.out, "forward, backward, own"));
  CHECK(contains(command({"run", "-", "--params"}, kSmall).out, "no parameters"));
}

TEST_CASE("an interrupted run reports the state reached and exits with 130",
          "[app][command_line]") {
  std::istringstream in("schema: 1\nactors: {a: {source: 1000000, takes: 1us}}\n");
  std::ostringstream out;
  std::ostringstream err;
  const std::atomic<bool> interrupted{true};
  CHECK(app::run_command_line({"run", "-"}, {in, out, err, false, false, &interrupted}) == 130);
  CHECK(contains(out.str(), "LIMIT (interrupted)"));
}

TEST_CASE("a picture replaces the file as a whole", "[app][command_line]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "pipesim_command_line_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string path = folder / "graph.dot";
  command({"run", "scenarios/buffer_on_the_wrong_stream.yaml", "--dot", path});
  CHECK(std::filesystem::file_size(path) > 100);
  // Nothing but the file: no half-written one beside it.
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  std::filesystem::remove_all(folder);
}
