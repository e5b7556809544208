#include "app/output/trace_files.hpp"

#include <array>
#include <functional>
#include <new>
#include <string_view>
#include <vector>

#include <zlib.h>

#include "app/output/files.hpp"
#include "viz/trace/trace_json.hpp"

namespace pipesim::app {
namespace {

constexpr std::string_view kRank = "{rank}";

/// Compresses text part by part, in gzip's format. The header has neither time nor name, so the
/// same text and zlib version give the same bytes.
class Gzip {
 public:
  explicit Gzip(const viz::TextSink& sink) : sink_(sink) {
    constexpr int kLevel = 1;
    constexpr int kGzipWindow = 15 + 16;  // largest window, with gzip's header
    constexpr int kMemory = 8;            // zlib's default
    const int result =
        deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY);
    if (result != Z_OK) throw std::bad_alloc();  // out of memory: the only possible cause
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void write(std::string_view part, int flush = Z_NO_FLUSH) {
    // zlib's interface lacks a const; zlib only reads this buffer.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream_.avail_in = static_cast<uInt>(part.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      deflate(&stream_, flush);
      sink_({out_.data(), out_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }
  void finish() { write({}, Z_FINISH); }

 private:
  const viz::TextSink& sink_;
  z_stream stream_{};
  std::array<char, std::size_t{1} << 16> out_{};
};

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
