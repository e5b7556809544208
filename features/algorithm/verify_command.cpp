#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/text_input.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "viz/page/html_page.hpp"
#include "viz/pictures/wait_for_dot.hpp"
#include "viz/report/words.hpp"

#include "features/algorithm/algorithm_file.hpp"
#include "features/algorithm/algorithm_input.hpp"
#include "features/algorithm/algorithm_network.hpp"
#include "features/algorithm/draw_algorithm.hpp"
#include "features/algorithm/verify_algorithm.hpp"
#include "features/algorithm/verify_report.hpp"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

bool is_algorithm_file(const fs::path& path) {
  return path.extension() == ".xml" || path.extension() == ".json";
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (is_algorithm_file(entry->path()) && fs::is_regular_file(entry->path(), ignored)) {
      files.push_back(entry->path().string());
    }
  }
  if (error) {
    throw FileError(models::Code::kFile,
                    fmt::format("cannot read '{}': {}", folder, error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct VerifyFiles {
  std::vector<std::string> paths;
  bool many = false;  // whether a folder or several files are given; then each file gets one line
};

VerifyFiles verify_files(const std::vector<std::string>& given) {
  VerifyFiles files;
  files.many = given.size() > 1;
  for (const std::string& path : given) {
    std::error_code error;
    if (path == "-" || !fs::is_directory(path, error)) {
      files.paths.push_back(path);
      continue;
    }
    files.many = true;
    for (std::string& file : files_below(path)) files.paths.push_back(std::move(file));
  }
  return files;
}

class VerifyRun {
 public:
  VerifyRun(const Arguments& arguments, const Console& console)
      : arguments_(arguments),
        console_(console),
        json_(arguments.has("json")),
        files_(verify_files(arguments.positional())) {
    options_.slots = connection_slots(arguments);
    if (const auto bytes = arguments.text("bytes")) options_.bytes = message_bytes(*bytes);
    wait_for_ = arguments.output_file("wait-for");
    draw_ = arguments.output_file("draw");
    html_ = arguments.output_file("html");
    if (files_.many && (wait_for_ || draw_ || html_)) {
      throw UsageError(models::Code::kOptionConflict,
                       "'--draw', '--html' and '--wait-for' need a single file");
    }
    for (const auto& picture : {wait_for_, draw_}) {
      if (picture) viz::picture_format(*picture);
    }
  }

  int run() {
    const ProgressLine progress(console_, [this] {
      return fmt::format("verifying file {} of {}", done_ + 1, files_.paths.size());
    });
    for (const std::string& path : files_.paths) {
      look_at(path);
      ++done_;
    }
    print();
    if (faults_ > 0) return kExitBad;
    if (unreadable_ > 0) return kExitUsage;
    return undecided_ > 0 ? kExitUndecided : kExitGood;
  }

 private:
  void look_at(const std::string& path) {
    TextInput input = TextInput::read(path, formats::kMaxAlgorithmBytes, console_);
    const auto algorithm = formats::read_algorithm(input.text(), input.diagnostics());
    // If there are several files, prints only the errors that make a file unreadable.
    if (!files_.many || !algorithm)
      messages_ += input.excerpts(input.diagnostics(), console_.err_colour);
    if (!algorithm) {
      cannot_read(path);
      return;
    }
    try {
      show(path, *algorithm);
    } catch (const std::length_error& error) {
      messages_ +=
          fmt::format("{}: error: {}\n", models::printable(shown_path(path)), error.what());
      cannot_read(path);
    }
  }

  void cannot_read(const std::string& path) {
    ++unreadable_;
    if (json_) {
      add_json(viz::unreadable_report(shown_path(path)).json());
    } else if (files_.many) {
      out_ += fmt::format("{}  UNREADABLE\n", models::printable(shown_path(path)));
    }
  }

  void show(const std::string& path, const models::CollectiveAlgorithm& algorithm) {
    models::VerifyReport report = models::verify(algorithm, options_);
    if (!files_.many) report.changes = models::try_changes(algorithm, report, options_);
    if (report.verdict == models::AlgoVerdict::kUndecided) {
      ++undecided_;
    } else if (report.verdict != models::AlgoVerdict::kCorrect) {
      ++faults_;
    }
    const std::string name = files_.many   ? path
                             : path == "-" ? "standard input"
                                           : fs::path(path).stem().string();
    const viz::VerifyView view{name, algorithm, report, arguments_.has("all")};
    if (draw_) draw_steps(view);
    if (wait_for_) draw_waits(view);
    if (html_) write_page(view);
    if (json_) {
      add_json(viz::verify_report(view).json());
      return;
    }
    const viz::TextOptions text{console_.out_colour, console_.out_columns};
    out_ += files_.many ? viz::verify_head(view, text) : viz::verify_text(view, text);
  }

  void draw_steps(const viz::VerifyView& view) const {
    models::AlgoNetworkOptions how;
    how.in_place = view.algorithm.in_place;
    const models::AlgoNetwork network = models::build_network(view.algorithm, how);
    const bool xml = view.algorithm.format == models::AlgoFormat::kMscclXml;
    const models::AlgoRun run =
        models::run_network(network, xml ? view.report.slots : models::kUnlimitedSlots);
    viz::Scene scene =
        viz::draw_algorithm(view.algorithm, network, run, view.name + ": who sends what when");
    scene.finish({.made_by = made_by(arguments_)});
    write_file(*draw_, scene.drawing(viz::picture_format(*draw_)));
  }

  void draw_waits(const viz::VerifyView& view) const {
    if (!view.report.hang) {
      throw UsageError(models::Code::kNothingToDo,
                       "'--wait-for' has nothing to draw: the algorithm does not hang");
    }
    viz::WaitPicture picture =
        viz::wait_picture(view.name + ": who waits for whom", view.report.hang->explanation,
                          view.report.hang->waits, !view.all);
    picture.made_by = made_by(arguments_);
    write_file(*wait_for_, viz::wait_for_drawing(picture, viz::picture_format(*wait_for_)));
  }

  void write_page(const viz::VerifyView& view) const {
    models::TaskGraph graph;  // has only the fields that the head of a page shows
    graph.name = view.name;
    graph.ranks = static_cast<std::uint32_t>(view.algorithm.ranks.size());
    const models::AlgoHang none;
    const models::AlgoHang& hang = view.report.hang ? *view.report.hang : none;
    viz::Report report{graph, hang.explanation, {}, {}, hang.waits, {}, {}};
    report.made_by = made_by(arguments_);
    viz::JobPage page;
    page.headline = models::words_of(view.report.verdict).headline;
    for (const char c : models::words_of(view.report.verdict).name) {
      page.verdict += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    for (const viz::Section& each : viz::verify_questions(view)) {
      page.story.push_back(
          fmt::format("{}? {}.", viz::capitalized(each.id()), viz::verify_answer(each)));
    }
    page.text = viz::verify_text(view, {});
    write_file(*html_, viz::html_page(report, page, view.all));
  }

  void add_json(std::string object) {
    while (!object.empty() && object.back() == '\n') object.pop_back();
    out_ += (out_.empty() ? "" : ",\n") + object;
  }

  void print() {
    console_.err << messages_;
    if (json_) {
      console_.out << (files_.many ? "[\n" + out_ + "\n]\n" : out_ + "\n");
      return;
    }
    console_.out << out_;
    if (files_.many) print_counts();
    console_.out << last_line(arguments_, console_);
  }

  void print_counts() {
    console_.out << fmt::format("{}: {} correct, {} with a fault, {} undecided, {} unreadable\n",
                                viz::counted(files_.paths.size(), "file"),
                                files_.paths.size() - faults_ - undecided_ - unreadable_, faults_,
                                undecided_, unreadable_);
  }

  const Arguments& arguments_;
  const Console& console_;
  const bool json_;
  const VerifyFiles files_;
  models::VerifyOptions options_;
  std::optional<std::string> wait_for_, draw_, html_;
  std::atomic<std::size_t> done_ = 0;
  std::string out_, messages_;
  std::size_t faults_ = 0, unreadable_ = 0, undecided_ = 0;
};

int run_verify(const Arguments& arguments, const Console& console) {
  if (arguments.positional().empty()) {
    throw UsageError(models::Code::kArguments, "'pipesim verify' needs a file",
                     "for example: pipesim verify allreduce.xml");
  }
  return VerifyRun(arguments, console).run();
}

}  // namespace

Command verify_command() {
  return {
      .name = "verify",
      .about = "Prove a collective algorithm correct, or find its bug (MSCCL, MSCCL++)",
      .usage = {"FILE... [options]"},
      .description =
          {"Reads collective algorithms, as MSCCL's XML or as execution plans of MSCCL++, and "
           "reports for each whether it can hang, leaves messages over, has races, computes the "
           "collective, gives bitwise identical results on all ranks, and can be launched back to "
           "back.",
           "FILE may be a directory, which means all *.xml and *.json files below it; '-' reads "
           "standard input."},
      .options = {{"Run",
                   {{.name = "slots",
                     .value = "N",
                     .about = "Slots of a connection (default: the protocol's, 2 for Simple, 8 for "
                              "LL and LL128)"},
                    {.name = "bytes",
                     .value = "SIZE",
                     .about = "Size of the message, as in 64MiB, instead of the declared range"}}},
                  {"Report",
                   {json_option("the answers"),
                    all_waits_option(),
                    {.name = "draw",
                     .value = "FILE",
                     .about = "Draw who sends what when: .svg, .png or .pdf",
                     .output = true},
                    {.name = "wait-for",
                     .value = "FILE",
                     .about = "Draw who waits for whom where it hangs; the extension selects the "
                              "format: .svg, .png, .pdf or .dot",
                     .output = true},
                    {.name = "html",
                     .value = "FILE",
                     .about = "Write a page with everything, to open in a browser",
                     .output = true}}},
                  general_options()},
      .examples = {"pipesim verify allreduce.xml",
                   "pipesim verify allreduce.xml --slots 2 --bytes 64MiB", "pipesim verify plans/"},
      .exit_status =
          "0 all are correct, 1 one has a fault, 2 invalid input or usage, 3 undecided "
          "(for example an unknown collective: all but the result is checked), 74 a "
          "file could not be read or written",
      .pages = {"docs/how-to/verify.md"},
      .run = run_verify,
  };
}

}  // namespace pipesim::app
