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
/// KEY-IN-HEX" or "peer SOUTH KEY-IN-HEX"; "former SOUTH KEY-IN-HEX" is one that SOUTH has replaced, good for
/// rounds that were proposed before; '#' begins a comment. Public.
struct Pins {
  std::optional<crypto::SignerKey> coordinator;
  std::vector<crypto::SignerKey> peers;
  std::vector<crypto::SignerKey> former;

  /// Of a folder without the file: nobody. @throws ConfigError naming the line; IoError.
  static Pins load(const std::filesystem::path& folder);
  /// @throws IoError.
  void save(const std::filesystem::path& folder) const;
  /// Pins the holder of a card, if what a person was told is the fingerprint of its key.
  /// @param told  in words or hexadecimal digits. @param replaces  the key of the peer with this name becomes
  /// a former one
  /// @throws ConfigError  it is not; another key is pinned under this name, and is not to be replaced; there
  /// is none to replace; it is a former one; another coordinator.
  void add(const crypto::SitePublicKey& key, const release::Card& card, const std::string& told,
           bool replaces = false);
  /// Whether it is a peer's key, or was.
  bool knows(const crypto::SitePublicKey& key) const;
  /// Whose key has this fingerprint, now or formerly. None: nullptr.
  const crypto::SignerKey* with_fingerprint(const crypto::Fingerprint& fingerprint) const;
  /// By its key of now. None: nullptr.
  const crypto::SignerKey* peer(const std::string& name) const;
};

}  // namespace muffle::site
