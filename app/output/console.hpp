// Input and output streams of a command. Tests pass their own streams and need no process.
#pragma once

#include <atomic>
#include <cstddef>
#include <istream>
#include <ostream>

namespace pipesim::models {
class PassRegistry;
}

namespace pipesim::app {

struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool out_colour = false;  // whether `out` can have colors
  bool err_colour = false;
  bool err_terminal = false;  // whether `err` can show progress
  // Set by SIGINT while a command has set `simulating`; at any other time SIGINT ends the process.
  const std::atomic<bool>* interrupted = nullptr;
  std::atomic<bool>* simulating = nullptr;
  const models::PassRegistry* passes = nullptr;  // passes for `opt`; null: the built-in ones
  std::size_t out_columns = 80;                  // width of the terminal; 80 if there is none
};

/// While this object lives, Ctrl-C stops the simulation instead of the process.
class Simulating {
 public:
  explicit Simulating(const Console& console) : flag_(console.simulating) {
    if (flag_ != nullptr) *flag_ = true;
  }
  ~Simulating() {
    if (flag_ != nullptr) *flag_ = false;
  }
  Simulating(const Simulating&) = delete;
  Simulating& operator=(const Simulating&) = delete;

 private:
  std::atomic<bool>* flag_;
};

}  // namespace pipesim::app
