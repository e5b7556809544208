// Collective algorithms, as opposed to scenarios, in 'run' and 'diff'.
#pragma once

#include <string>

#include "app/command.hpp"
#include "app/output/console.hpp"

namespace pipesim::app {

/// Whether `path` is a collective algorithm, see is_algorithm(). Standard input counts as an
/// algorithm if an option for algorithms is given. Throws FileError.
bool takes_algorithm(const Arguments& arguments, const std::string& path);

/// Returns the options for collective algorithms: --bytes, --slots and --cluster.
OptionGroup algorithm_options();

/// Throws UsageError if one of algorithm_options() is given.
void refuse_algorithm_options(const Arguments& arguments);

/// Times the algorithm, or reports its hang. Throws UsageError, FileError and ReportedMistakes.
int run_algorithm(const Arguments& arguments, const Console& console);

/// Compares the times of two algorithms.
int diff_algorithms(const Arguments& arguments, const Console& console);

}  // namespace pipesim::app
