#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace muffle {

/// Process exit codes (sysexits where they fit); scripts may rely on them (docs/reference/errors.md).
enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,    ///< a bug, or something nobody foresaw
  kUsage = 2,       ///< the command line is wrong
  kData = 65,       ///< a record file or a schema is wrong
  kPeer = 69,       ///< a rank or a site is missing, or a deadline passed
  kInvariant = 70,  ///< something that must always hold does not (a checked theorem, entropy failure)
  kIo = 74,         ///< a file or folder cannot be read or written
  kStopped = 75,    ///< stopped early with a checkpoint: run it again
  kProtocol = 76,   ///< an artifact's checksum, version, signature or a peer's message is wrong
  kBudget = 77,     ///< the privacy budget refuses
  kConfig = 78,     ///< the configuration is wrong
  kUnvouched = 79,  ///< a release is consistent, but nobody vouches for it
};

/// "bad data or schema" and so on: what docs and logs call the code.
inline std::string_view describe(ExitCode code) {
  using enum ExitCode;
  static constexpr std::pair<ExitCode, std::string_view> kTexts[] = {
      {kDone, "done"},
      {kInternal, "internal error"},
      {kUsage, "usage"},
      {kData, "bad data or schema"},
      {kPeer, "a peer is missing"},
      {kInvariant, "an invariant broke"},
      {kIo, "input/output"},
      {kStopped, "stopped early with a checkpoint"},
      {kProtocol, "protocol, checksum or signature"},
      {kBudget, "privacy budget refused"},
      {kConfig, "configuration"},
      {kUnvouched, "nobody vouches for the release"},
  };
  for (const auto& [known, text] : kTexts) {
    if (known == code) return text;
  }
  return "unknown";
}

/// What only the rank that throws may know about its private records: which record is bad, how many a file
/// holds; never a record's content. It goes to that rank's own log file (core/log.hpp, log_local) alone.
struct LocalDetail {
  std::string text;
};

/// Base of everything muffle throws on purpose. The message says what failed, where (file, rank, host), the
/// value seen and the likely fix. It is public, travels to every rank and console, and so holds nothing about
/// private records but that a file cannot be used; the rest is in the local detail.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message, LocalDetail detail = {},
        std::source_location where = std::source_location::current())
      : std::runtime_error(message), code_(code), detail_(std::move(detail)), where_(where) {}

  ExitCode code() const noexcept { return code_; }
  /// Where in muffle's source it was thrown; logged at debug level.
  const std::source_location& where() const noexcept { return where_; }
  /// Empty for most errors. For comm::agree, which logs it; never shown, sent or put into another error.
  const std::string& local_detail() const noexcept { return detail_.text; }

  /// Every rank has thrown an error of this code (comm::agree): no MPI_Abort is needed.
  bool agreed() const noexcept { return agreed_; }
  /// Its message stands on the console already, or another rank prints it; here it goes to the log file only.
  bool quiet() const noexcept { return quiet_; }
  /// @param quiet  another rank speaks; what is quiet already stays so
  Error& mark_agreed(bool quiet) noexcept {
    agreed_ = true;
    quiet_ = quiet_ || quiet;
    return *this;
  }
  /// Told already: by another rank, or on standard output.
  Error& mark_quiet() noexcept {
    quiet_ = true;
    return *this;
  }

 private:
  ExitCode code_;
  LocalDetail detail_;
  std::source_location where_;
  bool agreed_ = false;
  bool quiet_ = false;
};

/// One class per exit code, so that callers can catch by kind.
template <ExitCode kCode>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(const std::string& message, LocalDetail detail = {},
                   std::source_location where = std::source_location::current())
      : Error(kCode, message, std::move(detail), where) {}
};

using UsageError = ErrorOf<ExitCode::kUsage>;
using DataError = ErrorOf<ExitCode::kData>;
using CommError = ErrorOf<ExitCode::kPeer>;
using InvariantError = ErrorOf<ExitCode::kInvariant>;
using IoError = ErrorOf<ExitCode::kIo>;
using ProtocolError = ErrorOf<ExitCode::kProtocol>;
using PrivacyError = ErrorOf<ExitCode::kBudget>;
using ConfigError = ErrorOf<ExitCode::kConfig>;
using DeviceError = ErrorOf<ExitCode::kInternal>;

/// Throws InvariantError unless `holds`. For our own promises that must be checked in every build.
inline void require(bool holds, const std::string& message,
                    std::source_location where = std::source_location::current()) {
  if (!holds) throw InvariantError(message, {}, where);
}

}  // namespace muffle
