// Evidence of a real hang as a scenario of host programs that hangs in the same way: the beginning
// of a regression test.
#pragma once

#include <string>

#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::formats {

/// A scenario in which each rank makes the calls that it has not done, waits for its device, and
/// then makes those that others wait for. Ranks that never come make none, devices that stopped
/// fail; the scenario expects the verdict and the roots of `diagnosis`, which is that of
/// `evidence`. Empty where that is undecided or has found nothing.
std::string write_evidence_scenario(const models::Evidence& evidence,
                                    const models::Diagnosis& diagnosis);

}  // namespace pipesim::formats
