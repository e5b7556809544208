#include "app/workers.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace pipesim::app {

Workers::Workers(std::size_t count, unsigned jobs, std::function<void(std::size_t)> work)
    : count_(count), work_(std::move(work)), is_done_(count, 0) {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t threads = std::min(jobs == 0 ? cores : jobs, count);
  try {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {  // continues with fewer threads
  }
  if (threads_.empty()) run();
}

Workers::~Workers() {
  next_ = count_;
  for (std::thread& thread : threads_) thread.join();
}

void Workers::wait_for(std::size_t end) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (std::size_t i = 0; i < end; ++i) {
    changed_.wait(lock, [&] { return is_done_[i] != 0 || problem_; });
    if (problem_) std::rethrow_exception(problem_);
  }
}

void Workers::run() {
  for (;;) {
    const std::size_t i = next_++;
    if (i >= count_) return;
    std::exception_ptr problem;
    try {
      work_(i);
    } catch (...) {  // for example, out of memory
      problem = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (problem && !problem_) problem_ = problem;
    is_done_[i] = 1;
    changed_.notify_all();
  }
}

}  // namespace pipesim::app
