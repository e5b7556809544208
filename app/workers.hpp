// Threads that do numbered pieces of work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pipesim::app {

class Workers {
 public:
  /// Calls `work(i)` for each i below `count`, and starts the calls in ascending order. Runs on
  /// `jobs` threads (0: one per core), or on the caller's thread if no thread can be started.
  Workers(std::size_t count, unsigned jobs, std::function<void(std::size_t)> work);

  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Starts no more work, and waits for the work in progress.
  ~Workers();

  /// Returns when all pieces below `end` are done. Rethrows the first exception of `work`.
  void wait_for(std::size_t end);

 private:
  void run();

  const std::size_t count_;
  const std::function<void(std::size_t)> work_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<char> is_done_;  // indexed by piece
  std::exception_ptr problem_;
  std::vector<std::thread> threads_;  // last member: the threads use all other members
};

}  // namespace pipesim::app
