#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>

#include "muffle/comm/messages.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/log.hpp"

namespace muffle::comm {
namespace {

/// How a rank's step failed: its own exception and what the other ranks are told.
struct Failure {
  std::exception_ptr error;
  ExitCode code = ExitCode::kInternal;
  std::string message;
  std::string detail;  ///< for this rank's own log file
};

Failure foreign(const std::string& what, const std::string& said, bool share) {
  Failure failure;
  failure.message = what + ": " + (share ? said : "an unexpected error");
  if (!share) failure.detail = said;
  failure.error = std::make_exception_ptr(ErrorOf<ExitCode::kInternal>(failure.message));
  return failure;
}

std::optional<Failure> run_step(const std::string& what, const std::function<void()>& step,
                                bool share_message) {
  Failure failure;
  try {
    step();
    return std::nullopt;
  } catch (const Error& e) {
    failure = {std::current_exception(), e.code(), e.what(), e.local_detail()};
  } catch (const std::exception& e) {
    failure = foreign(what, e.what(), share_message);
  } catch (...) {
    failure = foreign(what, "an exception of an unknown type", true);
  }
  // "Done" is not an error's code; a rank that throws it must not let the job end with 0.
  if (failure.code == ExitCode::kDone) failure.code = ExitCode::kInternal;
  return failure;
}

/// Where a reader finds the local detail of a rank's failure.
std::string pointer_to_detail(int rank) {
  return fmt::format(" The details stay on rank {}, in its own log file logs/{} of the run folder.", rank,
                     log_file_name(rank));
}

/// "65\nhost\nd\nmessage", where d says that there are details; a rank without failure sends nothing. The
/// host is empty where the others are not told.
std::string encode(const Failure& failure, const std::string& host) {
  return fmt::format("{}\n{}\n{}\n{}", static_cast<int>(failure.code), host, failure.detail.empty() ? 0 : 1,
                     failure.message);
}

struct Verdict {
  ExitCode code = ExitCode::kInternal;
  std::string host, message;
  bool has_detail = false;
};

Verdict decode(const std::string& text) {
  std::istringstream lines(text);
  int code = 0;
  std::string host, has_detail;
  lines >> code;
  std::getline(lines.ignore(), host);
  std::getline(lines, has_detail);
  require(lines.good(), "agree: a rank sent a malformed verdict");
  const std::string message = text.substr(static_cast<std::size_t>(lines.tellg()));
  return {static_cast<ExitCode>(code), host, message, has_detail == "1"};
}

/// As the class that callers catch for this code.
template <ExitCode... kCodes>
[[noreturn]] void throw_as(ExitCode code, const std::string& message) {
  ((code == kCodes ? throw ErrorOf<kCodes>(message) : void()), ...);
  throw ErrorOf<ExitCode::kInternal>(message);
}
constexpr auto throw_with_code =
    throw_as<ExitCode::kUsage, ExitCode::kData, ExitCode::kPeer, ExitCode::kInvariant, ExitCode::kIo,
             ExitCode::kProtocol, ExitCode::kBudget, ExitCode::kConfig, ExitCode::kStopped>;

using Settings = std::map<std::string, std::string>;

std::string encode(const Settings& settings) {
  std::string out;
  for (const auto& [name, value] : settings) out += name + "=" + value + "\n";
  return out;
}

Settings decode_settings(const std::string& text) {
  Settings out;
  std::istringstream lines(text);
  for (std::string name, value; std::getline(lines, name, '=') && std::getline(lines, value);)
    out[name] = value;
  return out;
}

std::string value_in(const Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "not there" : found->second;
}

/// What every rank gave, by rank.
std::vector<Settings> gather_settings(Messages& comm, const Settings& mine) {
  std::vector<Settings> ranks;
  for (const std::string& text : comm.all_gather(encode(mine))) ranks.push_back(decode_settings(text));
  return ranks;
}

/// For each name that some rank has otherwise than root, the first such rank.
std::map<std::string, std::size_t> differing(const std::vector<Settings>& ranks) {
  std::map<std::string, std::size_t> out;
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    for (const Settings* have : {&ranks[0], &ranks[r]}) {
      for (const auto& [name, value] : *have) {
        if (value_in(ranks[0], name) != value_in(ranks[r], name)) out.emplace(name, r);
      }
    }
  }
  return out;
}

/// "features.seed is 1 on rank 0 and 99 on rank 1", one for each name. Of the settings that all have alike,
/// and of a rank's own, nothing but hashes travels. Collective.
std::vector<std::string> differences(Messages& comm, const Settings& mine, const IsOwn& own) {
  Settings hashes, some;
  for (const auto& [name, value] : mine) hashes[name] = to_hex(sha256(PublicBytes(name + "=" + value)));
  const auto names = differing(gather_settings(comm, hashes));
  for (const auto& [name, value] : mine) {
    if (names.contains(name) && !(own && own(name))) some[name] = value;
  }
  const std::vector<Settings> ranks = gather_settings(comm, some);
  std::vector<std::string> out;
  for (const auto& [name, rank] : names) {
    if (own && own(name)) {
      out.push_back(fmt::format("{} is not the same on ranks 0 and {} (on rank {}: {})", name, rank,
                                comm.rank(), value_in(mine, name)));
      continue;
    }
    out.push_back(fmt::format("{} is {} on rank 0 and {} on rank {}", name, value_in(ranks[0], name),
                              value_in(ranks[rank], name), rank));
  }
  return out;
}

}  // namespace

