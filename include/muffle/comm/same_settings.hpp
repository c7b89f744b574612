#pragma once

#include <map>
#include <string>

#include "muffle/comm/host_comm.hpp"

namespace muffle::comm {

/// All ranks must have been started alike. Collective; `settings` maps names ("--out", "features.seed") to
/// values of one line, the same names on every rank that runs the same verb.
/// @throws ConfigError, on every rank, naming the settings that differ.
void require_same_settings(HostComm& comm, const std::map<std::string, std::string>& settings);

}  // namespace muffle::comm
