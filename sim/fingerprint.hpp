// The fingerprint of a run: a number that identifies the simulated result, not the way it was
// computed (docs/reference/rules.md, 8).
#pragma once

#include <cstdint>

#include "sim/ids.hpp"
#include "sim/time.hpp"
#include "sim/verdict.hpp"

namespace pipesim::sim {

/// The digest of one rank's ops: a sum over the ops, which depends neither on the order of events
/// nor on the engine. The digest excludes the rank number, so that ranks with equal behavior share
/// a digest.
class RankDigest {
 public:
  /// Adds the launched op `k` (from 0) of the actor with index `actor` among the rank's actors.
  /// `start` or `end` is kNever if the op has not started or ended.
  void add(std::uint32_t actor, std::uint32_t k, Time launch, Time start, Time end) {
    std::uint64_t hash = kStart;
    hash = mixed(hash, actor);
    hash = mixed(hash, k);
    hash = mixed(hash, static_cast<std::uint64_t>(launch.ns));
    hash = mixed(hash, static_cast<std::uint64_t>(start.ns));
    hash = mixed(hash, static_cast<std::uint64_t>(end.ns));
    sum_ += hash;
  }

  /// Adds the ops of another thread of the rank.
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

/// The digests of all ranks of a plan.
using RankDigests = IdVector<RankId, RankDigest>;

/// Combines the digests of the ranks of a job.
class Fingerprint {
 public:
  /// Adds a rank. Each rank counts once, even if it did nothing.
  void add(RankId rank, RankDigest digest) {
    sum_ += RankDigest::mixed(RankDigest::mixed(RankDigest::kStart, rank.value), digest.sum_);
  }

  /// Returns the fingerprint of a run that ended with `verdict`.
  std::uint64_t value(Verdict verdict) const {
    return RankDigest::mixed(sum_, static_cast<std::uint64_t>(verdict));
  }

  /// Returns the fingerprint of a run from the digests of all its ranks.
  static std::uint64_t of(const RankDigests& digests, Verdict verdict) {
    Fingerprint fingerprint;
    for (const RankId rank : ids_of(digests)) fingerprint.add(rank, digests[rank]);
    return fingerprint.value(verdict);
  }

 private:
  std::uint64_t sum_ = 0;
};

}  // namespace pipesim::sim
