#pragma once

#include <filesystem>
#include <vector>

namespace muffle::comm {

/// The files of shared memory that this process has mapped for Open MPI's messages within a host and that
/// still have a name: its own and its peers' of this job, never another job's.
std::vector<std::filesystem::path> mapped_segments();

/// Takes the name from a segment and gives it to an empty file, which Open MPI removes at the end as it would
/// the segment (without any it complains). The memory stays for whoever has mapped it, and ends with them.
/// @returns whether it has no name any more; a segment for which that fails is left as it is.
bool unname(const std::filesystem::path& segment);

}  // namespace muffle::comm
