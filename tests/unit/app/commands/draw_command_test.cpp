// Each picture in each format, and the error if there is no picture.
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "models/lowering/lowering.hpp"
#include "tests/support/arrows.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

// Returns the first bytes that a file in `format` must have.
std::string begin_of(const std::string& format) {
  if (format == "svg") return "<";
  if (format == "png") return "\x89PNG\r\n";
  return format == "pdf" ? "%PDF-" : "";
}

std::string drawn_in(const testing::Folder& folder, const std::vector<std::string>& arguments,
                     const std::string& ending = "svg") {
  const std::string path = folder / ("picture." + ending);
  std::vector<std::string> all = {"draw"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), {"-o", path});
  const auto result = command(all);
  CAPTURE(arguments, result.err);
  CHECK(result.out.empty());
  REQUIRE(result.code == 0);
  return testing::file_text(path);
}

std::string drawn(const std::vector<std::string>& arguments, const std::string& ending = "svg") {
  return drawn_in(testing::Folder(), arguments, ending);
}

// Returns the picture, or an empty string if draw refuses it as too large.
std::string drawn_if_it_fits(const std::string& scenario, const std::string& what,
                             const std::string& ending) {
  const testing::Folder folder;
  const std::string path = folder / ("picture." + ending);
  const auto result = command({"draw", scenario, "--what", what, "--all", "-o", path});
  CAPTURE(scenario, what, result.err);
  REQUIRE((result.code == 0 || contains(result.err, "error[E1406]")));
  return result.code == 0 ? testing::file_text(path) : std::string();
}

// Number of arrows compared with the plan, by kind of picture.
struct ArrowCounts {
  std::size_t stages = 0;
  std::size_t rows = 0;
  std::size_t tasks = 0;
  std::size_t peers = 0;
};

void check_stages(const models::TaskGraph& graph, const models::Lowered& lowered,
                  const std::string& picture, ArrowCounts& counts) {
  const testing::Arrows arrows = testing::arrows_in(picture);
  if (graph.pipeline) {
    const auto rows = testing::row_arrows_in(*graph.pipeline, arrows);
    CHECK(rows == testing::row_arrows_of(*graph.pipeline, lowered.plan));
    counts.rows += rows.size();
  } else if (const auto expected = testing::arrows_of(lowered, picture)) {
    CHECK(arrows == *expected);
    counts.stages += arrows.size();
  }
}

// Compares a picture with the plan: the arrows of actors, or the lanes and peers of programs.
void check_tasks(const models::TaskGraph& graph, const models::Lowered& lowered,
                 const std::string& dot, const std::string& svg, ArrowCounts& counts) {
  if (graph.pipeline) return;  // a pipeline picture has the lanes of the schedule
  const testing::TaskArrows arrows = testing::task_arrows_in(dot);
  if (const auto expected = testing::task_arrows_of(graph, lowered, dot)) {
    CHECK(arrows == *expected);
    counts.tasks += arrows.size();
    return;
  }
  const testing::Peers peers = testing::peers_in(svg);
  CHECK(peers == testing::peers_of(lowered.plan));
  counts.peers += peers.size();
}

}  // namespace

TEST_CASE("every picture is drawn in every format", "[app][draw]") {
  for (const std::string what : {"timeline", "wait-for", "tasks", "stages", "memory"}) {
    for (const std::string format : {"dot", "svg", "png", "pdf"}) {
      const std::string picture = drawn({"scenarios/swin_2x2x2.yaml", "--what", what}, format);
      CAPTURE(what, format);
      CHECK(picture.size() > 500);
      CHECK(picture.compare(0, begin_of(format).size(), begin_of(format)) == 0);
      if (format == "dot") CHECK(contains(picture, "digraph "));
      if (format == "svg") CHECK(contains(picture, "</svg>"));
    }
  }
}

