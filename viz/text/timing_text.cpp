#include "viz/text/timing_text.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "viz/report_lines.hpp"
#include "viz/table.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::AlgoCause;
using models::AlgoPathPart;
using models::AlgoTiming;

// Returns the link classes in use, from the links to neighbors and to rank 0. All pairs of ranks
// within a host use the same class, and so do all pairs across hosts.
std::set<std::uint32_t> used_links(const models::Cluster& cluster) {
  std::set<std::uint32_t> used;
  const auto ranks = static_cast<std::uint32_t>(cluster.host_of_rank.size());
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    for (const std::uint32_t other : {0U, rank - 1}) {
      if (const auto link = cluster.path(rank, other)) used.insert(*link);
    }
  }
  return used;
}

// Describes the links: "nvlink 3.4 us, 370.8 GB/s; infiniband 14 us, 48 GB/s".
std::string links_text(const models::Cluster& cluster) {
  std::string text;
  for (const std::uint32_t link : used_links(cluster)) {
    const models::LinkClass& of = cluster.links[link];
    text += fmt::format("{}{} {}, {:g} GB/s", text.empty() ? "" : "; ", of.name,
                        time_text(of.latency_ns), static_cast<double>(of.bytes_per_second) / 1e9);
  }
  return text;
}

std::string hosts_text(const models::Cluster& cluster) {
  return counted(
      std::set<std::uint32_t>(cluster.host_of_rank.begin(), cluster.host_of_rank.end()).size(),
      "host");
}

constexpr std::string_view kUsualFigures = "default figures; override with --cluster";

// Formats a size: "64 MiB", "4,000,000 B".
std::string size_text(std::uint64_t bytes) {
  const bool whole = bytes % 1024 == 0;
  return whole ? bytes_text(static_cast<std::int64_t>(bytes)) : grouped(bytes) + " B";
}

std::string rate_text(double bytes_per_second) {
  return fmt::format("{:.4g} GB/s", bytes_per_second / 1e9);
}

// Formats the place of a step: "rank 0 tb 1 step 2 (s i[0], line 7)".
std::string part_place(const TimingView& view, const AlgoPathPart& part) {
  const models::AlgoStep& step =
      view.algorithm.ranks[part.rank].blocks[part.block].steps[part.step];
  std::string text = fmt::format("rank {} tb {} step {} ({}", part.rank, part.block, part.step,
                                 step_text(view.algorithm, part.rank, step));
  if (step.place.line != 0) text += fmt::format(", line {}", step.place.line);
  return text + ")";
}

std::string part_text(const TimingView& view, const AlgoPathPart& part, bool name_links) {
  std::string text = part_place(view, part);
  if (part.from != part.to) {
    text += part.from == part.rank ? fmt::format(" to rank {}", part.to)
                                   : fmt::format(" from rank {}", part.from);
    if (name_links) text += fmt::format(" over {}", view.cluster.links[part.link].name);
  }
  if (view.timing.rounds > 1) text += fmt::format(", round {}", part.round + 1);
  const bool waited = part.cause == AlgoCause::kSlot || part.cause == AlgoCause::kPort;
  return waited ? fmt::format("{}; {}", text, cause_words(part.cause)) : text;
}

