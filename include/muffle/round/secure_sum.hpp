#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muffle/comm/host_comm.hpp"
#include "muffle/crypto/site_keys.hpp"

namespace muffle::round {

/// Longest vector that can be masked: ChaCha20's block counter ends there (256 GiB for each key). The bound
/// on distributed noise relies on it too.
inline constexpr std::uint64_t kMaxSecureSumLength = std::uint64_t{1} << 35;

/// What the ranks agree on before they share keys.
struct SecureSumSpec {
  std::size_t length = 0;  ///< numbers in each rank's vector; equal on all ranks
  /// Public text that ties the round to its purpose, such as the hash of the configuration; equal on all
  /// ranks.
  std::string context;
  /// Signs this rank's key and checks the others'. Null: keys are not signed, which protects against those
  /// who watch, not against those who meddle. On all ranks or on none. Read in the constructor only.
  const crypto::SiteIdentity* identity = nullptr;
};

/// One sum of which nobody sees a summand: every pair of ranks shares a mask that one adds and the other
/// subtracts, so that MPI's reduce tree and the coordinator see masked vectors and the exact total, nothing
/// in between (Bonawitz et al., CCS 2017, without its recovery of dropped ranks: here a lost rank ends the
/// round). Protocol, theorem and limits: docs/secure-aggregation.md.
///
/// Single-use by type: the constructor makes fresh keys, reduce_to_root() consumes the object and wipes them;
/// a new round needs a new object. One rank alone uses no masks: there is nobody to hide from. With two ranks
/// each can subtract its own vector from the total.
class SecureSum {
 public:
  /// Exchanges fresh X25519 keys. Collective: all ranks, equal specs. Two gathers of about 150 bytes a rank
  /// and one agreement; about 70 us a peer of computing. Do it before private records are read: whatever is
  /// wrong with keys shows here.
  /// @throws ProtocolError  on all ranks: versions, lengths, contexts or rosters differ, a key is invalid, a
  ///                        signature is missing or wrong. @throws ConfigError  on all ranks: this rank's
  ///                        site key is not the roster's, or the roster has another number of ranks.
  /// @throws CommError  a rank did not come; nothing was revealed.
  SecureSum(comm::HostComm& comm, const SecureSumSpec& spec);
  SecureSum(SecureSum&&) noexcept = default;
  SecureSum& operator=(SecureSum&&) = delete;
  ~SecureSum() = default;

  /// The sum modulo 2^64 of all ranks' vectors, bit-identical to comm::HostComm::reduce_sum; on the root (rank 0)
  /// only, empty elsewhere. Collective. Consumes the vector: it is masked in place and then zeroed, also when
  /// the round fails.
  /// @param values  spec.length numbers. Private.
  /// @throws CommError  a rank is lost: the root then holds a sum that the lost rank's masks still cover.
  /// @throws InvariantError  another length, or a second use.
  /// Privacy: the total is as private as the summands together.
  std::vector<std::uint64_t> reduce_to_root(std::vector<std::uint64_t>&& values) &&;

  /// Names the round in logs; public. 16 hexadecimal digits.
  const std::string& round() const { return round_; }
  bool is_signed() const { return signed_; }

 private:
  struct Free {
    void operator()(unsigned char* secret) const noexcept;
  };
  using Secret = std::unique_ptr<unsigned char, Free>;
  static Secret make_secret(std::size_t bytes);

  void derive_masks(const unsigned char* my_secret, std::span<const std::string> hellos,
                    const std::array<unsigned char, 32>& transcript);
  void mask(std::span<std::uint64_t> values) const;

  comm::HostComm* comm_;
  std::size_t length_;
  bool signed_;
  std::string round_;
  Secret mask_keys_;  ///< 32 bytes for each rank (this rank's own are unused); locked memory
  bool spent_ = false;
};

}  // namespace muffle::round
