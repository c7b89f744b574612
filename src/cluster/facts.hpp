#pragma once

#include <filesystem>
#include <string>

#include "muffle/cluster/doctor.hpp"

namespace muffle::cluster {

/// What this rank can find out by itself: everything in RankFacts but the clock rounds and the folder.
/// @param threads  cores_of().
RankFacts local_facts(const comm::HostComm& comm, int threads);

/// Which file of a shared library this process has loaded, such as "libtorch_cpu.so.1.13 e20b0b9d69c3": its
/// name, links followed, and the first digits of the linker's build ID, which two builds never share; its
/// size in bytes if it has none. Empty: nothing of that name is loaded.
/// @param name  how the file's name begins, such as "libtorch_cpu.so"
std::string loaded_library(const std::string& name);

/// What this rank sees of `folder`. Collective: rank 0 leaves a file that the others look for, and holds its
/// lock meanwhile. Everything made is removed. Problems are facts, never exceptions.
/// @param wait_s  how long to look for rank 0's file: network file systems show it late.
FolderFacts folder_facts(comm::HostComm& comm, const std::filesystem::path& folder, double wait_s);

/// Facts as JSON and back, to gather them; fields that a rank of another version does not know keep their
/// defaults. @throws ProtocolError  not such facts.
std::string facts_to_json(const RankFacts& facts);
RankFacts facts_from_json(const std::string& text);

}  // namespace muffle::cluster