TEST_CASE("every picture of every shipped scenario is drawn", "[app][draw]") {
  const testing::Folder folder;
  for (const auto& entry : std::filesystem::directory_iterator("scenarios")) {
    const std::string scenario = entry.path().string();
    for (const std::string what : {"timeline", "wait-for", "tasks", "stages", "memory"}) {
      // draw makes the other formats from DOT and SVG, which takes ten times as long.
      for (const std::string format : {"dot", "svg"}) {
        const std::string path = folder / ("picture." + format);
        const auto result = command({"draw", scenario, "--what", what, "-o", path});
        CAPTURE(scenario, what, format, result.err);
        // A scenario without sized registers has no memory to draw.
        const bool has_none = what == "memory" && result.code == 2;
        REQUIRE((result.code == 0 || has_none));
        if (has_none) {
          CHECK(contains(result.err, "error[E1401]: this scenario has no memory to draw"));
        } else {
          const std::string picture = testing::file_text(path);
          CHECK(picture.compare(0, begin_of(format).size(), begin_of(format)) == 0);
        }
      }
    }
  }
}

TEST_CASE("the arrows of every shipped scenario are those of its plan", "[app][draw]") {
  ArrowCounts counts;
  for (const auto& entry : std::filesystem::directory_iterator("scenarios")) {
    const std::string scenario = entry.path().string();
    CAPTURE(scenario);
    const models::TaskGraph graph = testing::load(scenario).graph;
    models::Diagnostics diagnostics;
    const auto lowered = models::lower(graph, diagnostics);
    REQUIRE(lowered);
    if (!graph.pipeline)
      check_stages(graph, *lowered, drawn({scenario, "--what", "stages"}), counts);
    check_stages(graph, *lowered, drawn_if_it_fits(scenario, "stages", "svg"), counts);
    check_tasks(graph, *lowered, drawn_if_it_fits(scenario, "tasks", "dot"),
                drawn_if_it_fits(scenario, "tasks", "svg"), counts);
  }
  CHECK(counts.stages > 30);
  CHECK(counts.rows > 30);
  CHECK(counts.tasks > 100);
  CHECK(counts.peers > 30);
}

TEST_CASE("an arrow between stages leads from who sends to who receives", "[app][draw]") {
  const testing::Folder folder;
  // The only send is on communicator b, from rank 2 to rank 3.
  const std::string path =
      folder.write("pairs.yaml",
                   "schema: 1\nranks: 4\ngroups: {a: [0, 1], b: [2, 3]}\nprograms:\n"
                   "  - {on: 0, do: [{all_reduce: a}, {compute: x}]}\n"
                   "  - {on: 1, do: [{all_reduce: a}, {compute: y}]}\n"
                   "  - {on: 2, do: [{send: b, to: 3, bytes: 1B}]}\n"
                   "  - {on: 3, do: [{recv: b, from: 2, bytes: 1B}]}\n");
  const std::string picture = folder / "stages.svg";
  REQUIRE(command({"draw", path, "--what", "stages", "-o", picture}).code == 0);
  const std::string stages = testing::file_text(picture);
  CHECK(testing::arrows_in(stages) == testing::Arrows{{"rank 2", "rank 3"}});
  CHECK(contains(stages, ">to rank 3: 1 B<"));
}

TEST_CASE("a picture has the same bytes every time", "[app][draw]") {
  for (const std::string what : {"timeline", "wait-for", "tasks", "stages", "memory"}) {
    const std::vector<std::string> arguments = {"scenarios/swin_2x2x2.yaml", "--what", what};
    CHECK(drawn(arguments, "dot") == drawn(arguments, "dot"));
  }
  const std::vector<std::string> timeline = {"scenarios/pipeline_zero_bubble.yaml"};
  CHECK(drawn(timeline) == drawn(timeline));  // pipesim writes this SVG without Graphviz
}

