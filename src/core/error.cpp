#include "muffle/core/error.hpp"

namespace muffle {

std::string_view describe(ExitCode code) {
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
  };
  for (const auto& [known, text] : kTexts) {
    if (known == code) return text;
  }
  return "unknown";
}

}  // namespace muffle
