#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "muffle/crypto/pair_keys.hpp"
#include "muffle/release/membership.hpp"

namespace muffle::site {

// What a party of a consortium keeps in its own folder, whether it is a site, a key holder or the
// coordinator:
//   card.mfm              who it is, signed: for everybody
//   keys/                 secret; never leaves; mode 0700, with a CACHEDIR.TAG, so that backups leave it out
//     site.key            Ed25519: signs everything that the party says
//     box.key             X25519: what is for its eyes alone
//     round-keys/N.key    X25519: a key holder's key of one round; erased when it was used
//     shares/R16          its shares of the other key holders' keys in one round; erased after its release

/// A party's own folder, and its keys. Move-only. Not thread-safe.
class KeyStore {
 public:
  /// Makes the folder, keys and card. @param roles  the card's; its name and box are filled in
  /// @throws ConfigError  no site name; the folder has keys already. @throws IoError.
  static KeyStore make(const std::filesystem::path& folder, const std::string& name, release::Card roles);
  /// @throws ConfigError  no such folder; keys that others may use, or that are not the card's.
  /// @throws ProtocolError  the card is damaged. @throws IoError.
  static KeyStore open(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const crypto::SiteKey& key() const { return key_; }
  const release::Card& card() const { return card_; }
  /// The card's message, as everybody gets it.
  const std::string& card_bytes() const { return card_bytes_; }

  /// Makes kRoundKeysAtATime round keys, on the disk when this returns, with numbers that no key had before.
  /// @returns what the holder signs and publishes. @throws IoError.
  std::string make_round_keys();
  bool has_round_key(std::uint64_t number) const;
  /// @throws ConfigError  it is not there: erased after its round, lost, or never made.
  crypto::ExchangeKey round_key(std::uint64_t number) const;
  /// After its round: gone for good, as far as the disk lets go of it (crypto::erase_secret_file), under
  /// whatever number it lies. Under its own there may be another key, in a folder that was restored or mixed
  /// up: that stays; what is no key any more goes. Nothing if it is gone. @throws IoError.
  void erase_round_key(std::uint64_t number, const crypto::ExchangePoint& point) const;
  /// Where a key holder keeps its shares of a round's other keys (crypto::HeldShares), in a folder that is
  /// there when this returns. @throws IoError.
  std::filesystem::path shares_file(const crypto::RoundId& round) const;

 private:
  KeyStore(std::filesystem::path folder, crypto::SiteKey key, release::Card card, std::string card_bytes);
  std::filesystem::path round_key_file(std::uint64_t number) const;

  std::filesystem::path folder_;
  crypto::SiteKey key_;
  release::Card card_;
  std::string card_bytes_;
};

}  // namespace muffle::site
