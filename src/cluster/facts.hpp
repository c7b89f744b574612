#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

using Facts = std::vector<RankFacts>;
inline constexpr std::nullopt_t kAllRanks = std::nullopt;

/// What the checks have found so far, in order. A finding about no rank at all is none.
class Findings {
 public:
  using Level = Finding::Level;
  using Ranks = std::optional<std::vector<int>>;  ///< or kAllRanks

  void ok(const char* check, std::string message) {
    add(Level::kOk, check, {}, std::move(message), "", ExitCode::kDone);
  }
  void note(const char* check, Ranks ranks, std::string message, std::string fix) {
    add(Level::kNote, check, std::move(ranks), std::move(message), std::move(fix), ExitCode::kDone);
  }
  void warn(const char* check, Ranks ranks, std::string message, std::string fix) {
    add(Level::kWarning, check, std::move(ranks), std::move(message), std::move(fix), ExitCode::kDone);
  }
  void fail(const char* check, Ranks ranks, std::string message, std::string fix, ExitCode code) {
    add(Level::kFailure, check, std::move(ranks), std::move(message), std::move(fix), code);
  }
  /// `message` unless something worse was already said of this check.
  void ok_unless_said(const char* check, std::string message) {
    const bool said = std::any_of(all.begin(), all.end(), [&](const Finding& f) {
      return f.check == check && f.level >= Level::kWarning;
    });
    if (!said) ok(check, std::move(message));
  }
  std::vector<Finding> all;

 private:
  void add(Level level, const char* check, Ranks ranks, std::string message, std::string fix, ExitCode code) {
    if (ranks && ranks->empty()) return;
    all.push_back(
        {level, check, ranks.value_or(std::vector<int>{}), std::move(message), std::move(fix), code});
  }
};

/// The ranks of whom it is true.
std::vector<int> ranks_where(const Facts& ranks, const std::function<bool(const RankFacts&)>& holds);

/// "A on ranks 0, 1; B on rank 2": who has which value.
std::string groups(const Facts& ranks, const std::function<std::string(const RankFacts&)>& value);

bool all_equal(const Facts& ranks, const std::function<std::string(const RankFacts&)>& value);

/// By rank: is it the first on its GPU? NCCL is tried over these.
std::vector<bool> one_a_gpu(const Facts& ranks);

// One check each: facts in, findings out. host_checks.cpp looks at what each host offers its ranks.
void check_cores(const Facts& ranks, Findings& out);
void check_limits(const Facts& ranks, Findings& out);
void check_memory(const Facts& ranks, Findings& out);
void check_folder(const Facts& ranks, Findings& out);
void check_gpus(const Facts& ranks, const NetworkFacts& network, Findings& out);
void check_entropy(const Facts& ranks, Findings& out);

}  // namespace muffle::cluster