TEST_CASE("copies of a rank are one, unless asked otherwise", "[app][draw]") {
  const std::string scenario = "scenarios/swin_2x2x2.yaml";
  const std::string folded = drawn({scenario, "--what", "tasks"}, "dot");
  // Rank 0 has no zeros op, but is otherwise identical to ranks 1 to 3. The four ranks of stage 1
  // are identical.
  CHECK(contains(folded, "label=\"ranks 0-3 (x4)\""));
  CHECK(contains(folded, "label=\"ranks 4-7 (x4)\""));
  CHECK(contains(folded, "only ranks 1-3 (x3)"));
  CHECK_FALSE(contains(folded, "label=\"rank 2\""));
  const std::string all = drawn({scenario, "--what", "tasks", "--all"}, "dot");
  for (const std::string rank : {"0", "1", "2", "3", "4", "5", "6", "7"}) {
    CHECK(contains(all, "label=\"rank " + rank + "\""));
  }
  const std::string some = drawn({scenario, "--what", "tasks", "--ranks", "4..5,7"}, "dot");
  CHECK(contains(some, "label=\"ranks 4-5, 7 (x3)\""));
  CHECK_FALSE(contains(some, "Zeros"));
}

// Each rank makes 1,024 sums of 30 us in a step of 108 ms: each sum is narrower than a pixel.
TEST_CASE("a row of work too short to see one by one is no row without work", "[app][draw]") {
  const std::string text = R"yaml(schema: 1
parallel: {pipeline: 1, tensor: 2}
schedule:
  kind: gpipe
  micro_batches: 32
  layers: 8
  forward: 100us
  collectives:
    - {call: all_reduce, over: tensor, in: forward, times: 4, takes: TAKES}
)yaml";
  const auto picture = [&](const std::string& takes) {
    const testing::Folder folder;
    std::string with = text;
    with.replace(with.find("TAKES"), 5, takes);
    const std::string path = folder.write("job.yaml", with);
    REQUIRE(command({"draw", path, "-o", folder / "job.svg"}).code == 0);
    return testing::file_text(folder / "job.svg");
  };
  CHECK(contains(picture("30us"), "nccl tensor"));
  // Collectives take less than a fiftieth of the time.
  CHECK_FALSE(contains(picture("1us"), "nccl tensor"));
}

TEST_CASE("a rank that talks to its copy is drawn beside it", "[app][draw]") {
  const std::string picture =
      drawn({"scenarios/nccl_order_1f1b_send_first.yaml", "--what", "tasks"});
  CHECK(contains(picture, ">rank 0<"));
  CHECK(contains(picture, ">rank 1<"));
  CHECK(contains(picture, ">to rank 1<"));
  CHECK(contains(picture, ">from rank 0<"));
  CHECK(contains(picture, ">x 4<"));  // the number of iterations
}

TEST_CASE("what a class of ranks has more or less than another is said", "[app][draw]") {
  const std::string picture =
      drawn({"tests/pictures/job.yaml", "--set", "skips=5", "--what", "tasks"});
  CHECK(contains(picture, ">compared with ranks 0-4, 6-15 (x15), without all_reduce data<"));
  // The missing step is drawn in its place; only its color differs from the step of the other
  // ranks.
  CHECK(contains(picture, ">missing: only the lane that it is compared with has it<"));
  CHECK(contains(picture, "stroke-dasharray"));
  // Inner stages receive activations and send gradients; the first stage does not, and the picture
  // does not report this as a difference. Each inner stage has one peer for each send or recv.
  CHECK_FALSE(contains(picture, ">compared with ranks 0-4, 6-15 (x15)<"));
  CHECK_FALSE(contains(picture, "stroke=\"#c1121f\" stroke-width=\"2.5\""));
  CHECK(contains(picture, ">to rank + 16<"));
  // The row with rank 0 is at the top.
  CHECK(picture.find(">ranks 0-4, 6-15 (x15)<") < picture.find(">rank 5<"));
  CHECK(picture.find(">rank 5<") < picture.find(">ranks 16-47 (x32)<"));
}

