#include "muffle/crypto/masks.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "mask_stream.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/wipe.hpp"

namespace muffle::crypto {
namespace {

// Masks are added as 64-bit integers read from ChaCha20's bytes, and hellos are sent as they lie in memory:
// all parties must read them alike.
static_assert(std::endian::native == std::endian::little,
              "secure sums are written for little-endian machines");

constexpr std::size_t kKeyBytes = 32;
static_assert(crypto_scalarmult_BYTES == kKeyBytes && crypto_scalarmult_SCALARBYTES == kKeyBytes);
static_assert(kMaskKeyBytes == kKeyBytes);

/// What a party tells the others first. All of it is public, and all parties' hellos together are the
/// transcript that is signed.
struct Hello {
  std::array<char, 8> protocol{'m', 'f', 'l', 's', 'u', 'm', '0', '2'};
  std::uint32_t party = 0;
  std::uint32_t parties = 0;
  std::uint64_t length = 0;
  RoundId round{};                                   // SHA-256 of the proposal
  std::array<unsigned char, 32> roster{};            // SHA-256 of its text; zero if keys are not signed
  std::array<unsigned char, 32> nonce{};             // fresh random; party 0's names the exchange
  std::array<unsigned char, kKeyBytes> ephemeral{};  // fresh X25519 public key
};
static_assert(sizeof(Hello) == 8 + 4 + 4 + 8 + 4 * 32, "no padding: hellos are sent and hashed as they lie");

std::string to_bytes(const Hello& hello) { return {reinterpret_cast<const char*>(&hello), sizeof hello}; }

Hello parse_hello(const std::string& bytes, std::size_t party) {
  if (bytes.size() != sizeof(Hello)) {
    throw ProtocolError(
        fmt::format("party {} sent no greeting that this version of muffle understands: run the same version "
                    "at all parties.",
                    party));
  }
  Hello hello;
  std::memcpy(&hello, bytes.data(), sizeof hello);
  return hello;
}

/// BLAKE2b. @param key  empty: none
void hash(std::string_view text, std::span<const unsigned char> key, std::span<unsigned char> out) {
  crypto_generichash(out.data(), out.size(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     key.data(), key.size());
}

template <std::size_t kSize>
std::string text_of(const std::array<unsigned char, kSize>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), kSize};
}

/// What a party signs.
std::string signed_text(const Sha256Digest& transcript, std::size_t party) {
  return fmt::format("muffle secure sum signature 2\nparty {}\n", party) + text_of(transcript);
}

/// @throws ConfigError  the roster and this party's key do not belong to this run.
void require_own_place(const SiteIdentity& identity, int party, int parties) {
  identity.roster.require_parties(parties);
  const SignerKey& entry = identity.roster.at(party);
  if (entry.key != identity.key.public_key()) {
    throw ConfigError(fmt::format(
        "party {} belongs to site '{}' in the roster, with public key {}, but this party's site key "
        "is '{}', {}: give this party the right privacy.site_key, or correct the roster.",
        party, entry.name, to_hex(entry.key), identity.key.name(), to_hex(identity.key.public_key())));
  }
}

/// @throws ProtocolError  the parties do not mean the same sum, or this party's own words did not come
/// through.
void require_same_purpose(std::span<const std::string> hellos, const Hello& mine) {
  for (std::size_t r = 0; r < hellos.size(); ++r) {
    const Hello theirs = parse_hello(hellos[r], r);
    const auto differ = [&](const std::string& what) {
      throw ProtocolError(
          fmt::format("party {} takes part in another secure sum than party {}: {}. Nothing was "
                      "revealed. Start all parties anew with the same version, configuration "
                      "and roster.",
                      r, mine.party, what));
    };
    if (theirs.protocol != mine.protocol) differ("it speaks another version of the protocol");
    if (theirs.party != r || theirs.parties != mine.parties)
      differ("its place or the number of parties is wrong");
    if (theirs.length != mine.length)
      differ(fmt::format("{} numbers instead of {}", theirs.length, mine.length));
    if (theirs.round != mine.round) differ("it goes by another proposal");
    if (theirs.roster != mine.roster) differ("its site roster differs, or only one of them has one");
  }
  // Else this party would sign somebody else's key as its own.
  if (hellos[mine.party] != to_bytes(mine)) {
    throw ProtocolError(
        fmt::format("party {}'s own key came back changed: somebody between the parties changes "
                    "messages. Nothing was revealed.",
                    mine.party));
  }
}

void require_signatures(const SiteRoster& roster, std::span<const std::string> signatures,
                        const Sha256Digest& transcript) {
  for (std::size_t r = 0; r < signatures.size(); ++r) {
    const SignerKey& entry = roster.at(static_cast<int>(r));
    SiteSignature signature{};
    const bool whole = signatures[r].size() == signature.size();
    if (whole) std::memcpy(signature.data(), signatures[r].data(), signature.size());
    if (whole && verify(entry.key, signed_text(transcript, r), signature)) continue;
    throw ProtocolError(fmt::format(
        "the signature of party {} (site '{}', public key {}) {}: its key is not the roster's, or "
        "somebody between the parties changes messages. Nothing was revealed. Do not go on before "
        "you know which.",
        r, entry.name, to_hex(entry.key), whole ? "is wrong" : "is missing"));
  }
}

}  // namespace

