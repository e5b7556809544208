// The frame of all commands' reports: text or JSON, and the command line at the end.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.hpp"
#include "app/output/console.hpp"
#include "viz/report/styled.hpp"

namespace pipesim::app {

/// Returns the version and the command line: "pipesim 0.1: pipesim run a.yaml --set acc=2". Omits
/// options that change no result (Option::output).
std::string made_by(const Arguments& arguments);

/// Returns the words that name the job of a command for other commands: its file and the options
/// that change the job. Returns none for standard input.
std::vector<std::string> job_words(const Arguments& arguments);

/// Returns made_by() as the last line of a text report.
std::string last_line(std::string_view made_by, const Console& console);
std::string last_line(const Arguments& arguments, const Console& console);

/// Prints the result of a command: `data` for --json, else `text`, with made_by() as the last line.
/// Calls only the function whose result it prints.
void print_report(const Arguments& arguments, const Console& console,
                  const std::function<std::string()>& data,
                  const std::function<std::string(const viz::TextOptions&)>& text);

}  // namespace pipesim::app
