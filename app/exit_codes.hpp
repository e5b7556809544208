// Exit statuses. Scripts rely on these numbers.
#pragma once

namespace pipesim::app {

enum ExitCode : int {
  kExitGood = 0,           // success: completed, proved, expectations met, found
  kExitBad = 1,            // a hang, a mismatch, an unmet expectation
  kExitUsage = 2,          // invalid input or usage
  kExitUndecided = 3,      // undecided: a budget or a limit was reached first
  kExitFile = 74,          // a file could not be read or written (EX_IOERR of sysexits.h)
  kExitInterrupted = 130,  // ended by SIGINT; the state reached was reported
};

}  // namespace pipesim::app
