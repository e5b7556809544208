#include "app/commands/algorithm_command.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/input/algorithm_input.hpp"
#include "app/input/text_input.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "formats/algorithm/algorithm_file.hpp"
#include "formats/scenario/cluster_reader.hpp"
#include "models/algorithm/algorithm_network.hpp"
#include "models/algorithm/algorithm_timing.hpp"
#include "models/algorithm/verify_algorithm.hpp"
#include "viz/json/timing_json.hpp"
#include "viz/json/verify_json.hpp"
#include "viz/text/timing_text.hpp"
#include "viz/text/verify_text.hpp"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUsualBytes = std::uint64_t{1} << 20;

struct GivenCluster {
  models::Cluster cluster;
  bool usual = false;
};

std::string name_of(const std::string& path) {
  return path == "-" ? "standard input" : fs::path(path).stem().string();
}

models::CollectiveAlgorithm read_algorithm_file(const std::string& path, const Console& console) {
  TextInput input = TextInput::read(path, formats::kMaxAlgorithmBytes, console);
  models::CollectiveAlgorithm algorithm =
      input.require(formats::read_algorithm(input.text(), input.diagnostics()));
  input.report();
  return algorithm;
}

// Reads the cluster from --cluster: a file, or text such as {hosts: 2, devices: 8}.
GivenCluster read_cluster(const Arguments& arguments, std::uint32_t ranks, const Console& console) {
  const auto given = arguments.text("cluster");
  if (!given) return {models::usual_cluster(ranks), true};
  const bool written = !given->empty() && given->front() == '{';
  TextInput input = written ? TextInput("--cluster", *given, console)
                            : TextInput::read(*given, formats::kMaxAlgorithmBytes, console);
  GivenCluster result;
  result.cluster =
      input.require(formats::read_cluster_text(input.text(), ranks, input.diagnostics()));
  input.report();
  return result;
}

models::Cluster cluster_for(const GivenCluster& given, const models::CollectiveAlgorithm& of) {
  models::Cluster cluster = given.cluster;
  models::set_protocol_latencies(cluster, of.protocol);
  return cluster;
}

bool is_declared(const models::CollectiveAlgorithm& algorithm, std::uint64_t bytes) {
  return bytes >= algorithm.min_bytes && (!algorithm.max_bytes || bytes <= *algorithm.max_bytes);
}

std::uint32_t slots_of(const models::CollectiveAlgorithm& algorithm,
                       const std::optional<std::uint32_t>& given) {
  if (algorithm.format != models::AlgoFormat::kMscclXml) return models::kUnlimitedSlots;
  return given.value_or(models::protocol_slots(algorithm.protocol));
}

// Whether the algorithm completes for messages of `bytes` bytes.
bool completes(const models::CollectiveAlgorithm& algorithm, std::uint64_t bytes,
               std::uint32_t slots) {
  models::AlgoNetworkOptions options;
  options.in_place = algorithm.in_place && !algorithm.out_of_place;
  options.chunks_per_slot = models::chunks_per_slot(algorithm, bytes);
  return models::run_network(models::build_network(algorithm, options), slots).completed;
}

void refuse_options_of_scenarios(const Arguments& arguments) {
  for (const char* option :
       {"set",    "set-a",  "set-b",    "patch",  "rules", "params",  "until",
        "engine", "jitter", "seed",     "stacks", "log",   "log-dir", "schedule",
        "replay", "trace",  "timeline", "html",   "dot",   "loggops", "by-class"}) {
    if (!arguments.declares(option) || !arguments.has(option)) continue;
    throw UsageError(models::Code::kOptionConflict,
                     fmt::format("'--{}' cannot be used with a collective algorithm", option),
                     "an algorithm takes --bytes, --slots, --cluster, --json, --all and --color; "
                     "'pipesim verify' draws it");
  }
}

// Returns message sizes from 1 KiB to 256 MiB.
std::vector<std::uint64_t> usual_sizes() {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = std::uint64_t{1} << 10; bytes <= std::uint64_t{1} << 28; bytes <<= 3) {
    sizes.push_back(bytes);
  }
  return sizes;
}

viz::ComparedSize::Side timed_side(const models::CollectiveAlgorithm& algorithm,
                                   const models::Cluster& cluster, std::uint64_t bytes,
                                   std::uint32_t slots) {
  viz::ComparedSize::Side side;
  side.outside_range = !is_declared(algorithm, bytes);
  if (!completes(algorithm, bytes, slots)) {
    side.why = "hangs";
    return side;
  }
  try {
    side.timing = models::time_algorithm(algorithm, cluster, {bytes, slots}, side.why);
  } catch (const std::length_error&) {
    side.why = "too many rounds";
  }
  return side;
}

}  // namespace

bool takes_algorithm(const Arguments& arguments, const std::string& path) {
  if (path != "-") return is_algorithm(path);
  return arguments.has("bytes") || arguments.has("slots") || arguments.has("cluster");
}

OptionGroup algorithm_options() {
  return {"Collective algorithm",
          {{.name = "bytes", .value = "SIZE", .about = "Size of the message, as in 64MiB"},
           {.name = "slots",
            .value = "N",
            .about = "Slots of an MSCCL connection (default: the protocol's)"},
           {.name = "cluster",
            .value = "CLUSTER",
            .about = "Hosts and links: a file with 'cluster:', or inline, as in '{hosts: 2, "
                     "devices: 8}' (default: 8 devices per host, default links)"}}};
}

