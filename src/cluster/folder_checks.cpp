#include <fmt/format.h>

#include "findings.hpp"

namespace muffle::cluster {
namespace {

constexpr std::uint64_t kLittleRoom_bytes = std::uint64_t{1} << 30;

}  // namespace

void check_folder(const Facts& ranks, Findings& out) {
  const auto by = [&](const std::function<bool(const FolderFacts&)>& holds) {
    return ranks_where(ranks, [&](const RankFacts& f) { return holds(f.folder); });
  };
  const std::string& path = ranks.front().folder.path;
  const auto broken = by([](const FolderFacts& f) { return !f.error.empty(); });
  if (!broken.empty()) {
    const std::string why = ranks[static_cast<std::size_t>(broken.front())].folder.error;
    out.fail("folder", broken, why, "choose a folder that every rank may write to (--out)", ExitCode::kIo);
  }
  const auto unsafe =
      by([](const FolderFacts& f) { return f.error.empty() && !(f.renames && f.exclusive && f.syncs_file); });
  if (!unsafe.empty()) {
    out.fail("folder", unsafe,
             fmt::format("in '{}', files are not replaced, created once or synced as POSIX says", path),
             "put the run folder and the ledger on another file system: a crash could lose a charge",
             ExitCode::kIo);
  }
  const auto unlocked = by([](const FolderFacts& f) { return f.error.empty() && !f.locks; });
  if (!unlocked.empty()) {
    out.fail(
        "folder", unlocked, fmt::format("locks do not work in '{}'", path),
        "put the ledger on another file system (privacy.ledger), or mount this one with locks (Lustre: -o "
        "flock)",
        ExitCode::kIo);
  }
  const auto alone =
      by([](const FolderFacts& f) { return f.error.empty() && f.sees_root && f.locks && !f.respects_lock; });
  if (!alone.empty()) {
    out.fail(
        "folder", alone,
        fmt::format("a lock that rank 0 holds in '{}' is not seen here: two jobs on different hosts could "
                    "charge one ledger at once",
                    path),
        "mount it with locks over all hosts (Lustre: -o flock, NFS: without nolock), or keep the ledger on "
        "another file system",
        ExitCode::kIo);
  }
  const auto unsynced = by([](const FolderFacts& f) { return f.error.empty() && !f.syncs_folder; });
  if (!unsynced.empty()) {
    out.note("folder", unsynced, "the folder itself cannot be synced",
             "a power cut may undo a rename; keep the ledger on a local or a clustered file system");
  }
  const auto volatile_ =
      by([](const FolderFacts& f) { return f.filesystem == "tmpfs" || f.filesystem == "ramfs"; });
  if (!volatile_.empty()) {
    out.warn("folder", volatile_, fmt::format("'{}' is in memory and gone after a reboot", path),
             "a ledger there forgets what was spent: keep it on a disk (privacy.ledger)");
  }
  const auto full =
      by([](const FolderFacts& f) { return f.error.empty() && f.free_bytes < kLittleRoom_bytes; });
  if (!full.empty()) {
    out.warn("folder", full, fmt::format("less than 1 GiB is free in '{}'", path),
             "make room, or choose another");
  }
  const auto apart = by([](const FolderFacts& f) { return f.error.empty() && !f.sees_root; });
  if (!apart.empty()) {
    out.note("folder", apart, fmt::format("'{}' is not shared with rank 0", path),
             "results are written on rank 0's host, logs on every host; after a restart rank 0 must be on "
             "the same "
             "host");
  }
  const auto kind = [](const RankFacts& f) { return f.folder.filesystem; };
  out.ok_unless_said("folder",
                     fmt::format("'{}': {}; {}", path, groups(ranks, kind),
                                 apart.empty() ? "shared by all ranks, with locks" : "not shared by all"));
}

}  // namespace muffle::cluster
