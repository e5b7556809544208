// What 'run' and 'diff' do with collective algorithms, which are not scenarios.
#pragma once

#include <string>

#include "app/command.hpp"
#include "app/output/console.hpp"

namespace pipesim::app {

/// Whether 'run' or 'diff' is given a collective algorithm: see is_algorithm(). Standard input is
/// one where an option for algorithms is given. Throws FileError.
bool takes_algorithm(const Arguments& arguments, const std::string& path);

/// --bytes, --slots and --cluster, which are for collective algorithms.
OptionGroup algorithm_options();

/// Throws UsageError where one of algorithm_options() is given.
void refuse_algorithm_options(const Arguments& arguments);

/// Times the algorithm, or says how it hangs. Throws UsageError, FileError and ReportedMistakes.
int run_algorithm(const Arguments& arguments, const Console& console);

/// Compares the times of two algorithms.
int diff_algorithms(const Arguments& arguments, const Console& console);

}  // namespace pipesim::app
