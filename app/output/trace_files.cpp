#include "app/output/trace_files.hpp"

#include <functional>
#include <string_view>
#include <vector>

#include "app/output/files.hpp"
#include "app/output/gzip.hpp"
#include "viz/trace/trace_json.hpp"

namespace pipesim::app {
namespace {

constexpr std::string_view kRank = "{rank}";

// Writes the parts that `produce` passes to its sink, compressed if the path ends in .gz.
void write_parts(const std::string& path,
                 const std::function<void(const viz::TextSink&)>& produce) {
  FileWriter file(path);
  const viz::TextSink to_file = [&](std::string_view part) { file.write(part); };
  if (path.ends_with(".gz")) {
    Gzip gzip(to_file);
    produce([&](std::string_view part) { gzip.write(part); });
    gzip.finish();
  } else {
    produce(to_file);
  }
  file.close();
}

}  // namespace

void write_trace(const models::TaskGraph& graph, const models::Simulation& run,
                 const models::Timeline& timeline, const std::string& path,
                 const Console& console) {
  const std::vector<models::Flow> flows = models::flows(run);
  const viz::TraceWriter trace(graph, run, timeline, flows);
  if (path == "-") {
    trace.write([&](std::string_view part) { console.out << part; });
    return;
  }
  const std::size_t place = path.find(kRank);
  if (place == std::string::npos) {
    write_parts(path, [&](const viz::TextSink& sink) { trace.write(sink); });
    return;
  }
  for (std::uint32_t rank = 0; rank < run.lowered.plan.rank_count; ++rank) {
    std::string of_rank = path;
    of_rank.replace(place, kRank.size(), std::to_string(rank));
    write_parts(of_rank, [&](const viz::TextSink& sink) { trace.write_rank(rank, sink); });
  }
}

}  // namespace pipesim::app
