#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace muffle::comm {

/// Who takes part in a job, and bytes between them. Every method from barrier() on is collective: all ranks
/// call it, in the same order. Every wait has a deadline; past it, or when a peer is lost, CommError is
/// thrown, which names who is missing as far as is known, and nothing can be sent afterwards. Not
/// thread-safe: one thread per rank calls it.
class Messages {
 public:
  virtual ~Messages() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Ranks on this machine, and this rank's place among them.
  virtual int local_size() const = 0;
  virtual int local_rank() const = 0;
  virtual std::string host() const = 0;
  bool is_root() const { return rank() == 0; }

  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  /// Every rank's bytes, on every rank, by rank. Lengths may differ.
  virtual std::vector<std::string> all_gather(const std::string& bytes) = 0;
  /// The same on root only; nothing elsewhere, where nobody else's bytes arrive at all.
  virtual std::vector<std::string> gather(const std::string& bytes, int root) = 0;
};

/// Root's text, on every rank.
std::string broadcast_text(Messages& comm, const std::string& text, int root = 0);

/// Whether what a setting says is its rank's own: where its files lie.
using IsOwn = std::function<bool(const std::string& name)>;

/// All ranks must have been started alike. Collective; `settings` maps names ("--out", "features.seed") to
/// values of one line, the same names on every rank that runs the same verb.
/// @param own  of these a rank names what it has itself; the others are not told it
/// @throws ConfigError, on every rank, naming the settings that differ.
void require_same_settings(Messages& comm, const std::map<std::string, std::string>& settings,
                           const IsOwn& own = {});

/// How the members tell each other of a step: each rank's bytes, to all, by rank.
using Exchange = std::function<std::vector<std::string>(const std::string&)>;

/// Runs `step` locally, then lets all ranks agree on how it went. If it threw an Error anywhere, every rank
/// throws with the same exit code (the highest-ranking problem: lowest failing rank): the failing rank its
/// own error, the others one that names the failing rank and host and repeats its message, which is public.
/// An error's local detail goes to the failing rank's own log file and is not in any error that comes out of
/// here. Rank 0 speaks for all. Non-muffle exceptions count as internal errors. Collective.
/// @param share_message  false for steps that read private records: what a foreign exception says, which
///                       nobody has vetted, is a local detail then.
void agree(Messages& comm, const std::string& what, bool share_message, const std::function<void()>& step);
/// The same where the verdicts go another way. @param rank  this one. @param host  this rank's; empty: the
/// others are not told
void agree(int rank, const std::string& host, const Exchange& exchange, const std::string& what,
           bool share_message, const std::function<void()>& step);

}  // namespace muffle::comm
