// The process around the command: arguments, terminal, Ctrl-C.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

#include "app/command_line.hpp"

namespace {

std::atomic<bool> interrupted{false};
std::atomic<bool> simulating{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

// While something is simulated the first Ctrl-C ends that with a report of the state reached. At
// any other time, and the second time, there is nothing to report.
void on_interrupt(int /*signal*/) {
  if (!simulating || interrupted.exchange(true)) std::_Exit(130);
}

// A terminal that can do more than print.
bool is_terminal(int descriptor) {
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::strcmp(terminal, "dumb") == 0) return false;
  return ::isatty(descriptor) == 1;
}

bool wants_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  return is_terminal(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::signal(SIGINT, on_interrupt);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return pipesim::app::run_command_line(
      arguments,
      {std::cin, std::cout, std::cerr, wants_colour(STDOUT_FILENO), wants_colour(STDERR_FILENO),
       is_terminal(STDERR_FILENO), &interrupted, &simulating});
}
