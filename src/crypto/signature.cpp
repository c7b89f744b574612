#include "muffle/crypto/signature.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/json_text.hpp"

namespace muffle::crypto {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSignatureFormat = "muffle-signature";
constexpr int kVersion = 1;

/// What is signed. The first line keeps it apart from everything else that a site's key signs.
std::string signed_text(const std::string& signer, const std::string& artifact_sha256) {
  return fmt::format("muffle release signature {}\nsigner {}\nsha256 {}\n", kVersion, signer,
                     artifact_sha256);
}

std::string render(const ReleaseSignature& s) {
  const Json json = {{"format", kSignatureFormat},
                     {"version", kVersion},
                     {"signer", s.signer},
                     {"public_key", to_hex(s.key)},
                     {"artifact_sha256", s.artifact_sha256},
                     {"signature", to_hex(s.signature)}};
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::filesystem::path signature_file(const std::filesystem::path& release) {
  std::filesystem::path file = release;
  return file += ".sig";
}

std::string sign_release(const SiteKey& key, std::string_view release) {
  ReleaseSignature s{key.name(), key.public_key(), to_hex(sha256(PublicBytes(release))), {}};
  s.signature = key.sign(signed_text(s.signer, s.artifact_sha256));
  return render(s);
}

ReleaseSignature parse_signature(std::string_view text, const std::string& name) {
  const JsonDocument document{name, "a signature that muffle can read",
                              "Copy it again from where the release was made; the job that made it writes "
                              "the same signature once more."};
  const auto json = parse_json(text);
  const JsonFields f(json, document);
  (void)f.choice("format", {kSignatureFormat});
  if (f.at("version") != kVersion)
    f.fail("version", fmt::format("is another than this muffle reads, version {}", kVersion));
  ReleaseSignature s;
  s.signer = f.text("signer", 64);
  if (!valid_site_name(s.signer)) f.fail("signer", "is no name of a site");
  (void)from_hex(f.hex("public_key", 64), s.key);
  s.artifact_sha256 = f.hex("artifact_sha256", 64);
  (void)from_hex(f.hex("signature", 128), s.signature);
  if (render(s) != text) f.fail("", "is not spelt as muffle spells it");
  return s;
}

void check_signature(const ReleaseSignature& s, std::string_view release, const std::string& name) {
  if (const std::string hash = to_hex(sha256(PublicBytes(release))); hash != s.artifact_sha256) {
    throw ProtocolError(fmt::format(
        "the signature of '{}' is of another file: it names SHA-256 {}, and this file has {}. The file was "
        "changed after it was signed, or the two do not belong together: use neither.",
        name, s.artifact_sha256, hash));
  }
  if (!verify(s.key, signed_text(s.signer, s.artifact_sha256), s.signature)) {
    throw ProtocolError(
        fmt::format("the signature of '{}' is forged or damaged: it is not one of '{}' with public key {}.",
                    name, s.signer, to_hex(s.key)));
  }
}

}  // namespace muffle::crypto
