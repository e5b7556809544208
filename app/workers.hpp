// Threads that do numbered pieces of work, and who waits for what they have done.
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
  /// Does `work(i)` for each i below `count`, begun in their order, by `jobs` threads (0: as many
  /// as there are cores), or by the caller if there can be none.
  Workers(std::size_t count, unsigned jobs, std::function<void(std::size_t)> work);

  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// What is not begun is not done; waits for the rest.
  ~Workers();

  /// Returns when all below `end` are done. Throws what the first that failed threw.
  void wait_for(std::size_t end);

 private:
  void run();

  const std::size_t count_;
  const std::function<void(std::size_t)> work_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<char> is_done_;  // by piece
  std::exception_ptr problem_;
  std::vector<std::thread> threads_;  // the last: they use the others
};

}  // namespace pipesim::app