void add_path(const TimingView& view, const TextOptions& options, std::string& text) {
  const std::vector<AlgoPathPart>& path = view.timing.path;
  const PathSums sums = path_sums(view.timing);
  constexpr std::string_view kTitle = "Critical path";
  std::string head =
      paragraph(fmt::format("{}: {}; latency {}, transfer {}, local work {}", kTitle,
                            counted(sums.messages, "message"), time_text(sums.latency_ns),
                            time_text(sums.transfer_ns), time_text(sums.work_ns)),
                options.width, 0, 2);
  text += "\n" + head.replace(0, kTitle.size(), styled(options, ansi::kBold, kTitle));
  constexpr std::size_t kShown = 12;
  constexpr std::size_t kFirst = 8;
  constexpr std::size_t kLast = 3;
  const bool folded = !view.all && path.size() > kShown;
  const bool name_links = used_links(view.cluster).size() > 1;
  std::size_t widths[2] = {0, 0};
  const auto times = [](const AlgoPathPart& part) {
    return std::pair(time_text(part.begin_ns), time_text(part.latency_ns + part.busy_ns));
  };
  const auto is_shown = [&](std::size_t i) {
    return !folded || i < kFirst || i + kLast >= path.size();
  };
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!is_shown(i)) continue;
    const auto [begin, takes] = times(path[i]);
    widths[0] = std::max(widths[0], begin.size());
    widths[1] = std::max(widths[1], takes.size());
  }
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (folded && i == kFirst) {
      text +=
          fmt::format("  ... {} more; --all lists them\n", grouped(path.size() - kFirst - kLast));
    }
    if (!is_shown(i)) continue;
    const auto [begin, takes] = times(path[i]);
    const std::string before =
        fmt::format("  {:>{}}  {:>{}}  ", begin, widths[0], "+" + takes, widths[1] + 1);
    std::string row = paragraph(models::printable(part_text(view, path[i], name_links)),
                                options.width, before.size(), before.size() + 2);
    text += row.replace(0, before.size(), before);
  }
}

}  // namespace

PathSums path_sums(const AlgoTiming& timing) {
  PathSums sums;
  for (const AlgoPathPart& part : timing.path) {
    sums.latency_ns += part.latency_ns;
    const bool message = part.from != part.to;
    if (message) ++sums.messages;
    (message ? sums.transfer_ns : sums.work_ns) += part.busy_ns;
  }
  return sums;
}

std::string_view cause_words(AlgoCause cause) {
  switch (cause) {
    case AlgoCause::kStart:
      return "nothing";
    case AlgoCause::kOrder:
      return "its thread block was busy";
    case AlgoCause::kMessage:
      return "its data had not arrived";
    case AlgoCause::kSlot:
      return "the connection was full";
    case AlgoCause::kDependency:
      return "its dependency was not done";
    case AlgoCause::kPort:
      break;
  }
  return "the link was busy";
}

std::optional<double> bytes_per_second(std::uint64_t bytes, std::int64_t time_ns) {
  if (time_ns == 0) return std::nullopt;
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(time_ns);
}

std::string timing_text(const TimingView& view, const TextOptions& options) {
  const AlgoTiming& timing = view.timing;
  std::string text = head_line(
      fmt::format("{}  {} at {}", styled(options, ansi::kBold, models::printable(view.name)),
                  styled(options, ansi::kGreen, "COMPLETED"), time_text(timing.makespan_ns)),
      fmt::format("{}, {}, {}", counted(view.algorithm.ranks.size(), "rank"),
                  counted(view.algorithm.block_count(), "thread block"),
                  counted(view.algorithm.step_count(), "step")),
      options.width);
  constexpr std::size_t kLabel = 12;
  const auto line = [&](std::string_view label, const std::string& words) {
    std::string filled = paragraph(words, options.width, kLabel, kLabel);
    text += filled.replace(0, kLabel, fmt::format("  {:{}}", label, kLabel - 2));
  };
  std::string message =
      fmt::format("{}, in chunks of {}", size_text(view.bytes), size_text(timing.chunk_bytes));
  if (timing.rounds > 1) {
    message += fmt::format(", which do not fit into a slot: {}", counted(timing.rounds, "round"));
  }
  if (view.outside_range) message += "; the file does not declare messages of this size";
  line("message", message);
  const std::string links = links_text(view.cluster);
  line("cluster",
       fmt::format("{}{}{}{}", hosts_text(view.cluster), links.empty() ? "" : "; ", links,
                   view.usual_cluster ? fmt::format(" ({})", kUsualFigures) : ""));
  if (const auto rate = bytes_per_second(view.bytes, timing.makespan_ns)) {
    std::string speed = rate_text(*rate) + " algbw";
    if (const auto factor = models::bus_bandwidth_factor(view.algorithm)) {
      speed += fmt::format(", {} of bus bandwidth", rate_text(*rate * *factor));
    }
    line("speed", speed);
  }
  if (timing.busiest) {
    const models::AlgoPortLoad& of = *timing.busiest;
    line("busiest",
         fmt::format("rank {} {} {} over {}, for {:.0f}% of the time", of.rank,
                     of.receives ? "receives" : "sends", size_text(of.bytes),
                     view.cluster.links[of.link].name,
                     100.0 * static_cast<double>(of.busy_ns) /
                         static_cast<double>(std::max<std::int64_t>(1, timing.makespan_ns))));
  }
  add_path(view, options, text);
  return text;
}

