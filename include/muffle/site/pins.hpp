#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "muffle/crypto/fingerprint.hpp"
#include "muffle/release/membership.hpp"

namespace muffle::site {

/// Whom a site knows: keys whose fingerprints a person has compared with their holders, over a channel that
/// the coordinator does not carry, such as the telephone. Kept in DIR/pins, one a line: "coordinator TRIAL
/// KEY-IN-HEX" or "peer SOUTH KEY-IN-HEX"; '#' begins a comment. Public.
struct Pins {
  std::optional<crypto::SignerKey> coordinator;
  std::vector<crypto::SignerKey> peers;

  /// Of a folder without the file: nobody. @throws ConfigError naming the line; IoError.
  static Pins load(const std::filesystem::path& folder);
  /// @throws IoError.
  void save(const std::filesystem::path& folder) const;
  /// Pins the holder of a card, if what a person was told is the fingerprint of its key.
  /// @param told  in words or hexadecimal digits
  /// @throws ConfigError  it is not; another key is pinned under this name, or another coordinator.
  void add(const crypto::SitePublicKey& key, const release::Card& card, const std::string& told);
  /// Whether a peer with this key, or this name, is known.
  bool knows(const crypto::SitePublicKey& key) const;
  const crypto::SignerKey* peer(const std::string& name) const;
};

}  // namespace muffle::site
