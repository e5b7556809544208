// The process around the command: arguments, terminal, Ctrl-C.
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#include "app/cli/command_line.hpp"
#include "app/output/files.hpp"

namespace {

std::atomic<bool> interrupted{false};
std::atomic<bool> simulating{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

// Handles Ctrl-C. During a simulation, the first Ctrl-C ends the run with a report of the state
// reached. At any other time, and the second time, Ctrl-C ends the process.
void on_interrupt(int /*signal*/) {
  if (!simulating || interrupted.exchange(true)) {
    pipesim::app::remove_temporary_file();
    std::_Exit(130);
  }
}

// Removes the temporary file, then ends the process as the signal would.
void on_end(int signal) {
  pipesim::app::remove_temporary_file();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Whether `descriptor` is a terminal that understands escape sequences.
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

// Returns the width of the terminal, or `otherwise` if unknown. Called only if standard output is a
// terminal: a file gets the same output everywhere.
std::size_t columns(std::size_t otherwise) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* text = std::getenv("COLUMNS");
  const long number = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return number > 0 && number < 10'000 ? static_cast<std::size_t>(number) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_end);
  if (std::signal(SIGHUP, SIG_IGN) != SIG_IGN) std::signal(SIGHUP, on_end);  // nohup ignores SIGHUP
  // Makes a write beyond `ulimit -f` fail like a write to a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  pipesim::app::Console console{std::cin, std::cout, std::cerr};
  console.out_colour = wants_colour(STDOUT_FILENO);
  console.err_colour = wants_colour(STDERR_FILENO);
  console.err_terminal = is_terminal(STDERR_FILENO);
  console.interrupted = &interrupted;
  console.simulating = &simulating;
  if (::isatty(STDOUT_FILENO) == 1) console.out_columns = columns(console.out_columns);
  return pipesim::app::run_command_line(arguments, console);
}