TEST_CASE("ranks with programs of their own are no copies", "[app][draw]") {
  const testing::Folder folder;
  const std::string path =
      folder.write("opposite.yaml",
                   "schema: 1\nranks: 2\ngroups: {a: all, b: all}\nprograms:\n"
                   "  - {on: 0, do: [{all_reduce: a, name: x}, {all_reduce: b, name: y}]}\n"
                   "  - {on: 1, do: [{all_reduce: b, name: y}, {all_reduce: a, name: x}]}\n");
  const std::string picture = folder / "picture.svg";
  REQUIRE(command({"draw", path, "--what", "tasks", "-o", picture}).code == 0);
  CHECK(contains(testing::file_text(picture), ">rank 1<"));
}

TEST_CASE("what is too large is refused with advice", "[app][draw]") {
  const testing::Folder folder;
  const auto refused = [&](const std::string& what, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"draw", "scenarios/pipeline_1f1b.yaml", "--what", what,
                                          "-o",   folder / "picture.svg"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = command(arguments);
    CHECK(result.code == 2);
    return result.err;
  };
  const std::vector<std::string> many = {"--set", "stages=1025", "--set", "micro_batches=2"};
  CHECK(refused("timeline", many) ==
        "error[E1406]: the timeline has 1025 rows, and a picture can have at most 1024: choose "
        "some ranks, as in --ranks 0..3\n  help: see 'pipesim help E1406'\n");
  CHECK(contains(refused("memory", {"--all", "--set", "stages=151", "--set", "micro_batches=2"}),
                 "151 ranks are too many for one picture (at most 150)"));
  CHECK(folder.files() == 0);
}

TEST_CASE("what a cycle does over and over is drawn twice and counted", "[app][draw]") {
  // Each rank receives from the next rank before it sends, so two ops of each rank are on the
  // cycle.
  const testing::Folder folder;
  const std::string path =
      folder.write("ring.yaml",
                   "schema: 1\nreading: contract\nranks: 600\ngroups: {pp: all}\nprograms:\n  do:\n"
                   "    - {recv: pp, from: (rank + 1) % 600, bytes: 1MiB}\n"
                   "    - {send: pp, to: (rank + 599) % 600, bytes: 1MiB}\n");
  const std::string picture = folder / "ring.svg";
  REQUIRE(command({"draw", path, "--what", "wait-for", "-o", picture}).code == 0);
  // The repeated part of the cycle covers ranks 1 to 599, with one op of some ranks and two ops of
  // the others.
  CHECK(contains(testing::file_text(picture), "x 599 ranks"));
  const auto result = command({"draw", path, "--what", "wait-for", "--all", "-o", picture});
  CHECK(result.code == 2);
  CHECK(contains(result.err,
                 "the wait-for graph has 1200 nodes, and a picture can have at most 1000: leave "
                 "out --all, or write it as .dot"));
  CHECK(command({"draw", path, "--what", "wait-for", "--all", "-o", folder / "ring.dot"}).code ==
        0);
  CHECK(contains(testing::file_text(folder / "ring.dot"), "The cycle: 1,200 waits"));
}

TEST_CASE("usage of draw is checked before anything is read", "[app][draw]") {
  const auto said = [](const std::vector<std::string>& arguments) {
    const auto result = command(arguments);
    CHECK(result.code == 2);
    return result.err;
  };
  CHECK(contains(said({"draw", "none.yaml"}), "'pipesim draw' needs '--output FILE'"));
  CHECK(contains(said({"draw", "none.yaml", "-o", "a.jpg"}),
                 "'a.jpg' has no known picture format: use .svg, .png, .pdf or .dot"));
  CHECK(contains(said({"draw", "none.yaml", "-o", "a.html"}),
                 "help: 'pipesim run' and 'pipesim check' write a page: --html FILE"));
  CHECK(contains(said({"draw", "none.yaml", "--what", "all", "-o", "a.svg"}),
                 "invalid value 'all' for '--what'\n  help: possible values: timeline, wait-for, "
                 "tasks, stages, memory"));
  for (const std::string ranks : {"8", "3..1", "x", "", "1,,2", "0..", "-1"}) {
    CAPTURE(ranks);
    CHECK(contains(said({"draw", "scenarios/swin_2x2x2.yaml", "--ranks", ranks, "-o", "never.svg"}),
                   "--ranks: expected some of the ranks 0 to 7, as in 0..3,7, or the "
                   "name of a set or group, found '"));
  }
}

