// parse_artifact, what is made of an artifact, and `muffle verify`.
// Input: 'R' and a file; or 'H', a piece that is the header, and the payload: then the checksum is right.
#include <optional>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/embed/artifact.hpp"
#include "muffle/embed/verification.hpp"

namespace {

using namespace muffle;

std::string wrap(std::string_view header, std::string_view payload) {
  std::string out = "MUFFLE\r\n";
  const auto put = [&](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  };
  put(1, 4);
  put(header.size(), 4);
  out += header;
  put(payload.size(), 8);
  out += payload;
  const Sha256Digest digest = sha256(out);
  return out.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

std::optional<embed::Artifact> parse(const std::string& bytes) {
  try {
    return embed::parse_artifact(bytes, "release.mfl");
  } catch (const ProtocolError&) {
    return std::nullopt;
  }
}

void use(const embed::Artifact& artifact) {
  try {
    const embed::Target target = embed::make_target(artifact);
    fuzz::demand(target.mean_embedding.size() == artifact.classes() * artifact.features(),
                 "the target has the release's shape");
  } catch (const DataError&) {  // counts that sum to nothing
  }
  fuzz::demand(!embed::privacy_statement_json(artifact).empty(), "a statement");
  fuzz::demand(!embed::privacy_statement_text(artifact).empty(), "a statement");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  std::string bytes;
  if (input.byte() == 'R') {
    bytes = input.rest();
  } else {
    const std::string_view header = input.piece();
    bytes = wrap(header, input.rest());
  }
  const auto artifact = parse(bytes);
  if (artifact) use(*artifact);

  embed::Evidence evidence;
  evidence.name = "release.mfl";
  evidence.release = bytes;
  evidence.most_frequencies = 1 << 12;
  const embed::Verification verification = embed::verify_release(evidence);
  if (!artifact)
    fuzz::demand(verification.code() == ExitCode::kProtocol, "verify refuses what readers refuse");
  for (const embed::Check& check : verification.checks) {
    const bool failed = check.outcome == embed::Check::Outcome::kFail;
    fuzz::demand(!(artifact && failed) || check.name == "frequencies" || check.name == "secure noise",
                 "the two arithmetics agree");
  }
  const std::string text = embed::verification_text(verification);
  for (const unsigned char c : text)
    fuzz::demand((c >= 0x20 && c != 0x7F) || c == '\n', "no control characters");
  fuzz::demand(!embed::verification_json(verification).empty(), "a report");
  return 0;
}
