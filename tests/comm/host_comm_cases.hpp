#pragma once

#include <ostream>
#include <vector>

#include "muffle/comm/host_comm.hpp"

namespace muffle::test {

/// One promise of HostComm, checked by all ranks of a communicator together. The same cases run on every
/// backend.
struct HostCommCase {
  const char* name;
  void (*body)(comm::HostComm&);
};

const std::vector<HostCommCase>& host_comm_cases();
/// agree()'s: part of host_comm_cases().
const std::vector<HostCommCase>& agreement_cases();
/// comm/detachment.hpp's: part of host_comm_cases().
const std::vector<HostCommCase>& detachment_cases();

inline void PrintTo(const HostCommCase& c, std::ostream* out) { *out << c.name; }

}  // namespace muffle::test