KeyExchange::KeyExchange(const MaskSpec& spec) : spec_(spec) {
  require(sodium_init() >= 0, "libsodium could not be set up, so that no masks can be made.");
  require(spec.length <= kMaxMaskedLength, "a vector is too long for one secure sum.");
  if (spec.identity != nullptr) require_own_place(*spec.identity, spec.party, spec.parties);
  Hello mine;
  mine.party = static_cast<std::uint32_t>(spec.party);
  mine.parties = static_cast<std::uint32_t>(spec.parties);
  mine.length = spec.length;
  mine.round = spec.round;
  if (spec.identity != nullptr) mine.roster = spec.identity->roster.hash();
  randombytes_buf(mine.nonce.data(), mine.nonce.size());
  ephemeral_ = SecretBytes(kKeyBytes);
  randombytes_buf(ephemeral_.get(), kKeyBytes);
  require(crypto_scalarmult_base(mine.ephemeral.data(), ephemeral_.get()) == 0,
          "libsodium made no public key.");
  hello_ = to_bytes(mine);
}

std::string KeyExchange::sign(std::vector<std::string> hellos) {
  require(hellos.size() == static_cast<std::size_t>(spec_.parties),
          "a party's key is missing from those heard.");
  hellos_ = std::move(hellos);
  const auto party = static_cast<std::size_t>(spec_.party);
  require_same_purpose(hellos_, parse_hello(hello_, party));
  // Ties every later key and signature to this round: all parties' fresh keys, in order, with what they want.
  std::string transcript = "muffle secure sum transcript 2\n";
  for (const std::string& hello : hellos_) transcript += hello;  // of one length: parse_hello() saw to it
  hash(transcript, {}, transcript_);
  if (spec_.identity == nullptr) return {};
  return text_of(spec_.identity->key.sign(signed_text(transcript_, party)));
}

Masks KeyExchange::finish(std::span<const std::string> signatures) && {
  require(!hellos_.empty() && signatures.size() == hellos_.size(),
          "keys were to be used before they were compared: this is a bug in muffle.");
  if (spec_.identity != nullptr) require_signatures(spec_.identity->roster, signatures, transcript_);
  Masks masks;
  masks.party_ = static_cast<std::size_t>(spec_.party);
  masks.parties_ = hellos_.size();
  masks.length_ = spec_.length;
  masks.name_ = muffle::to_hex(parse_hello(hellos_[0], 0).nonce).substr(0, 16);
  SecretBytes keys(kKeyBytes * masks.parties_);
  const SecretBytes shared(kKeyBytes);
  const std::size_t me = masks.party_;
  for (std::size_t peer = 0; peer < masks.parties_; ++peer) {
    if (peer == me) continue;
    const Hello theirs = parse_hello(hellos_[peer], peer);
    // Zero for a point of small order, whose "secret" everybody knows: libsodium tells.
    if (crypto_scalarmult(shared.get(), ephemeral_.get(), theirs.ephemeral.data()) != 0) {
      throw ProtocolError(
          fmt::format("party {} sent an invalid key (a point of small order). Nothing was "
                      "revealed. That does not happen by chance: find out who sent it.",
                      peer));
    }
    const std::string purpose =
        fmt::format("muffle secure sum mask 2\nparties {} {}\n", std::min(me, peer), std::max(me, peer)) +
        text_of(transcript_);
    hash(purpose, {shared.get(), kKeyBytes}, {keys.get() + kKeyBytes * peer, kKeyBytes});
  }
  masks.keys_ = std::move(keys);
  hellos_.clear();
  ephemeral_.reset();
  return masks;
}

void Masks::apply(std::span<std::uint64_t> values) && {
  require(static_cast<bool>(keys_),
          "a secure sum was used twice, or without its keys, and masks never are: nothing was sent. Either "
          "this is a bug in muffle, or somebody between the parties changes messages.");
  require(values.size() == length_, fmt::format("a secure sum of {} numbers was given {}: this is a bug in "
                                                "muffle.",
                                                length_, values.size()));
  std::vector<std::uint64_t> stream(std::min(kMaskChunk, values.size()));
  for (std::size_t at = 0; at < values.size(); at += kMaskChunk) {
    const std::span<std::uint64_t> chunk = values.subspan(at, std::min(kMaskChunk, values.size() - at));
    for (std::size_t peer = 0; peer < parties_; ++peer) {
      if (peer != party_) mask_chunk(keys_.get() + kKeyBytes * peer, at, chunk, party_ < peer, stream);
    }
  }
  wipe(stream);
  keys_.reset();
}

}  // namespace muffle::crypto