bool TimingComparison::same() const {
  return std::all_of(sizes.begin(), sizes.end(), [](const ComparedSize& size) {
    return size.a.timing && size.b.timing &&
           size.a.timing->makespan_ns == size.b.timing->makespan_ns;
  });
}

namespace {

std::string side_text(const ComparedSize::Side& side) {
  if (!side.timing) return side.why;
  return time_text(side.timing->makespan_ns) + (side.outside_range ? " *" : "");
}

std::string faster_text(const ComparedSize& size) {
  if (!size.a.timing || !size.b.timing) return "";
  const std::int64_t a = size.a.timing->makespan_ns;
  const std::int64_t b = size.b.timing->makespan_ns;
  if (a == b) return "the same";
  const double times = static_cast<double>(std::max(a, b)) /
                       static_cast<double>(std::max<std::int64_t>(1, std::min(a, b)));
  return fmt::format("{} is {:.2f} times as fast", a < b ? "A" : "B", times);
}

// Adds a breakdown of both critical paths.
void add_breakdown(const ComparedSize& size, const TextOptions& options, std::string& text) {
  if (!size.a.timing || !size.b.timing) return;
  const PathSums a = path_sums(*size.a.timing);
  const PathSums b = path_sums(*size.b.timing);
  Table table({"critical path", "A", "B"});
  table.add({"messages", grouped(a.messages), grouped(b.messages)});
  table.add({"latency", time_text(a.latency_ns), time_text(b.latency_ns)});
  table.add({"transfer", time_text(a.transfer_ns), time_text(b.transfer_ns)});
  table.add({"local work", time_text(a.work_ns), time_text(b.work_ns)});
  table.add({"rounds", grouped(size.a.timing->rounds), grouped(size.b.timing->rounds)});
  text += "\n" + table.fitted(options.width);
}

}  // namespace

std::string comparison_text(const TimingComparison& comparison, const TextOptions& options) {
  Table sides;
  sides.add({"A", models::printable(comparison.a_name),
             std::string(models::protocol_name(comparison.a_protocol)),
             links_text(comparison.a_cluster)});
  sides.add({"B", models::printable(comparison.b_name),
             std::string(models::protocol_name(comparison.b_protocol)),
             links_text(comparison.b_cluster)});
  std::string text = sides.text();
  text += fmt::format("{} on {}{}\n", counted(comparison.a_cluster.host_of_rank.size(), "rank"),
                      hosts_text(comparison.a_cluster),
                      comparison.usual_cluster ? fmt::format(" ({})", kUsualFigures) : "");
  Table table({"message", "A", "B", ""});
  bool outside = false;
  for (const ComparedSize& size : comparison.sizes) {
    outside = outside || size.a.outside_range || size.b.outside_range;
    table.add({size_text(size.bytes), side_text(size.a), side_text(size.b), faster_text(size)});
  }
  text += "\n" + table.fitted(options.width);
  if (outside) text += "* the file does not declare messages of this size\n";
  if (comparison.sizes.size() == 1) add_breakdown(comparison.sizes.front(), options, text);
  return text;
}

}  // namespace pipesim::viz
