// Where a command reads from and writes to. Commands get one, so that tests need no process.
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
  bool out_colour = false;  // colours on `out` are welcome
  bool err_colour = false;
  bool err_terminal = false;  // somebody looks at `err` while a command is at work
  // Set by SIGINT while `simulating`, which a command sets; at any other time SIGINT ends the
  // process.
  const std::atomic<bool>* interrupted = nullptr;
  std::atomic<bool>* simulating = nullptr;
  const models::PassRegistry* passes = nullptr;  // for `opt`; nothing: those that are shipped
  std::size_t out_columns = 80;  // how wide `out` is; so wide where that is no terminal
};

/// While this lives, Ctrl-C is the simulation's.
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
