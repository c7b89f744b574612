// Shamir's shares of a stream's key, by libgfshare. What a key holder keeps of them.
#include "muffle/crypto/key_shares.hpp"

#include <fmt/format.h>
#include <sodium.h>
extern "C" {  // which its header leaves out
#include <libgfshare.h>
}

#include <algorithm>
#include <cstring>
#include <memory>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/secret_file.hpp"

namespace muffle::crypto {
namespace {

constexpr std::size_t kShareBytes = 32, kMostParties = 255;

struct Free {
  void operator()(gfshare_ctx* context) const noexcept { gfshare_ctx_free(context); }
};
using Context = std::unique_ptr<gfshare_ctx, Free>;

/// Before any context is made, and freed: libgfshare has no source of its own, and overwrites what it frees.
void set_up_sharing() {
  static const bool kDone = [] {
    require(sodium_init() >= 0, "libsodium could not be set up, so that no keys can be shared.");
    gfshare_fill_rand = [](unsigned char* out, unsigned int count) { randombytes_buf(out, count); };
    return true;
  }();
  (void)kDone;
}

/// As libgfshare numbers them: nobody has 0, where the secret is.
std::vector<unsigned char> numbers_of(std::size_t parties) {
  std::vector<unsigned char> out(parties);
  for (std::size_t p = 0; p < parties; ++p) out[p] = static_cast<unsigned char>(p + 1);
  return out;
}

constexpr std::string_view kFormat = "muffle-key-shares 1\n";
constexpr std::size_t kMostFileBytes = std::size_t{1} << 26;

}  // namespace

SecretBytes StreamKey::split(std::size_t parties, std::size_t least) const {
  require(static_cast<bool>(key_),
          "a pair's key was to be shared after its stream: this is a bug in muffle.");
  require(least >= 2 && least <= parties && parties <= kMostParties,
          "a key was to be shared among another number of parties than can be: this is a bug in muffle.");
  set_up_sharing();
  std::vector<unsigned char> numbers = numbers_of(parties);
  const Context context(gfshare_ctx_init_enc(numbers.data(), static_cast<unsigned>(parties),
                                             static_cast<unsigned char>(least), kShareBytes));
  require(context != nullptr, "there is no memory to share a key.");
  gfshare_ctx_enc_setsecret(context.get(), key_.get());
  SecretBytes out(parties * kShareBytes);
  for (std::size_t p = 0; p < parties; ++p)
    gfshare_ctx_enc_getshare(context.get(), static_cast<unsigned char>(p), out.get() + p * kShareBytes);
  return out;
}

StreamKey StreamKey::rebuild(std::span<const Share> shares, const PairContext& pair) {
  set_up_sharing();
  std::vector<unsigned char> numbers;
  for (const Share& share : shares) {
    require(share.party < kMostParties, "a share is of nobody: this is a bug in muffle.");
    numbers.push_back(static_cast<unsigned char>(share.party + 1));
    require(std::ranges::count(numbers, numbers.back()) == 1,
            "a key was to be made of one party's share twice: this is a bug in muffle.");
  }
  require(!numbers.empty(), "a key was to be made of no shares: this is a bug in muffle.");
  const Context context(
      gfshare_ctx_init_dec(numbers.data(), static_cast<unsigned>(numbers.size()), kShareBytes));
  require(context != nullptr, "there is no memory to make a key of its shares.");
  for (std::size_t s = 0; s < shares.size(); ++s) {
    std::array<unsigned char, kShareBytes> bytes = shares[s].bytes;
    gfshare_ctx_dec_giveshare(context.get(), static_cast<unsigned char>(s), bytes.data());
    sodium_memzero(bytes.data(), bytes.size());
  }
  SecretBytes key(kShareBytes);
  gfshare_ctx_dec_extract(context.get(), key.get());
  return {std::move(key), pair};
}

HeldShares::HeldShares(const Sha256Digest& seal, std::size_t sites, std::size_t holders)
    : seal_(seal), sites_(sites), holders_(holders), bytes_(sites * holders * kShareBytes) {
  std::memset(bytes_.get(), 0, sites * holders * kShareBytes);
}

std::span<unsigned char> HeldShares::at(std::size_t site, std::size_t holder) {
  require(site < sites_ && holder < holders_, "a share of nobody was asked for: this is a bug in muffle.");
  return {bytes_.get() + (site * holders_ + holder) * kShareBytes, kShareBytes};
}

StreamKey::Share HeldShares::share(std::size_t own, std::size_t site, std::size_t holder) const {
  require(site < sites_ && holder < holders_, "a share of nobody was asked for: this is a bug in muffle.");
  StreamKey::Share out{own, {}};
  std::memcpy(out.bytes.data(), bytes_.get() + (site * holders_ + holder) * kShareBytes, kShareBytes);
  return out;
}

void HeldShares::save(const std::filesystem::path& path) const {
  SecretText file;
  file.text.reserve(sites_ * holders_ * kShareBytes + 256);  // so that growing leaves no copy behind
  file.text.append(kFormat).append(to_hex(seal_)).append("\n");
  file.text.append(reinterpret_cast<const char*>(bytes_.get()), sites_ * holders_ * kShareBytes);
  replace_secret_file(path, file.text, "the shares of the round's keys");
}

HeldShares HeldShares::load(const std::filesystem::path& path, const Sha256Digest& seal, std::size_t sites,
                            std::size_t holders) {
  SecretText file;
  read_secret_file(path, "the shares of the round's keys", file, kMostFileBytes);
  const std::string first = std::string(kFormat) + to_hex(seal) + "\n";
  HeldShares out(seal, sites, holders);
  if (file.text.size() != first.size() + sites * holders * kShareBytes || !file.text.starts_with(first))
    throw ConfigError(
        fmt::format("'{}' does not hold this seal's shares: it was changed, cut off, or is of another seal.",
                    path.string()));
  std::memcpy(out.bytes_.get(), file.text.data() + first.size(), sites * holders * kShareBytes);
  return out;
}

}  // namespace muffle::crypto
