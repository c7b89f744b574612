#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "muffle/crypto/pair_keys.hpp"

namespace muffle::crypto {

/// A key holder's shares of the keys between a seal's sites and the other key holders, as it keeps them from
/// its opening until the round is released: with them it stands in for one who is missing. Secret; move-only;
/// in locked memory, wiped.
class HeldShares {
 public:
  /// All zeros. @param seal  id of the seal. @param sites  that it counts. @param holders  of the round
  HeldShares(const Sha256Digest& seal, std::size_t sites, std::size_t holders);

  /// 32 bytes: of the key between the seal's site and the holder.
  std::span<unsigned char> at(std::size_t site, std::size_t holder);
  /// @param own  which holder's shares these are
  StreamKey::Share share(std::size_t own, std::size_t site, std::size_t holder) const;

  /// Writes them, readable by their owner only; on the disk when this returns. What was there is erased: the
  /// same seal gives the same shares. @throws IoError.
  void save(const std::filesystem::path& path) const;
  /// @throws ConfigError  not this seal's, or others than the owner may read the file. @throws IoError.
  static HeldShares load(const std::filesystem::path& path, const Sha256Digest& seal, std::size_t sites,
                         std::size_t holders);

 private:
  Sha256Digest seal_;
  std::size_t sites_, holders_;
  SecretBytes bytes_;
};

}  // namespace muffle::crypto
