// parse_artifact, what is made of an artifact, and `muffle verify`. Input: fuzz::container_file().
#include <cmath>
#include <optional>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "muffle/release/verification.hpp"

namespace {

using namespace muffle;

constexpr std::size_t kMostFrequencies = 1 << 12;

std::optional<release::Artifact> parse(const std::string& bytes) {
  try {
    return release::parse_artifact(bytes, "release.mfl");
  } catch (const ProtocolError&) {
    return std::nullopt;
  }
}

void use_moments(const release::Artifact& artifact, std::size_t b) {
  if (artifact.maps[b].map->numbers_in_map() > kMostFrequencies) return;
  try {
    const release::NoisyMoments m = release::make_noisy_moments(artifact);
    fuzz::demand(m.second.size() == m.classes * m.order * m.order && m.records >= 1 && m.noise_diagonal > 0,
                 "the moments have the release's shape");
    for (const double v : m.second) fuzz::demand(std::isfinite(v), "moments are numbers");
  } catch (const DataError&) {      // traces that sum to nothing
  } catch (const ProtocolError&) {  // another lift
  }
}

void use_tables(const release::Artifact& artifact) {
  try {
    const release::NoisyTables all = release::make_noisy_tables(artifact);
    fuzz::demand(all.records >= 1, "there are records");
    for (const release::NoisyTable& table : all.tables) {
      fuzz::demand(table.counts.size() == all.classes * table.cells() && table.sigma > 0,
                   "tables have their shape");
      for (const double v : table.counts) fuzz::demand(std::isfinite(v), "counts are numbers");
    }
  } catch (const ConfigError&) {    // there are none
  } catch (const ProtocolError&) {  // another map
  }
}

void use(const release::Artifact& artifact) {
  try {
    fuzz::demand(release::make_target(artifact).column_weight.size() == artifact.classes(),
                 "the target has the release's classes");
  } catch (const DataError&) {  // counts that sum to nothing
  }
  if (const auto b = artifact.second_moments()) use_moments(artifact, *b);
  use_tables(artifact);
  fuzz::demand(!release::privacy_statement_json(artifact).empty(), "a statement");
  fuzz::demand(!release::privacy_statement_text(artifact).empty(), "a statement");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = fuzz::container_file(data, size);
  const auto artifact = parse(bytes);
  if (artifact) use(*artifact);

  release::Evidence evidence;
  evidence.name = "release.mfl";
  evidence.release = bytes;
  evidence.most_frequencies = kMostFrequencies;
  const release::Verification verification = release::verify_release(evidence);
  if (!artifact)
    fuzz::demand(verification.code() == ExitCode::kProtocol, "verify refuses what readers refuse");
  for (const release::Check& check : verification.checks) {
    const bool failed = check.outcome == release::Check::Outcome::kFail;
    fuzz::demand(!(artifact && failed) || check.name == "feature maps" || check.name == "secure noise",
                 "the two arithmetics agree");
  }
  const std::string text = release::verification_text(verification);
  unsigned char before = 0;
  for (const unsigned char c : text) {
    fuzz::demand((c >= 0x20 && c != 0x7F) || c == '\n', "no control characters");
    fuzz::demand(!(before == 0xC2 && c >= 0x80 && c <= 0x9F), "nor those of C1");
    before = c;
  }
  fuzz::demand(!release::verification_json(verification).empty(), "a report");
  return 0;
}
