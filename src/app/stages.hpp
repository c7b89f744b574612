#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "muffle/comm/host_comm.hpp"

namespace muffle::app {

/// Whether a stage's output is there and `matches()` says that it belongs to this configuration; all ranks
/// get root's answer. Everything after a release is post-processing, so an output that does not match is
/// simply made again; one that cannot be read is reported and made again.
bool output_matches(comm::HostComm& comm, const std::string& stage, const std::filesystem::path& file,
                    const std::function<bool()>& matches);

}  // namespace muffle::app
