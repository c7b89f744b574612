#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <optional>

#include "muffle/comm/messages.hpp"
#include "muffle/comm/termination.hpp"
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

/// "65\nhost\nd\nmessage", where d says that there are details; a rank without failure sends nothing.
std::string encode(const Failure& failure, const std::string& host) {
  return fmt::format("{}\n{}\n{}\n{}", static_cast<int>(failure.code), host, failure.detail.empty() ? 0 : 1,
                     failure.message);
}

struct Verdict {
  ExitCode code = ExitCode::kInternal;
  std::string host;
  bool has_detail = false;
  std::string message;
};

Verdict decode(const std::string& text) {
  const auto first = text.find('\n');
  const auto second = first == std::string::npos ? first : text.find('\n', first + 1);
  const auto third = second == std::string::npos ? second : text.find('\n', second + 1);
  int code = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + std::min(first, text.size()), code);
  require(third != std::string::npos && parsed.ec == std::errc(), "agree: a rank sent a malformed verdict");
  return {static_cast<ExitCode>(code), text.substr(first + 1, second - first - 1),
          text.substr(second + 1, third - second - 1) == "1", text.substr(third + 1)};
}

/// As the class that callers catch for this code.
[[noreturn]] void throw_with_code(ExitCode code, const std::string& message) {
  switch (code) {
    case ExitCode::kUsage:
      throw UsageError(message);
    case ExitCode::kData:
      throw DataError(message);
    case ExitCode::kPeer:
      throw CommError(message);
    case ExitCode::kInvariant:
      throw InvariantError(message);
    case ExitCode::kIo:
      throw IoError(message);
    case ExitCode::kProtocol:
      throw ProtocolError(message);
    case ExitCode::kBudget:
      throw PrivacyError(message);
    case ExitCode::kConfig:
      throw ConfigError(message);
    case ExitCode::kStopped:
      throw StoppedError(message);
    default:
      throw ErrorOf<ExitCode::kInternal>(message);
  }
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
        fmt::format("{} {} on rank {} (host {}): {}", what, stopped ? "ended early" : "failed", failed_rank,
                    verdict.host, verdict.message);
    if (verdict.has_detail) message += pointer_to_detail(failed_rank);
    if (mine) message += fmt::format(" Rank {} failed too: {}", rank, mine->message);
    throw_with_code(verdict.code, message);
  } catch (Error& e) {
    e.mark_agreed(/*quiet=*/rank != 0);  // rank 0 speaks for all
    throw;
  }
}

}  // namespace muffle::comm
