#include "pipesim/command.hpp"

#include <iostream>
#include <string>
#include <vector>

#include "app/cli/command_line.hpp"

namespace pipesim {

int run_command(int argc, const char* const* argv, const models::PassRegistry& passes) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  app::Console console{std::cin, std::cout, std::cerr};
  console.passes = &passes;
  return app::run_command_line(arguments, console);
}

}  // namespace pipesim
