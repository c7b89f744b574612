#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/release/artifact.hpp"

namespace muffle::release {

struct Check;

/// A file of the folder of a round's messages, by its name; none: it is not there.
/// @param most  bytes that it may have. @throws IoError, ProtocolError.
using EvidenceReader = std::function<std::optional<std::string>(const std::string& name, std::uint64_t most)>;
/// Of a folder. @throws IoError  there is none.
EvidenceReader evidence_in(const std::string& folder);

/// Adds a release up again from the messages that it was made of, bit for bit, and compares everything that
/// it states of its round with what was signed: who was invited, whose contributions count, under which
/// noise, who opened the sum, and the coordinator's word. Reads one vector at a time. Never throws for what
/// the bytes hold.
/// @param artifact, release  the release, and its bytes
/// @param signers  gets the public keys, in hex, of all whose signatures the release rests upon
std::vector<Check> check_evidence(const Artifact& artifact, std::string_view release,
                                  const EvidenceReader& read, std::vector<std::string>& signers);

}  // namespace muffle::release
