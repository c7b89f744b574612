#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "muffle/comm/termination.hpp"
#include "muffle/core/heartbeat.hpp"
#include "muffle/crypto/masks.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/aggregation.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/privacy/release.hpp"
#include "muffle/release/transaction.hpp"

namespace muffle::round {

/// What one round is to do; the same at all sites. Public.
struct Terms {
  privacy::AggregationMode mode;  ///< of so many sites
  std::vector<privacy::NoisePart> parts;
  std::optional<privacy::DistributedNoisePlan> shares;  ///< of distributed noise

  /// @throws ConfigError  the mode is impossible (privacy::require_valid, privacy::plan_distributed_noise).
  static Terms of(const privacy::NoisePlan& noise, const privacy::AggregationMode& mode);
};

/// One site's side of one aggregation round, from the exchange of keys to the noisy total
/// (docs/explanation/secure-aggregation.md). It knows what exists when, and sends nothing: whoever drives it
/// (drive.hpp, release()) carries its messages by a Together. A step that is not the state's throws
/// InvariantError and changes nothing; one that fails leaves the round failed, with all that it held wiped.
///
///   proposed --begin_keys--> keys made --sign--> keys signed --agree_keys--> keys agreed
///     --draw_share, embed--> embedded --close--> closed --draw_noise--> charged
///     --summand--> summing --take_total--> summed --publish--> published
///
/// The ledger is the coordinator's, and a charge says something of it alone: elsewhere a round that is closed
/// sends its summand, once the coordinator's verdict was heard (release()).
///
/// A round that masks nothing begins with its keys agreed. One that finds its release made already is kept:
/// from any state before it is closed. From its closing on a request to stop the job waits until the round is
/// gone: a charge without a release would be budget for nothing.
class Round {
 public:
  enum class State {
    kProposed,
    kKeysMade,
    kKeysSigned,
    kKeysAgreed,
    kEmbedded,
    kClosed,
    kCharged,
    kSumming,
    kSummed,
    kPublished,
    kKept,
    kFailed
  };

  Round(Terms terms, int site);
  Round& operator=(Round&&) = delete;

  State state() const;
  const Terms& terms() const { return terms_; }
  bool coordinates() const { return site_ == 0; }

  /// Keys, as three messages to all sites. @returns what this site sends.
  /// @param purpose  ties the keys to this round; the same at all sites  @param identity  null: not signed
  /// @throws ProtocolError, ConfigError  as crypto::KeyExchange.
  const std::string& begin_keys(const std::string& purpose, const crypto::SiteIdentity* identity);
  std::string sign(std::vector<std::string> hellos);
  void agree_keys(std::span<const std::string> signatures);
  /// Names the masked round in logs; empty where nothing is masked.
  std::string name() const;

  /// Where every site has a share of the noise: before records are embedded, so that the sampler has nothing
  /// private to be timed against.
  void draw_share(privacy::EntropySource& entropy, const Heartbeat& heartbeat);
  void embed(embed::PartialSum&& partial);
  /// The release is there already.
  void keep();
  void close();

  /// At the coordinator: draws the noise of the whole release, where no site has a share of it. So the whole
  /// noise is there before the sum, and the sampler cannot be timed against that either.
  /// @param charge  the ledger's, on the disk  @param entropy  not null, but where all have shares  @param
  /// check_lost  a sign of life that does not stop
  void draw_noise(const release::Charge& charge, privacy::EntropySource* entropy,
                  const Heartbeat& check_lost);

  /// What goes out to be summed: this site's sums, with its share of the noise and its masks, if any. At the
  /// coordinator of a round that is charged.
  std::vector<std::uint64_t> summand();
  /// @param total  empty but at the coordinator.
  void take_total(std::vector<std::uint64_t>&& total);
  /// The released numbers, at the coordinator; empty elsewhere. is_private: of this site's noise.
  privacy::NoisySum publish();

 private:
  struct Proposed {};
  struct KeysMade {
    crypto::KeyExchange exchange;
  };
  struct KeysSigned {
    crypto::KeyExchange exchange;
  };
  struct KeysAgreed {
    std::optional<crypto::Masks> masks;
    std::optional<privacy::NoiseShare> share;
  };
  struct Embedded {
    KeysAgreed keys;
    embed::PartialSum partial;
  };
  struct Closed {
    std::unique_ptr<comm::TerminationHold> hold;
    Embedded embedded;
  };
  struct Charged {
    Closed closed;
    std::optional<privacy::NoiseVector> noise;  ///< at a single coordinator
  };
  struct Summing {
    std::unique_ptr<comm::TerminationHold> hold;
    std::optional<privacy::NoiseVector> noise;
    bool secure_share = true;
  };
  struct Summed {
    std::unique_ptr<comm::TerminationHold> hold;
    std::optional<privacy::NoiseVector> noise;
    std::optional<privacy::RawSum> raw;
    privacy::NoisySum noisy;
  };
  struct Published {
    std::unique_ptr<comm::TerminationHold> hold;
  };
  struct Kept {};
  struct Failed {};

  template <class S>
  S& in(std::string_view step);
  /// Leaves the round failed, until the step has made its next state.
  template <class S>
  S take(std::string_view step);
  [[noreturn]] void refuse(std::string_view step) const;

  Terms terms_;
  int site_;
  /// In the order of State.
  std::variant<Proposed, KeysMade, KeysSigned, KeysAgreed, Embedded, Closed, Charged, Summing, Summed,
               Published, Kept, Failed>
      state_;
};

/// "keys agreed".
std::string_view name_of(Round::State state);

}  // namespace muffle::round
