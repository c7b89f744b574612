// parse_artifact, what is made of an artifact, and `muffle verify`. Input: fuzz::container_file().
#include <cmath>
#include <optional>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/embed/artifact.hpp"
#include "muffle/embed/noisy_moments.hpp"
#include "muffle/embed/verification.hpp"

namespace {

using namespace muffle;

constexpr std::size_t kMostFrequencies = 1 << 12;

std::optional<embed::Artifact> parse(const std::string& bytes) {
  try {
    return embed::parse_artifact(bytes, "release.mfl");
  } catch (const ProtocolError&) {
    return std::nullopt;
  }
}

void use_moments(const embed::Artifact& artifact) {
  const auto block = artifact.find("moments");
  if (!block || numbers_in_map(artifact.blocks[*block].spec) > kMostFrequencies) return;
  try {
    const embed::NoisyMoments m = embed::make_noisy_moments(artifact);
    fuzz::demand(m.second.size() == m.classes * m.order * m.order && m.records >= 1 && m.noise_diagonal > 0,
                 "the moments have the release's shape");
    for (const double v : m.second) fuzz::demand(std::isfinite(v), "moments are numbers");
  } catch (const DataError&) {      // traces that sum to nothing
  } catch (const ProtocolError&) {  // another lift
  }
}

void use(const embed::Artifact& artifact) {
  try {
    const embed::Target target = embed::make_target(artifact);
    const auto block = artifact.find("rff");
    fuzz::demand(block && target.mean_embedding.size() == artifact.classes() * artifact.features(*block),
                 "the target has the release's shape");
  } catch (const DataError&) {  // counts that sum to nothing
  } catch (const ConfigError&) {
    fuzz::demand(!artifact.find("rff"), "the target needs random Fourier features alone");
  }
  use_moments(artifact);
  fuzz::demand(!embed::privacy_statement_json(artifact).empty(), "a statement");
  fuzz::demand(!embed::privacy_statement_text(artifact).empty(), "a statement");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = fuzz::container_file(data, size);
  const auto artifact = parse(bytes);
  if (artifact) use(*artifact);

  embed::Evidence evidence;
  evidence.name = "release.mfl";
  evidence.release = bytes;
  evidence.most_frequencies = kMostFrequencies;
  const embed::Verification verification = embed::verify_release(evidence);
  if (!artifact)
    fuzz::demand(verification.code() == ExitCode::kProtocol, "verify refuses what readers refuse");
  for (const embed::Check& check : verification.checks) {
    const bool failed = check.outcome == embed::Check::Outcome::kFail;
    fuzz::demand(!(artifact && failed) || check.name == "feature maps" || check.name == "secure noise",
                 "the two arithmetics agree");
  }
  const std::string text = embed::verification_text(verification);
  unsigned char before = 0;
  for (const unsigned char c : text) {
    fuzz::demand((c >= 0x20 && c != 0x7F) || c == '\n', "no control characters");
    fuzz::demand(!(before == 0xC2 && c >= 0x80 && c <= 0x9F), "nor those of C1");
    before = c;
  }
  fuzz::demand(!embed::verification_json(verification).empty(), "a report");
  return 0;
}
