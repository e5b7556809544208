// How long collective algorithms take, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/algorithm/algorithm_timing.hpp"
#include "viz/styled.hpp"

namespace pipesim::viz {

/// An algorithm that was timed for one message.
struct TimingView {
  std::string name;
  const models::CollectiveAlgorithm& algorithm;
  const models::Cluster& cluster;
  const models::AlgoTiming& timing;
  std::uint64_t bytes = 0;
  std::uint32_t slots = 0;     // of MSCCL's connections
  bool usual_cluster = false;  // none was given
  bool outside_range = false;  // the file does not declare messages of this size
  bool all = false;            // the whole critical path
};

/// Latency, transfers and work of a critical path.
struct PathSums {
  std::uint64_t messages = 0;
  std::int64_t latency_ns = 0, transfer_ns = 0, work_ns = 0;
};
PathSums path_sums(const models::AlgoTiming& timing);

/// "the connection was full".
std::string_view cause_words(models::AlgoCause cause);

/// Bytes of the message, or what crosses each link, per second; nothing where no time passes.
std::optional<double> bytes_per_second(std::uint64_t bytes, std::int64_t time_ns);

std::string timing_text(const TimingView& view, const TextOptions& options);

/// One size for which two algorithms are compared; without a time, `why` says the reason.
struct ComparedSize {
  struct Side {
    std::optional<models::AlgoTiming> timing;
    std::string why;             // there is no time: in a few words
    bool outside_range = false;  // the file does not declare messages of this size
  };
  std::uint64_t bytes = 0;
  Side a, b;
};

struct TimingComparison {
  std::string a_name, b_name;
  models::AlgoProtocol a_protocol, b_protocol;
  models::Cluster a_cluster, b_cluster;  // with the latencies of their protocols
  bool usual_cluster = false;
  std::vector<ComparedSize> sizes;

  bool same() const;
};

std::string comparison_text(const TimingComparison& comparison, const TextOptions& options);

}  // namespace pipesim::viz
