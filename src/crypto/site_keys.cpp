#include "muffle/crypto/site_keys.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <ostream>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/secret_file.hpp"

namespace muffle::crypto {
namespace {

constexpr std::string_view kFirstLine = "muffle-site-key 1";
constexpr std::size_t kSeedBytes = crypto_sign_ed25519_SEEDBYTES;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr int kMaxParties = 1 << 20;
static_assert(sizeof(SitePublicKey) == crypto_sign_ed25519_PUBLICKEYBYTES);
static_assert(sizeof(SiteSignature) == crypto_sign_ed25519_BYTES);

void set_up_sodium() {
  require(sodium_init() >= 0, "libsodium could not be set up, so that no key can be made or used.");
}

/// The words of a line, split at blanks.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Calls take(line number, line) for every line.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(number, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

const unsigned char* bytes_of(std::string_view message) {
  return reinterpret_cast<const unsigned char*>(message.data());
}

[[noreturn]] void not_a_key_file(const std::string& source, const std::string& why) {
  throw ConfigError(
      fmt::format("'{}' is not a site's key file: {}. `muffle keygen` makes them.", source, why));
}

}  // namespace

bool from_hex(std::string_view hex, std::span<unsigned char> out) {
  std::size_t length = 0;
  const char* end = nullptr;
  return hex.size() == 2 * out.size() &&
         sodium_hex2bin(out.data(), out.size(), hex.data(), hex.size(), nullptr, &length, &end) == 0 &&
         length == out.size() && end == hex.data() + hex.size();
}

bool verify(const SitePublicKey& key, std::string_view message, const SiteSignature& signature) {
  set_up_sodium();
  return crypto_sign_ed25519_verify_detached(signature.data(), bytes_of(message), message.size(),
                                             key.data()) == 0;
}

bool valid_site_name(std::string_view name) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= 64 && alphanumeric(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

void SecretBytes::Free::operator()(unsigned char* secret) const noexcept { sodium_free(secret); }

SecretBytes::SecretBytes(std::size_t bytes) {
  set_up_sodium();
  bytes_.reset(static_cast<unsigned char*>(sodium_malloc(bytes)));
  require(bytes_ != nullptr, "no locked memory was left for a secret key.");
}

SiteKey::SiteKey(std::string name, const unsigned char* seed)
    : name_(std::move(name)), secret_(crypto_sign_ed25519_SECRETKEYBYTES) {
  require(crypto_sign_ed25519_seed_keypair(public_.data(), secret_.get(), seed) == 0,
          "libsodium made no key of a seed.");
}

SiteKey SiteKey::generate(const std::string& name) {
  if (!valid_site_name(name)) {
    throw ConfigError(
        fmt::format("'{}' is no site name: use 1 to 64 letters, digits, '.', '_' and '-', beginning with a "
                    "letter or a digit.",
                    name));
  }
  const SecretBytes seed(kSeedBytes);
  randombytes_buf(seed.get(), kSeedBytes);
  return {name, seed.get()};
}

SiteKey SiteKey::parse(std::string_view text, const std::string& source) {
  std::optional<std::string_view> site, secret, public_key;
  bool first = false;
  for_each_line(text, [&](int number, std::string_view line) {
    if (number == 1) {
      first = line == kFirstLine;
      return;
    }
    const auto words = words_of(line);
    if (words.empty()) return;
    auto* const field = words[0] == "site"     ? &site
                        : words[0] == "secret" ? &secret
                        : words[0] == "public" ? &public_key
                                               : nullptr;
    // The line is not shown: it may hold the secret.
    if (field == nullptr || *field || words.size() != 2)
      not_a_key_file(source, fmt::format("line {} is wrong", number));
    *field = words[1];
  });
  if (!first) not_a_key_file(source, fmt::format("it does not begin with '{}'", kFirstLine));
  if (!site || !secret || !public_key)
    not_a_key_file(source, "a line of 'site', 'secret', 'public' is missing");
  if (!valid_site_name(*site)) not_a_key_file(source, "its site name is wrong");
  const SecretBytes seed(kSeedBytes);
  SitePublicKey stated{};
  if (!from_hex(*secret, {seed.get(), kSeedBytes}) || !from_hex(*public_key, stated))
    not_a_key_file(source, "its keys are not 64 hexadecimal digits");
  SiteKey key(std::string(*site), seed.get());
  if (key.public_ != stated) not_a_key_file(source, "its public key does not belong to its secret key");
  return key;
}

SiteKey SiteKey::load(const std::filesystem::path& path) {
  SecretText file;
  read_secret_file(path, "the site key", file);
  return parse(file.text, path.string());
}

SiteSignature SiteKey::sign(std::string_view message) const {
  SiteSignature signature{};
  require(static_cast<bool>(secret_),
          "a site key was used after it had been moved away: this is a bug in muffle.");
  require(crypto_sign_ed25519_detached(signature.data(), nullptr, bytes_of(message), message.size(),
                                       secret_.get()) == 0,
          "libsodium refused to sign.");
  return signature;
}

void SiteKey::save(const std::filesystem::path& path) const {
  require(static_cast<bool>(secret_),
          "a site key was used after it had been moved away: this is a bug in muffle.");
  SecretText file;
  std::array<char, 2 * kSeedBytes + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), secret_.get(), kSeedBytes);
  file.text.reserve(512);  // so that no copy of the secret is left behind by growing
  file.text.append(kFirstLine).append("\nsite ").append(name_).append("\nsecret ").append(hex.data());
  file.text.append("\npublic ").append(to_hex(public_)).append("\n");
  sodium_memzero(hex.data(), hex.size());

