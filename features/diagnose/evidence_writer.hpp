// Converts evidence of a real hang to a scenario of host programs with the same hang, as the start
// of a regression test.
#pragma once

#include <string>

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence.hpp"

namespace pipesim::formats {

/// Returns a scenario in which each rank makes its pending calls, waits for its device, and then
/// makes the calls that other ranks wait for. Missing ranks make no calls, and stopped devices
/// fail. The scenario expects the verdict and the roots of `diagnosis`, which belongs to
/// `evidence`. Returns an empty string if the diagnosis is undecided or found nothing.
std::string write_evidence_scenario(const models::Evidence& evidence,
                                    const models::Diagnosis& diagnosis);

}  // namespace pipesim::formats
