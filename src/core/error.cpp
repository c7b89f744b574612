#include "muffle/core/error.hpp"

namespace muffle {

std::string_view describe(ExitCode code) {
  switch (code) {
    case ExitCode::kDone:
      return "done";
    case ExitCode::kInternal:
      return "internal error";
    case ExitCode::kUsage:
      return "usage";
    case ExitCode::kData:
      return "bad data or schema";
    case ExitCode::kPeer:
      return "a peer is missing";
    case ExitCode::kInvariant:
      return "an invariant broke";
    case ExitCode::kIo:
      return "input/output";
    case ExitCode::kStopped:
      return "stopped early with a checkpoint";
    case ExitCode::kProtocol:
      return "protocol, checksum or signature";
    case ExitCode::kBudget:
      return "privacy budget refused";
    case ExitCode::kConfig:
      return "configuration";
  }
  return "unknown";
}

Error::Error(ExitCode code, const std::string& message, std::source_location where)
    : std::runtime_error(message), code_(code), where_(where) {}

Error::Error(ExitCode code, const std::string& message, LocalDetail detail, std::source_location where)
    : std::runtime_error(message), code_(code), detail_(std::move(detail)), where_(where) {}

void require(bool holds, const std::string& message, std::source_location where) {
  if (!holds) throw InvariantError(message, where);
}

}  // namespace muffle
