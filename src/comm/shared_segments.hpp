#pragma once

#include <filesystem>
#include <vector>

namespace muffle::comm {

/// The files of shared memory that this process has mapped for Open MPI's messages within a host and that
/// still have a name: its own and its peers' of this job, never another job's.
std::vector<std::filesystem::path> mapped_segments();

}  // namespace muffle::comm