void refuse_algorithm_options(const Arguments& arguments) {
  for (const char* option : {"bytes", "slots", "cluster"}) {
    if (!arguments.has(option)) continue;
    throw UsageError(models::Code::kOptionConflict,
                     fmt::format("'--{}' is for collective algorithms", option),
                     "their names end in .xml or .json");
  }
}

int run_algorithm(const Arguments& arguments, const Console& console) {
  refuse_options_of_scenarios(arguments);
  const std::string& path = arguments.one_file();
  const std::optional<std::uint32_t> given_slots = connection_slots(arguments);
  std::optional<std::uint64_t> bytes;
  if (const auto text = arguments.text("bytes")) bytes = message_bytes(*text);
  const models::CollectiveAlgorithm algorithm = read_algorithm_file(path, console);
  const auto ranks = static_cast<std::uint32_t>(algorithm.ranks.size());
  const GivenCluster cluster = read_cluster(arguments, ranks, console);
  // The default message size lies in the range that the file declares.
  if (!bytes) {
    bytes = std::max(algorithm.min_bytes,
                     std::min(kUsualBytes, algorithm.max_bytes.value_or(kUsualBytes)));
  }
  const std::uint32_t slots = slots_of(algorithm, given_slots);
  const bool all = arguments.has("all");
  try {
    const ProgressLine progress(console, [] { return std::string("timing"); });
    if (!completes(algorithm, *bytes, slots)) {
      const models::VerifyReport report =
          models::verify(algorithm, {.slots = given_slots, .bytes = bytes});
      const viz::VerifyView view{name_of(path), algorithm, report, all};
      print_report(
          arguments, console, [&] { return viz::verify_json(view); },
          [&](const auto& how) { return viz::verify_text(view, how); });
      return kExitBad;
    }
    const models::Cluster with_protocol = cluster_for(cluster, algorithm);
    std::string why;
    const auto timing = models::time_algorithm(algorithm, with_protocol, {*bytes, slots}, why);
    if (!timing) throw std::length_error(why);
    viz::TimingView view{name_of(path), algorithm, with_protocol, *timing};
    view.bytes = *bytes;
    if (algorithm.format == models::AlgoFormat::kMscclXml) view.slots = slots;
    view.usual_cluster = cluster.usual;
    view.outside_range = !is_declared(algorithm, *bytes);
    view.all = all;
    print_report(
        arguments, console, [&] { return viz::timing_json(view); },
        [&](const auto& how) { return viz::timing_text(view, how); });
    return kExitGood;
  } catch (const std::length_error& error) {
    throw UsageError(models::Code::kLimit, fmt::format("{}: {}", shown_path(path), error.what()),
                     "a smaller message, as in --bytes 1MiB, takes fewer rounds");
  }
}

int diff_algorithms(const Arguments& arguments, const Console& console) {
  refuse_options_of_scenarios(arguments);
  const std::vector<std::string>& paths = arguments.positional();
  if (paths.size() != 2) {
    throw UsageError(models::Code::kArguments,
                     fmt::format("expected two collective algorithms, found {}", paths.size()),
                     "for example: pipesim diff ring.xml tree.xml --bytes 64MiB");
  }
  for (const std::string& path : paths) {
    if (takes_algorithm(arguments, path)) continue;
    throw UsageError(models::Code::kArguments,
                     fmt::format("'{}' is not a collective algorithm, and the other is", path),
                     "compare algorithms with each other, and scenarios with each other");
  }
  const std::optional<std::uint32_t> given_slots = connection_slots(arguments);
  std::vector<std::uint64_t> sizes = usual_sizes();
  if (const auto text = arguments.text("bytes")) sizes = {message_bytes(*text)};
  const models::CollectiveAlgorithm a = read_algorithm_file(paths[0], console);
  const models::CollectiveAlgorithm b = read_algorithm_file(paths[1], console);
  const auto ranks = static_cast<std::uint32_t>(a.ranks.size());
  if (a.ranks.size() != b.ranks.size() || a.collective_name != b.collective_name) {
    throw UsageError(models::Code::kOptionConflict,
                     fmt::format("'{}' of {} ranks and '{}' of {} cannot be compared",
                                 models::printable(a.collective_name), a.ranks.size(),
                                 models::printable(b.collective_name), b.ranks.size()),
                     "both must be the same collective on the same number of ranks");
  }
  const GivenCluster cluster = read_cluster(arguments, ranks, console);
  viz::TimingComparison comparison{
      shown_path(paths[0]),    shown_path(paths[1]),    a.protocol,    b.protocol,
      cluster_for(cluster, a), cluster_for(cluster, b), cluster.usual, {}};
  try {
    const ProgressLine progress(console, [] { return std::string("timing"); });
    for (const std::uint64_t bytes : sizes) {
      comparison.sizes.push_back(
          {bytes, timed_side(a, comparison.a_cluster, bytes, slots_of(a, given_slots)),
           timed_side(b, comparison.b_cluster, bytes, slots_of(b, given_slots))});
    }
  } catch (const std::length_error& error) {
    throw UsageError(models::Code::kLimit, error.what());
  }
  print_report(
      arguments, console, [&] { return viz::comparison_json(comparison); },
      [&](const auto& how) { return viz::comparison_text(comparison, how); });
  return comparison.same() ? kExitGood : kExitBad;
}

}  // namespace pipesim::app
