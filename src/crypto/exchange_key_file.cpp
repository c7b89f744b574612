// An X25519 key as its owner keeps it between a round's messages: "muffle-exchange-key 1", then its secret
// and public halves.
#include <fmt/format.h>
#include <sodium.h>

#include <array>

#include "muffle/core/error.hpp"
#include "muffle/crypto/pair_keys.hpp"
#include "muffle/crypto/secret_file.hpp"

namespace muffle::crypto {
namespace {

constexpr std::string_view kBeforeSecret = "muffle-exchange-key 1\nsecret ", kBeforePublic = "\npublic ";
constexpr std::size_t kKeyBytes = 32, kDigits = 2 * kKeyBytes;

}  // namespace

ExchangeKey ExchangeKey::load(const std::filesystem::path& path) {
  SecretText file;
  read_secret_file(path, "the exchange key", file);
  const std::string_view text = file.text;
  const std::size_t public_at = kBeforeSecret.size() + kDigits + kBeforePublic.size();
  SecretBytes secret(kKeyBytes);
  ExchangePoint stated{};
  if (text.size() != public_at + kDigits + 1 || !text.starts_with(kBeforeSecret) ||
      text.substr(kBeforeSecret.size() + kDigits, kBeforePublic.size()) != kBeforePublic ||
      text.back() != '\n' ||
      !from_hex(text.substr(kBeforeSecret.size(), kDigits), {secret.get(), kKeyBytes}) ||
      !from_hex(text.substr(public_at, kDigits), stated))
    throw ConfigError(
        fmt::format("'{}' is not an exchange key's file: it was changed or cut off.", path.string()));
  ExchangeKey key(std::move(secret));
  if (key.point_ != stated)
    throw ConfigError(
        fmt::format("'{}' is not an exchange key's file: its public key does not belong to its secret key.",
                    path.string()));
  return key;
}

void ExchangeKey::save(const std::filesystem::path& path) const {
  require(static_cast<bool>(secret_),
          "an exchange key was used after it had been moved away: this is a bug in muffle.");
  SecretText file;
  std::array<char, kDigits + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), secret_.get(), kKeyBytes);
  file.text.reserve(512);  // so that no copy of the secret is left behind by growing
  file.text.append(kBeforeSecret)
      .append(hex.data())
      .append(kBeforePublic)
      .append(to_hex(point_))
      .append("\n");
  sodium_memzero(hex.data(), hex.size());
  write_secret_file(path, file.text, "the exchange key");
}

}  // namespace muffle::crypto
