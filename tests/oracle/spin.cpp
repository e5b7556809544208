#include "tests/oracle/spin.hpp"

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <sys/wait.h>

#include "tests/oracle/promela_writer.hpp"
#include "tests/support/folder.hpp"

namespace pipesim::oracle {

bool has_spin() {
  if (!std::string(PIPESIM_ORACLE_PAN).empty()) return true;
  std::cout << "SKIPPED: spin was not found when the tests were built (tools/setup test)\n";
  return false;
}

std::string run_command(const std::string& command, const std::string& fine) {
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 4096> block{};
  while (const std::size_t read = std::fread(block.data(), 1, block.size(), pipe)) {
    output.append(block.data(), read);
  }
  const int status = pclose(pipe);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 9;
  if (fine.find(std::to_string(code)) == std::string::npos) {
    throw std::runtime_error(command + "\n" + output);
  }
  return output;
}

std::uint64_t number_before(const std::string& text, const std::string& words) {
  const std::size_t end = text.find(words);
  std::size_t begin = end == std::string::npos ? 0 : end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
  if (end == std::string::npos || begin == end) throw std::runtime_error(text);
  return std::stoull(text.substr(begin, end - begin));
}

// Options of pan: with -E, a blocked process is not an error; -n omits the report of unreached
// code; -w sets 2^20 entries in the hash table; -m sets the maximum search depth.
Verdict ask_spin(const sim::Plan& plan, std::uint64_t max_states) {
  const testing::Folder folder;
  const std::string tables = folder.write("plan", formats::promela_tables(plan));
  const std::string output = run_command("cd '" + folder.path() + "' && PIPESIM_PLAN='" + tables +
                                             "' PIPESIM_MOST_STATES=" + std::to_string(max_states) +
                                             " '" PIPESIM_ORACLE_PAN "' -E -n -w20 -m100000",
                                         "03");
  const std::size_t found = output.find("orders: ");
  Verdict verdict;
  verdict.gave_up = output.find(" gave up") != std::string::npos;
  const bool whole = output.find("errors: 0") != std::string::npos &&
                     output.find("max search depth too small") == std::string::npos;
  if (found == std::string::npos || (!whole && !verdict.gave_up)) {
    throw std::runtime_error(output);
  }
  unsigned long completed = 0;
  unsigned long hung = 0;
  unsigned long states = 0;
  if (std::sscanf(output.c_str() + found, "orders: completed %lu hung %lu states %lu", &completed,
                  &hung, &states) != 3) {
    throw std::runtime_error(output);
  }
  verdict.completes = completed > 0;
  verdict.hangs = hung > 0;
  verdict.states = states;
  return verdict;
}

}  // namespace pipesim::oracle