TEST_CASE("a scenario without memory has no picture of it", "[app][draw]") {
  const testing::Folder folder;
  const auto result = command({"draw", "scenarios/two_groups_opposite_order.yaml", "--what",
                               "memory", "-o", folder / "a.svg"});
  CHECK(result.code == 2);
  CHECK(contains(result.err, "this scenario has no memory to draw"));
}

// Four pairs of ranks that hang in the same way, with no other blocked ops.
TEST_CASE("draw: of cycles that are alike one is drawn, and the others are not behind it",
          "[app][draw]") {
  const testing::Folder folder;
  const std::string path = folder.write("pairs.yaml", R"(schema: 1
ranks: 8
groups: {pp: {size: 2}}
programs:
  - do:
      - {send: pp, to: rank + 1 - 2 * (rank % 2), bytes: 64MiB}
      - {recv: pp, from: rank + 1 - 2 * (rank % 2), bytes: 64MiB}
)");
  REQUIRE(command({"draw", path, "--what", "wait-for", "-o", folder / "waits.dot"}).code == 0);
  const std::string dot = testing::file_text(folder / "waits.dot");
  INFO(dot);
  CHECK(contains(dot, "x 6 ranks\n(2-7)\n3 more cycles\nlike cycle 1"));
  CHECK_FALSE(contains(dot, "behind"));
}

TEST_CASE("PNG and PDF need the program dot, SVG does not", "[app][draw]") {
  const std::string path = std::getenv("PATH");
  const testing::Folder folder;
  REQUIRE(setenv("PATH", folder.path().c_str(), 1) == 0);
  for (const std::string what : {"timeline", "wait-for", "tasks"}) {
    CAPTURE(what);
    const std::string scenario = "scenarios/swin_2x2x2.yaml";
    CHECK(command({"draw", scenario, "--what", what, "-o", folder / "a.svg"}).code == 0);
    for (const std::string ending : {"png", "pdf"}) {
      const auto refused =
          command({"draw", scenario, "--what", what, "-o", folder / ("a." + ending)});
      CHECK(refused.code == 2);
      CHECK(contains(refused.err,
                     "the program 'dot', which makes ." + ending + " files, is not in PATH"));
      CHECK(contains(refused.err, "install Graphviz"));
      CHECK_FALSE(std::filesystem::exists(folder / ("a." + ending)));
    }
  }
  setenv("PATH", path.c_str(), 1);
}

namespace {

// A record of two ranks. Rank 0 makes both sends before its recvs, so only buffers let the job
// complete.
const std::vector<std::pair<std::string, std::string>> kSendFirst = [] {
  const auto send = [](int number, int peer, const std::string& line) {
    return R"({"call":"send","g":"g0","n":)" + std::to_string(number) + R"(,"peer":)" +
           std::to_string(peer) + R"(,"bytes":65536,"type":"float32","w":)" +
           std::to_string(number) + R"(,"k":2,"l":")" + line + "\"}\n";
  };
  const auto recv = [](int number, int peer, const std::string& line) {
    return R"({"call":"recv","g":"g0","n":)" + std::to_string(number) + R"(,"peer":)" +
           std::to_string(peer) + R"(,"bytes":65536,"type":"float32","w":)" +
           std::to_string(number) + R"(,"l":")" + line + "\"}\n" + R"({"wait":)" +
           std::to_string(number) + R"(,"k":1,"l":")" + line + "\"}\n";
  };
  const auto file = [](int rank, const std::string& calls) {
    return R"({"record":1,"rank":)" + std::to_string(rank) + R"(,"world":2}
{"def":"l0","at":"pipe.py:8","call":"init_process_group"}
{"def":"g0","group":"0","ranks":[0,1],"l":"l0"}
{"init":"g0","l":"l0"}
{"def":"l1","at":"pipe.py:60","call":"forward_step"}
{"def":"l2","at":"pipe.py:30","in":"forward_step","call":"isend","up":"l1"}
{"def":"l3","at":"pipe.py:40","in":"backward_step","call":"irecv"}
{"def":"l4","at":"pipe.py:62","call":"step"}
)" + calls +
           R"({"step":1,"l":"l4","k":1}
{"end":"finished"}
)";
  };
  const std::string first =
      send(1, 1, "l2") + send(2, 1, "l2") + recv(3, 1, "l3") + recv(4, 1, "l3");
  const std::string second =
      recv(1, 0, "l2") + send(2, 0, "l3") + recv(3, 0, "l2") + send(4, 0, "l3");
  return std::vector<std::pair<std::string, std::string>>{
      {"record.json", R"({"record": 1, "world": 2, "command": ["pipe.py"], "backend": "nccl",
                          "device": "cuda", "torch": "2.13.0"})"},
      {"rank0.jsonl", file(0, first)},
      {"rank1.jsonl", file(1, second)}};
}();

}  // namespace

