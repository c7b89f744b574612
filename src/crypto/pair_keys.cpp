#include "muffle/crypto/pair_keys.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "mask_stream.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/wipe.hpp"
#include "muffle/crypto/masks.hpp"

namespace muffle::crypto {
namespace {

constexpr std::size_t kBytes = 32;
constexpr std::size_t kNonce = crypto_aead_chacha20poly1305_IETF_NPUBBYTES;
static_assert(crypto_scalarmult_BYTES == kBytes && crypto_scalarmult_SCALARBYTES == kBytes);
static_assert(crypto_aead_chacha20poly1305_IETF_KEYBYTES == kBytes &&
              kNonce + crypto_aead_chacha20poly1305_IETF_ABYTES == PairKey::kBoxOverhead);

void set_up_sodium() {
  require(sodium_init() >= 0, "libsodium could not be set up, so that no masks can be made.");
}

template <std::size_t kSize>
void append(std::string& text, const std::array<unsigned char, kSize>& bytes) {
  text.append(reinterpret_cast<const char*>(bytes.data()), kSize);
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// BLAKE2b of public text under a secret key of kBytes.
void keyed_hash(const unsigned char* key, std::string_view text, std::span<unsigned char> out) {
  crypto_generichash(out.data(), out.size(), bytes_of(text), text.size(), key, kBytes);
}

/// What a key is derived for, after a first line of its own.
std::string derivation(std::string_view first_line, const PairContext& c) {
  std::string text(first_line);
  append(text, c.round);
  append(text, c.site);
  append(text, c.holder);
  append(text, c.site_point);
  append(text, c.holder_point);
  return text;
}

}  // namespace

ExchangeKey::ExchangeKey(SecretBytes secret) : secret_(std::move(secret)) {
  set_up_sodium();
  require(static_cast<bool>(secret_), "a key was to be made of nothing: this is a bug in muffle.");
  require(crypto_scalarmult_base(point_.data(), secret_.get()) == 0, "libsodium made no public key.");
}

ExchangeKey ExchangeKey::generate() {
  set_up_sodium();
  SecretBytes secret(kBytes);
  randombytes_buf(secret.get(), kBytes);
  return ExchangeKey(std::move(secret));
}

ExchangeKey ExchangeKey::for_vector(const RoundId& round, std::span<const std::uint64_t> bare) {
  set_up_sodium();
  const SecretBytes fresh(kBytes);
  randombytes_buf(fresh.get(), kBytes);
  return for_vector(round, bare, fresh);
}

ExchangeKey ExchangeKey::for_vector(const RoundId& round, std::span<const std::uint64_t> bare,
                                    const SecretBytes& fresh) {
  constexpr std::string_view kFirstLine = "muffle site exchange 1\n";
  set_up_sodium();
  SecretBytes secret(kBytes);
  crypto_generichash_state state;
  crypto_generichash_init(&state, fresh.get(), kBytes, kBytes);
  crypto_generichash_update(&state, bytes_of(kFirstLine), kFirstLine.size());
  crypto_generichash_update(&state, round.data(), round.size());
  const auto bytes = std::as_bytes(bare);
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  crypto_generichash_final(&state, secret.get(), kBytes);
  sodium_memzero(&state, sizeof state);
  return ExchangeKey(std::move(secret));
}

StreamKey::StreamKey(SecretBytes secret, const PairContext& context)
    : key_(std::move(secret)), context_(context) {}

PairCommitment StreamKey::commitment() const {
  require(static_cast<bool>(key_), "a pair's key was used after its stream: this is a bug in muffle.");
  std::string text = "muffle site commit 1\n";
  append(text, context_.round);
  append(text, context_.site);
  append(text, context_.holder);
  PairCommitment out;
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, out.size());
  crypto_generichash_update(&state, bytes_of(text), text.size());
  crypto_generichash_update(&state, key_.get(), kBytes);
  crypto_generichash_final(&state, out.data(), out.size());
  sodium_memzero(&state, sizeof state);
  return out;
}

void StreamKey::add_to(std::span<std::uint64_t> values) && {
  require(static_cast<bool>(key_),
          "a pair's stream was to be used twice, and masks never are: this is a bug in muffle.");
  require(values.size() <= kMaxMaskedLength, "a vector is too long to be masked.");
  Wiped<std::uint64_t> scratch{std::vector<std::uint64_t>(std::min(kMaskChunk, values.size()))};
  for (std::size_t at = 0; at < values.size(); at += kMaskChunk)
    mask_chunk(key_.get(), at, values.subspan(at, std::min(kMaskChunk, values.size() - at)), true,
               scratch.values);
  key_.reset();
}

PairKey::PairKey(const ExchangeKey& mine, const PairContext& context)
    : stream_(SecretBytes(kBytes), context), others_(2 * kBytes) {
  const bool is_site = mine.point() == context.site_point;
  require(is_site || mine.point() == context.holder_point,
          "a key of neither side was to make a pair's: this is a bug in muffle.");
  const ExchangePoint& theirs = is_site ? context.holder_point : context.site_point;
  const SecretBytes shared(kBytes);
  // Zero for a point of small order: libsodium tells.
  if (crypto_scalarmult(shared.get(), mine.secret_.get(), theirs.data()) != 0) {
    throw ProtocolError(
        "an exchange key is invalid (a point of small order), and would make masks that everybody knows. "
        "That does not happen by chance: find out who made it. Nothing was revealed.");
  }
  SecretBytes stream(kBytes);
  keyed_hash(shared.get(), derivation("muffle site mask 1\n", context), {stream.get(), kBytes});
  stream_ = StreamKey(std::move(stream), context);
  keyed_hash(shared.get(), derivation("muffle site mac 1\n", context), {others_.get(), kBytes});
  keyed_hash(shared.get(), derivation("muffle site share 1\n", context), {others_.get() + kBytes, kBytes});
}

PairMac PairKey::mac(std::string_view header) const {
  require(static_cast<bool>(others_), "a pair's key was used after its stream: this is a bug in muffle.");
  PairMac out;
  keyed_hash(others_.get(), header, out);
  return out;
}

bool PairKey::has_made(const PairMac& mac, std::string_view header) const {
  const PairMac own = this->mac(header);
  return sodium_memcmp(own.data(), mac.data(), own.size()) == 0;
}

// The nonce is a hash of what is sealed: a machine that was restored, and makes the same key again, seals the
// same alike, and anything else under another nonce.
std::string PairKey::box(std::span<const unsigned char> secret) const {
  require(static_cast<bool>(others_), "a pair's key was used after its stream: this is a bug in muffle.");
  const unsigned char* const key = others_.get() + kBytes;
  std::string out(secret.size() + kBoxOverhead, '\0');
  auto* const nonce = reinterpret_cast<unsigned char*>(out.data());
  SecretBytes hash(kBytes);
  crypto_generichash(hash.get(), kBytes, secret.data(), secret.size(), key, kBytes);
  std::memcpy(nonce, hash.get(), kNonce);
  crypto_aead_chacha20poly1305_ietf_encrypt(nonce + kNonce, nullptr, secret.data(), secret.size(), nullptr, 0,
                                            nullptr, nonce, key);
  return out;
}

bool PairKey::open_box(std::string_view box, std::span<unsigned char> into) const {
  require(static_cast<bool>(others_), "a pair's key was used after its stream: this is a bug in muffle.");
  if (box.size() != into.size() + kBoxOverhead) return false;
  const unsigned char* const nonce = bytes_of(box);
  return crypto_aead_chacha20poly1305_ietf_decrypt(into.data(), nullptr, nullptr, nonce + kNonce,
                                                   box.size() - kNonce, nullptr, 0, nonce,
                                                   others_.get() + kBytes) == 0;
}

void PairKey::add_to(std::span<std::uint64_t> values) && {
  std::move(stream_).add_to(values);
  others_.reset();
}

}  // namespace muffle::crypto
