// Runs modules of the Python package `pipesim`, such as the recorder.
#pragma once

#include <string>
#include <vector>

namespace pipesim::app {

/// Returns the interpreter for scripts: $PYTHON if set, else the interpreter of the environment in
/// which pipesim is installed, else python3.
std::string default_python();

/// Lets Python processes that this process starts find the package and the program.
void export_package();

/// Replaces this process by `PYTHON -m MODULE WORDS...`. Throws InputError with `hint` if PYTHON
/// cannot run. The caller flushes its output first.
[[noreturn]] void become_python_module(const std::string& python, const std::string& module,
                                       const std::vector<std::string>& words, const char* hint);

/// Runs `python -m MODULE WORDS...`, and returns its standard output. Throws InputError if it
/// fails.
std::string run_python_module(const std::string& module, const std::vector<std::string>& words,
                              const std::string& python = default_python());

}  // namespace pipesim::app
