#include "muffle/crypto/signature.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"

namespace muffle::crypto {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "muffle-signature";
constexpr int kVersion = 1;

/// What is signed. The first line keeps it apart from everything else that a site's key signs.
std::string signed_text(const std::string& signer, const std::string& artifact_sha256) {
  return fmt::format("muffle release signature {}\nsigner {}\nsha256 {}\n", kVersion, signer,
                     artifact_sha256);
}

/// Lower-case digits alone.
template <std::size_t kSize>
bool read_hex(const std::string& text, std::array<unsigned char, kSize>& out) {
  return from_hex(text, out) && to_hex(out) == text;
}

std::string render(const ReleaseSignature& s) {
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"signer", s.signer},
                     {"public_key", to_hex(s.key)},
                     {"artifact_sha256", s.artifact_sha256},
                     {"signature", to_hex(s.signature)}};
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

std::string text_at(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}

}  // namespace

std::filesystem::path signature_file(const std::filesystem::path& release) {
  std::filesystem::path file = release;
  return file += ".sig";
}

std::string sign_release(const SiteKey& key, std::string_view release) {
  ReleaseSignature s{key.name(), key.public_key(), to_hex(sha256(release)), {}};
  s.signature = key.sign(signed_text(s.signer, s.artifact_sha256));
  return render(s);
}

ReleaseSignature parse_signature(std::string_view text, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    return ProtocolError(
        fmt::format("'{}' is not a signature that muffle can read: {}. Copy it again from where the release "
                    "was made; the job that made it writes the same signature once more.",
                    name, why));
  };
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || text_at(json, "format") != kFormat) throw refuse("it is no muffle-signature");
  const auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer() || *version != kVersion)
    throw refuse(fmt::format("this muffle reads version {}", kVersion));
  ReleaseSignature s;
  s.signer = text_at(json, "signer");
  s.artifact_sha256 = text_at(json, "artifact_sha256");
  Sha256Digest digest{};
  if (!valid_site_name(s.signer)) throw refuse("its signer's name is wrong");
  if (!read_hex(text_at(json, "public_key"), s.key))
    throw refuse("its public key is not 64 hexadecimal digits");
  if (!read_hex(s.artifact_sha256, digest)) throw refuse("its hash is not 64 hexadecimal digits");
  if (!read_hex(text_at(json, "signature"), s.signature))
    throw refuse("its signature is not 128 hexadecimal digits");
  if (render(s) != text) throw refuse("it is not spelt as muffle spells it");
  return s;
}

void check_signature(const ReleaseSignature& s, std::string_view release, const std::string& name) {
  if (const std::string hash = to_hex(sha256(release)); hash != s.artifact_sha256) {
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