TEST_CASE("a record is drawn in the NCCL model that hangs, with its lines", "[app][draw][record]") {
  const testing::Folder folder;
  for (const auto& [name, text] : kSendFirst) folder.write(name, text);
  const std::string hang = drawn_in(folder, {folder.path()});
  CHECK(contains(hang, "DEADLOCK"));
  CHECK(contains(hang, "hangs in the NCCL model contract"));
  CHECK(contains(hang, "cold and real would complete"));
  CHECK(contains(hang, "(pipe.py:30 forward_step &gt; isend)"));
  const std::string waits = drawn_in(folder, {folder.path(), "--what", "wait-for"}, "dot");
  CHECK(contains(waits, "pipe.py:30 forward_step > isend"));
  CHECK(contains(waits, "Hangs in the NCCL model contract"));
  const std::string real = drawn_in(folder, {folder.path(), "--reading", "real"});
  CHECK(contains(real, "COMPLETED"));
  CHECK(contains(real, "NCCL model real"));
}

TEST_CASE("a recorded rank shows its forwards, backwards and steps", "[app][draw][record]") {
  const testing::Folder folder;
  for (const auto& [name, text] : kSendFirst) folder.write(name, text);
  const std::string picture = drawn_in(folder, {folder.path(), "--reading", "real"});
  for (const std::string part : {">F0<", ">F1<", ">B0<", ">B1<", ">step<"}) {
    CAPTURE(part);
    CHECK(contains(picture, part));
  }
  CHECK(contains(picture, "<title>F1 (pipe.py:30 forward_step &gt; isend) of iteration 1: "));
  CHECK(contains(picture, "times are made up, 5 us for each call"));
  CHECK(contains(picture, ": COMPLETED<"));  // no time, which run and check say otherwise
  CHECK(contains(picture, ">optimizer step<"));
}

TEST_CASE("the tasks of a record fold without the numbers of its calls", "[app][draw][record]") {
  const testing::Folder folder;
  for (const auto& [name, text] : kSendFirst) folder.write(name, text);
  const std::string picture = drawn_in(folder, {folder.path(), "--what", "tasks"});
  CHECK(contains(picture, ">send to rank 1<"));
  CHECK(contains(picture, ">pipe.py:30<"));
  CHECK_FALSE(contains(picture, ">kernels.2<"));
  CHECK_FALSE(contains(picture, ">record work"));
}