std::string broadcast_text(Messages& comm, const std::string& text, int root) {
  const bool mine = comm.rank() == root;
  std::uint64_t length = mine ? text.size() : 0;
  comm.broadcast(std::as_writable_bytes(std::span(&length, 1)), root);
  std::string result = mine ? text : std::string(length, '\0');
  comm.broadcast(std::as_writable_bytes(std::span(result.data(), result.size())), root);
  return result;
}

void agree(Messages& comm, const std::string& what, bool share_message, const std::function<void()>& step) {
  agree(
      comm.rank(), comm.host(), [&](const std::string& mine) { return comm.all_gather(mine); }, what,
      share_message, step);
}

void agree(int rank, const std::string& host, const Exchange& exchange, const std::string& what,
           bool share_message, const std::function<void()>& step) {
  const std::optional<Failure> mine = run_step(what, step, share_message);
  const bool detailed = mine && !mine->detail.empty();
  if (detailed) log_local(fmt::format("{} Details for this rank alone: {}", mine->message, mine->detail));
  std::vector<std::string> verdicts;
  try {
    verdicts = exchange(mine ? encode(*mine, host) : "");
  } catch (const Error&) {
    // The others cannot be told any more; this rank's own failure says more than the lost connection.
    if (mine) std::rethrow_exception(mine->error);
    throw;
  }
  const auto first = std::find_if(verdicts.begin(), verdicts.end(), [](const auto& v) { return !v.empty(); });
  if (first == verdicts.end()) return;

  const auto failed_rank = static_cast<int>(first - verdicts.begin());
  const Verdict verdict = decode(*first);
  try {
    if (mine && (failed_rank == rank || mine->code == verdict.code)) {
      if (detailed) throw_with_code(mine->code, mine->message + pointer_to_detail(rank));
      std::rethrow_exception(mine->error);
    }
    const bool stopped = verdict.code == ExitCode::kStopped;
    std::string message =
        fmt::format("{} {} on rank {}{}: {}", what, stopped ? "ended early" : "failed", failed_rank,
                    verdict.host.empty() ? "" : fmt::format(" (host {})", verdict.host), verdict.message);
    if (verdict.has_detail) message += pointer_to_detail(failed_rank);
    if (mine) message += fmt::format(" Rank {} failed too: {}", rank, mine->message);
    throw_with_code(verdict.code, message);
  } catch (Error& e) {
    e.mark_agreed(/*quiet=*/rank != 0);  // rank 0 speaks for all
    throw;
  }
}

void require_same_settings(Messages& comm, const std::map<std::string, std::string>& settings,
                           const IsOwn& own) {
  const std::string mine = encode(settings), my_hash = to_hex(sha256(PublicBytes(mine)));
  const std::vector<std::string> hashes = comm.all_gather(my_hash);
  // Every rank sees the same hashes: all find a difference, or none does.
  if (std::count(hashes.begin(), hashes.end(), my_hash) == std::ssize(hashes)) return;
  ConfigError error(fmt::format(
      "The ranks were started with different settings: {}. No record was read. Give every rank the "
      "same command line, configuration file and MUFFLE_* variables (mpirun -x exports a variable "
      "to all ranks).",
      fmt::join(differences(comm, settings, own), "; ")));
  error.mark_agreed(!comm.is_root());
  throw error;
}

}  // namespace muffle::comm
