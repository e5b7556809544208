// The fingerprint of a run: a number that pins what was simulated, not how
// (docs/reference/rules.md, 8).
#pragma once

#include <cstdint>

#include "sim/ids.hpp"
#include "sim/time.hpp"
#include "sim/verdict.hpp"

namespace pipesim::sim {

/// The digest of what one rank did. A sum over its ops, so that neither the order of events nor the
/// engine shows in it, and without the number of the rank, so that ranks that do the same share it.
class RankDigest {
 public:
  /// Adds act `k` (from 0), which was launched, of an actor, counted from the first one of the
  /// rank; kNever for what has not happened.
  void add(std::uint32_t actor, std::uint32_t k, Time launch, Time start, Time end) {
    std::uint64_t hash = kStart;
    hash = mixed(hash, actor);
    hash = mixed(hash, k);
    hash = mixed(hash, static_cast<std::uint64_t>(launch.ns));
    hash = mixed(hash, static_cast<std::uint64_t>(start.ns));
    hash = mixed(hash, static_cast<std::uint64_t>(end.ns));
    sum_ += hash;
  }

  /// Adds what another thread of the rank did.
  void add(const RankDigest& other) { sum_ += other.sum_; }

  friend bool operator==(const RankDigest&, const RankDigest&) = default;

 private:
  friend class Fingerprint;

  static constexpr std::uint64_t kStart = 0x9e3779b97f4a7c15;

  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    return hash ^ (hash >> 32);
  }

  std::uint64_t sum_ = 0;
};

/// One for each rank of a plan.
using RankDigests = IdVector<RankId, RankDigest>;

/// Sums up the digests of the ranks of a job.
class Fingerprint {
 public:
  /// Adds a rank. Each rank counts once, also one that did nothing.
  void add(RankId rank, RankDigest digest) {
    sum_ += RankDigest::mixed(RankDigest::mixed(RankDigest::kStart, rank.value), digest.sum_);
  }

  /// The number for a run that ended with `verdict`.
  std::uint64_t value(Verdict verdict) const {
    return RankDigest::mixed(sum_, static_cast<std::uint64_t>(verdict));
  }

  /// The number for a run of which `digests` has all ranks.
  static std::uint64_t of(const RankDigests& digests, Verdict verdict) {
    Fingerprint fingerprint;
    for (const RankId rank : ids_of(digests)) fingerprint.add(rank, digests[rank]);
    return fingerprint.value(verdict);
  }

 private:
  std::uint64_t sum_ = 0;
};

}  // namespace pipesim::sim