TEST_CASE("a slide has its title, its size and its aspect", "[app][draw]") {
  const std::string scenario = "scenarios/pipeline_1f1b.yaml";
  const auto size = [](const std::string& svg, const std::string& name) {
    return std::stod(svg.substr(svg.find(name + "=\"") + name.size() + 2));
  };
  for (const std::string what : {"timeline", "stages", "memory"}) {
    const std::string slide = drawn(
        {scenario, "--what", what, "--aspect", "16:9", "--title", "Why 1F1B", "--font-size", "22"});
    CAPTURE(what);
    CHECK(contains(slide, ">Why 1F1B<"));
    CHECK_FALSE(contains(slide, "COMPLETED"));
    CHECK_THAT(size(slide, "width") / size(slide, "height"),
               Catch::Matchers::WithinAbs(16.0 / 9, 0.01));
  }
  // At twice the font size, the view box is half as wide and the picture keeps its width.
  const std::string large = drawn({scenario, "--font-size", "22"});
  CHECK(size(large, "width") == size(drawn({scenario}), "width"));
  CHECK(contains(large, "viewBox=\"0 0 640 "));
  for (const std::string what : {"wait-for", "tasks"}) {
    const std::string slide =
        drawn({"scenarios/swin_2x2x2.yaml", "--what", what, "--aspect", "16:9"});
    CAPTURE(what);
    CHECK_THAT(size(slide, "width") / size(slide, "height"),
               Catch::Matchers::WithinAbs(16.0 / 9, 0.01));
  }
  for (const std::string aspect : {"16", "16:0", "a:b", "16:9:1", "100:1", "-1:2", ""}) {
    const auto result = command({"draw", scenario, "--aspect", aspect, "-o", "never.svg"});
    CAPTURE(aspect);
    CHECK(result.code == 2);
    CHECK(contains(result.err, "expected width and height, as in --aspect 16:9"));
  }
}

TEST_CASE("several runs are drawn on one scale", "[app][draw]") {
  const testing::Folder folder;
  const auto job = [&](const std::string& name, const std::string& takes) {
    return folder.write(
        name + ".yaml",
        "schema: 1\nname: " + name +
            "\nstreams: {s: {}}\nactors:\n  a: {stream: s, source: 1, takes: " + takes + "}\n");
  };
  const std::string picture = drawn_in(folder, {job("short", "10us"), job("long", "40us")});
  CHECK(contains(picture, "short: COMPLETED at 10 us"));
  CHECK(contains(picture, "long: COMPLETED at 40 us"));
  static const std::regex kBox(
      R"re(<title>a: 0 ns[^<]*</title><rect x="([\d.]+)"[^>]*? width="([\d.]+)")re");
  std::vector<std::pair<double, double>> boxes;
  for (std::sregex_iterator i(picture.begin(), picture.end(), kBox), end; i != end; ++i) {
    boxes.emplace_back(std::stod((*i)[1]), std::stod((*i)[2]));
  }
  REQUIRE(boxes.size() == 2);
  CHECK(boxes[0].first == boxes[1].first);
  CHECK_THAT(boxes[1].second, Catch::Matchers::WithinRel(4 * boxes[0].second, 0.01));
  const auto refused = command({"draw", folder / "short.yaml", folder / "long.yaml", "--what",
                                "stages", "-o", folder / "a.svg"});
  CHECK(refused.code == 2);
}

TEST_CASE("ranks that wait for different ranks in the same way share their rows", "[app][draw]") {
  // Ranks 1 to 15 wait for the rank before them; rank 0 never sends.
  const testing::Folder folder;
  const std::string path = folder.write(
      "chain.yaml",
      "schema: 1\nreading: contract\nranks: 16\ngroups: {pp: all}\nprograms:\n  do:\n"
      "    - {when: rank > 0, recv: pp, from: rank - 1, bytes: 1MiB}\n"
      "    - {when: rank > 0 and rank < ranks - 1, send: pp, to: rank + 1, bytes: 1MiB}\n");
  const std::string picture = drawn_in(folder, {path});
  CHECK(contains(picture, "ranks 2-14 (x13)"));
  CHECK(contains(picture, "rank 1..13"));
}

TEST_CASE("a wait label may begin left of the end of the run", "[app][draw]") {
  const std::string picture = drawn({"tests/pictures/two_cycles.yaml", "--set", "job_ranks=64"});
  static const std::regex kCut(">[^<>]* (waits|blocks)[^<>]*\\.\\.<");
  std::smatch cut;
  CHECK_FALSE(std::regex_search(picture, cut, kCut));
}
