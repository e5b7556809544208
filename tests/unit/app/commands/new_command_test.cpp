#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "models/lowering/rank_folding.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

std::vector<std::string> kinds_of_new() {
  std::vector<std::string> kinds;
  std::istringstream lines(command({"new", "--list"}).out);
  for (std::string line; std::getline(lines, line);)
    kinds.push_back(line.substr(0, line.find(' ')));
  return kinds;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A command in a comment of the scenario, and the outcome that the comment promises.
struct Promise {
  std::vector<std::string> arguments;  // `path` replaces FILE
  std::string text;
};

// Returns the promises in lines such as "# pipesim run FILE --set a=b completes".
std::vector<Promise> promises(const std::string& text, const std::string& path) {
  const std::string prefix = "#   pipesim ";
  std::vector<Promise> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, prefix.size(), prefix) != 0) continue;
    const std::size_t gap = line.find("  ", prefix.size());
    REQUIRE(gap != std::string::npos);
    Promise promise;
    promise.text = line.substr(line.find_first_not_of(' ', gap));
    std::istringstream words(line.substr(prefix.size(), gap - prefix.size()));
    for (std::string word; words >> word;) {
      if (word.compare(0, 4, "FILE") == 0) word.replace(0, 4, path);
      // The picture goes next to the file, not into the working directory.
      if (word == "step.svg") word = path + ".svg";
      promise.arguments.push_back(word);
    }
    result.push_back(std::move(promise));
  }
  return result;
}

void keep(const Promise& promise) {
  const testing::CommandResult result = command(promise.arguments);
  const auto says = [&](const char* word) { return promise.text.rfind(word, 0) == 0; };
  INFO(promise.text << "\n" << result.out << result.err);
  if (says("completes")) {
    CHECK(result.code == 0);
    CHECK(contains(result.out, "COMPLETED at "));
  } else if (says("hangs")) {
    CHECK(result.code == 1);
  } else if (says("checks both")) {
    CHECK(result.code == 0);
    CHECK(contains(result.out, "2 passed, 0 failed"));
  } else if (says("checks the runs")) {
    CHECK(result.code == 0);
    CHECK(contains(result.out, "3 passed, 0 failed"));
  } else if (says("proves")) {
    CHECK(result.code == 0);
    CHECK(contains(result.out, "PROVED"));
  } else if (says("prints") || says("draws")) {
    CHECK(result.code == 0);
  } else if (says("names the first collective")) {
    CHECK(result.code == 1);
    CHECK(contains(result.out, "on rank 0, 'unshard3' is"));
    CHECK(contains(result.out, "[collective-branch]"));
  } else {
    // The comment in the model describes the first finding of lint.
    CHECK(says("names the buffers"));
    CHECK(result.code == 1);
    CHECK(contains(result.out, "'Buffer-"));
    CHECK(contains(result.out, "[buffer-stream]"));
  }
}

// Returns the number of simulated ranks: all ranks if the job does not fold.
std::size_t simulated_ranks(const std::string& text, const testing::Settings& settings,
                            std::uint32_t ranks) {
  const models::TaskGraph graph = testing::scenario_of(text, settings).graph;
  REQUIRE(graph.ranks == ranks);
  const auto folding = models::fold_ranks(graph);
  return folding ? folding->kept.size() : ranks;
}

}  // namespace

TEST_CASE("each starting scenario does what its comments say", "[app][new]") {
  const testing::Folder folder;
  for (const std::string& kind : kinds_of_new()) {
    INFO(kind);
    const std::string path = folder / (kind + ".yaml");
    const auto made = command({"new", kind, "-o", path});
    CHECK(made.code == 0);
    CHECK(contains(made.out, "Wrote " + path + ". Next: pipesim run " + path));
    CHECK(content(path) == command({"new", kind}).out);
    const std::vector<Promise> all = promises(content(path), path);
    CHECK(all.size() >= 3);
    for (const Promise& promise : all) keep(promise);
    const bool found = contains(content(path), "#   pipesim lint FILE ");
    CHECK(command({"lint", path}).code == (found ? 1 : 0));
    CHECK(command({"draw", path, "--what", "tasks", "-o", path + ".svg"}).code == 0);
    CHECK(contains(content(path), "\nexpect:\n"));
  }
}

