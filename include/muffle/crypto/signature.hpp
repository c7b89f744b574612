#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "muffle/crypto/site_keys.hpp"

namespace muffle::crypto {

/// Who released a file: a detached signature in FILE.sig (docs/reference/artifact-format.md). The release
/// itself stays as it is, so that a requeued job finds the same bytes; Ed25519 is deterministic, so that the
/// same key makes the same signature of them again. Public.
struct ReleaseSignature {
  std::string signer;  ///< the key's name, as its holder chose it; signed too
  SitePublicKey key{};
  std::string artifact_sha256;  ///< of the whole release file, hexadecimal
  SiteSignature signature{};
};

/// FILE.sig of FILE.
std::filesystem::path signature_file(const std::filesystem::path& release);

/// The signature file's text for these bytes of a release. @throws InvariantError  a moved-away key.
std::string sign_release(const SiteKey& key, std::string_view release);

/// Accepts exactly what sign_release writes (no other spelling, so that no byte of the file is loose); does
/// not verify. @param name  what messages call the text. @throws ProtocolError.
ReleaseSignature parse_signature(std::string_view text, const std::string& name);

/// @throws ProtocolError  the signature is of other bytes, or not its key's.
void check_signature(const ReleaseSignature& signature, std::string_view release, const std::string& name);

}  // namespace muffle::crypto
