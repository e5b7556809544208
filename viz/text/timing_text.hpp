// The times of collective algorithms, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/algorithm/algorithm_timing.hpp"
#include "viz/styled.hpp"

namespace pipesim::viz {

/// An algorithm timed for one message size.
struct TimingView {
  std::string name;
  const models::CollectiveAlgorithm& algorithm;
  const models::Cluster& cluster;
  const models::AlgoTiming& timing;
  std::uint64_t bytes = 0;
  std::uint32_t slots = 0;     // slots per MSCCL connection
  bool usual_cluster = false;  // default figures, because no cluster was given
  bool outside_range = false;  // the file does not declare messages of this size
  bool all = false;            // shows the whole critical path
};

/// Sums over a critical path.
struct PathSums {
  std::uint64_t messages = 0;
  std::int64_t latency_ns = 0, transfer_ns = 0, work_ns = 0;
};
PathSums path_sums(const models::AlgoTiming& timing);

/// Describes a cause of a delay: "the connection was full".
std::string_view cause_words(models::AlgoCause cause);

/// Returns bytes per second, for the message or for the bytes on a link; nullopt for a time of 0.
std::optional<double> bytes_per_second(std::uint64_t bytes, std::int64_t time_ns);

std::string timing_text(const TimingView& view, const TextOptions& options);

/// One size in a comparison of two algorithms.
struct ComparedSize {
  struct Side {
    std::optional<models::AlgoTiming> timing;
    std::string why;             // reason for a missing time, in a few words
    bool outside_range = false;  // the file does not declare messages of this size
  };
  std::uint64_t bytes = 0;
  Side a, b;
};

struct TimingComparison {
  std::string a_name, b_name;
  models::AlgoProtocol a_protocol, b_protocol;
  models::Cluster a_cluster, b_cluster;  // clusters with the latencies of the two protocols
  bool usual_cluster = false;
  std::vector<ComparedSize> sizes;

  bool same() const;
};

std::string comparison_text(const TimingComparison& comparison, const TextOptions& options);

}  // namespace pipesim::viz