  write_secret_file(path, file.text, "the site key");
}

void make_site_key(const std::filesystem::path& folder, const std::string& name, std::ostream& out) {
  const SiteKey key = SiteKey::generate(name);
  ensure_writable_folder(folder);
  const auto secret = folder / (name + ".key"), open = folder / (name + ".pub");
  // A public key without its secret would go into rosters and lock the site out.
  if (watched::exists(open)) {
    throw IoError(
        fmt::format("'{}' is there already, and a key is never overwritten: choose another folder or "
                    "name.",
                    open.string()));
  }
  key.save(secret);
  write_file_atomically(open, fmt::format("{} {}\n", key.name(), to_hex(key.public_key())));
  out << fmt::format(
      "secret key  {}  (keep it on this site; readable by its owner only)\n"
      "public key  {}  {}\n"
      "A line of the site roster is the party's number, then the public key file's line: 0 {} {}\n",
      secret.string(), open.string(), to_hex(key.public_key()), key.name(), to_hex(key.public_key()));
}

SiteRoster SiteRoster::parse(std::string_view text, const std::string& source) {
  SiteRoster roster;
  std::vector<std::pair<int, SignerKey>> found;
  for_each_line(text, [&](int number, std::string_view line) {
    const auto fail = [&](const std::string& why) {
      throw ConfigError(
          fmt::format("{} line {}: {}. Each line says: PARTY SITE PUBLIC-KEY, such as '0 clinic "
                      "3b6a27...' with the key from the site's .pub file.",
                      source, number, why));
    };
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) return;
    if (words.size() != 3) fail(fmt::format("{} words instead of 3", words.size()));
    int party = -1;
    const auto parsed = std::from_chars(words[0].data(), words[0].data() + words[0].size(), party);
    if (parsed.ec != std::errc() || parsed.ptr != words[0].data() + words[0].size() || party < 0 ||
        party >= kMaxParties)
      fail("the first word is no party's number");
    if (!valid_site_name(words[1])) fail("the second word is not a site name");
    SignerKey entry{std::string(words[1]), {}};
    if (!from_hex(words[2], entry.key)) fail("the third word is not 64 hexadecimal digits");
    for (const auto& [other_party, other] : found) {
      if (other_party == party) fail(fmt::format("party {} is listed twice", party));
      if ((other.name == entry.name) != (other.key == entry.key))
        fail(fmt::format("sites '{}' and '{}' share a name or a key, but not both", other.name, entry.name));
    }
    found.emplace_back(party, std::move(entry));
  });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [party, entry] : found) {
    if (party != roster.parties())
      throw ConfigError(fmt::format("{}: party {} is missing from the roster.", source, roster.parties()));
    roster.entries_.push_back(std::move(entry));
  }
  if (roster.entries_.empty()) throw ConfigError(fmt::format("{}: the roster lists no party.", source));
  return roster;
}

SiteRoster SiteRoster::load(const std::filesystem::path& path) {
  return parse(read_file(path, kMaxFileBytes), path.string());
}

void SiteRoster::require_parties(int taking_part) const {
  if (parties() == taking_part) return;
  throw ConfigError(
      fmt::format("the site roster lists {} parties, but {} take part: every one needs its line.", parties(),
                  taking_part));
}

std::map<std::string, int> SiteRoster::parties_by_site() const {
  std::map<std::string, int> parties;
  for (const SignerKey& entry : entries_) ++parties[entry.name];
  return parties;
}

Sha256Digest SiteRoster::hash() const {
  Sha256 hash;
  for (int party = 0; party < parties(); ++party)
    hash.update(PublicBytes(fmt::format("{} {} {}\n", party, at(party).name, to_hex(at(party).key))));
  return hash.digest();
}

SignerKey parse_signer_key(std::string_view text, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    throw ConfigError(fmt::format(
        "'{}' is not a public key file: {}. It has one line, SITE PUBLIC-KEY, such as 'clinic 3b6a27...' (a "
        "roster's line without its number).",
        name, why));
  };
  SignerKey out;
  for_each_line(text, [&](int, std::string_view line) {
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) return;
    if (!out.name.empty()) refuse("it has more than one line");
    if (words.size() != 2) refuse("its line is not two words");
    if (!valid_site_name(words[0])) refuse("the first word is not a site name");
    if (!from_hex(words[1], out.key) || to_hex(out.key) != words[1])
      refuse("the second word is not 64 lower-case hexadecimal digits");
    out.name = words[0];
  });
  if (out.name.empty()) refuse("it is empty");
  return out;
}

}  // namespace muffle::crypto