TEST_CASE("each starting scenario runs with every value that its parameters may have",
          "[app][new]") {
  const testing::Folder folder;
  for (const std::string& kind : kinds_of_new()) {
    const std::string path = folder.write(kind + ".yaml", command({"new", kind}).out);
    for (const formats::Parameter& parameter : testing::load(path).parameters) {
      std::vector<std::string> values = parameter.options;
      if (parameter.at_least) {
        values = {std::to_string(*parameter.at_least),
                  std::to_string(2 * parameter.value.expr.value(0).value_or(0))};
      }
      for (const std::string& value : values) {
        const std::string setting = parameter.name + "=" + value;
        std::vector<std::string> arguments = {"run", path, "--set", setting};
        // Megatron-LM's own sends and recvs have only one order, as the comment in the scenario
        // says.
        const bool ordered = kind == "megatron" && parameter.name == "p2p_order";
        if (ordered) arguments.insert(arguments.end(), {"--set", "messages=edge"});
        const auto result = command(arguments);
        INFO(kind << " " << setting << "\n" << result.out << result.err);
        const bool has_choice = result.err.starts_with("note: the job can go either way");
        CHECK((result.err.empty() || has_choice));
        // These settings hang, as the comments of the scenarios say.
        const bool deferred = kind == "torchtitan" && setting == "p2p_order=deferred";
        const bool hangs =
            deferred || setting == "buffer_stream=forward" || setting == "logs=rank0";
        if (!hangs) CHECK(result.code == 0);
      }
    }
  }
}

// Compares jobs on two hosts, on hosts of 8 devices, and without a cluster. Doubling the replicas
// adds no simulated rank.
TEST_CASE("starting scenarios are simulated with few ranks, with a cluster and without",
          "[app][new][folding]") {
  using Settings = testing::Settings;
  const auto layout = [](std::uint32_t ranks) {
    return Settings{{"tp", "4"}, {"pp", "4"}, {"dp", std::to_string(ranks / 16)}};
  };
  const std::map<std::string, std::function<Settings(std::uint32_t)>> kinds = {
      {"program", [](std::uint32_t) { return Settings(); }},
      {"megatron", layout},
      {"torchtitan", layout},
      {"fsdp",
       [](std::uint32_t ranks) {
         return Settings{{"shards", std::to_string(ranks)}};
       }},
      {"vllm",
       [](std::uint32_t ranks) {
         return Settings{{"tp", "8"}, {"dp", std::to_string(ranks / 8)}};
       }},
  };
  // The scenarios `actors`, `model` and `schedule` have no replicas, or their ranks depend on one
  // another through the reads of actors.
  const std::set<std::string> others = {"actors", "model", "schedule"};
  for (const std::string& kind : kinds_of_new()) {
    INFO(kind);
    const auto found = kinds.find(kind);
    CHECK((found == kinds.end()) == (others.count(kind) == 1));
    if (found == kinds.end()) continue;
    // `per_host` is the number of ranks on each host; 0: no cluster.
    const auto simulated = [&](std::uint32_t ranks, std::uint32_t per_host) {
      std::string text = command({"new", kind}).out;
      std::size_t line = text.find("\ncluster: ") + 1;
      if (kind == "program") {
        line = text.find("ranks: 2 ");
        text.replace(line, 8, "ranks: " + std::to_string(ranks));
      } else {
        text.erase(line, text.find('\n', line) + 1 - line);
      }
      if (per_host > 0) {
        text.insert(line, "cluster: {hosts: " + std::to_string(ranks / per_host) + "}\n");
      }
      return simulated_ranks(text, found->second(ranks), ranks);
    };
    for (const std::uint32_t per_host : {0u, 8u, 512u}) {
      INFO(per_host << " ranks on each host");
      const std::size_t few = simulated(1024, per_host);
      CHECK(few <= 64);
      CHECK(simulated(2048, per_host) == few);
    }
  }
}

TEST_CASE("kinds are listed as the help has them", "[app][new]") {
  const std::string help = command({"help", "new"}).out;
  std::istringstream lines(command({"new", "--list"}).out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    INFO(line);
    CHECK(contains(help, "\n  " + line + "\n"));
  }
  CHECK(count == 8);
  CHECK(command({"new"}).out == command({"new", "program"}).out);
}

TEST_CASE("new overwrites nothing", "[app][new]") {
  const testing::Folder folder;
  const std::string path = folder.write("mine.yaml", "mine");
  const auto result = command({"new", "-o", path});
  CHECK(result.code == 74);
  CHECK(result.err == "error[E1602]: '" + path +
                          "' already exists; not overwritten\n  help: see 'pipesim help E1602'\n");
  CHECK(content(path) == "mine");
  // `new` also does not write through a dangling link.
  std::filesystem::create_symlink(folder / "nothing", folder / "link");
  CHECK(command({"new", "-o", folder / "link"}).code == 74);
  CHECK(!std::filesystem::exists(folder / "nothing"));
  CHECK(command({"new", "-o", folder / "no/such/folder"}).code == 74);
  CHECK(folder.files() == 2);
}

TEST_CASE("usage mistakes of new have their own words", "[app][new]") {
  CHECK(contains(command({"new", "actor"}).err,
                 "unknown kind 'actor' for 'pipesim new'\n  help: did you mean 'actors'?"));
  CHECK(contains(
      command({"new", "x.yaml"}).err,
      "unknown kind 'x.yaml' for 'pipesim new'\n  help: possible values: program, actors"));
  CHECK(contains(command({"new", "model", "x.yaml"}).err, "write '-o FILE' to name the file"));
  CHECK(command({"new", "model", "x.yaml"}).code == 2);
}
