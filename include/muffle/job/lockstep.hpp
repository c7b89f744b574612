#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/comm/termination.hpp"
#include "muffle/core/heartbeat.hpp"
#include "muffle/crypto/masks.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/job/proposal.hpp"
#include "muffle/job/role_state.hpp"
#include "muffle/privacy/release.hpp"
#include "muffle/release/charged_document.hpp"

/// One aggregation round of parties who are all there at once, such as the ranks of a job, from the exchange
/// of keys to the noisy total (docs/explanation/secure-aggregation.md): its two roles. As everybody is there,
/// contribution and opening are one vector. A role knows what exists when, and sends nothing: whoever drives
/// it (drive.hpp, release()) carries its messages by a Together. For steps and failures see RoleState.
///
/// The order is a job's own, of the pieces that institutions have too (Covered, Charge, NoisySum, RoleState).
/// There (apart.hpp) a site is charged by its own ledger before it draws, alone, and what it then sends waits
/// for nobody; here one ledger is charged for all, once all have embedded, so that a bad record or a lost
/// party costs nothing, and a party that has no ledger sends once it has heard the coordinator's verdict.
namespace muffle::job {

/// job/audit_paths.cpp alone has it: there is no other way past a charge.
struct Uncharged;

/// Every party's role.
///
///   proposed --begin_keys--> keys made --sign--> keys signed --agree_keys--> keys agreed
///     --draw_share, embed--> embedded --close--> closed [--note_charge--> charged] --summand--> sent
///
/// The ledger is the coordinator's, and a charge says something of it alone: its party sends its summand once
/// it was charged; the others, which hear of no charge, once they have heard the coordinator's verdict.
///
/// A round that masks nothing begins with its keys agreed. One that finds its release made already is kept:
/// from any state before it is closed. From its closing on a request to stop the job waits until the role is
/// gone: a charge without a release would be budget for nothing.
class Contributor {
 public:
  /// @param party  0 coordinates
  Contributor(ProposedRound round, int party);
  Contributor& operator=(Contributor&&) = delete;

  const ProposedRound& round() const { return round_; }
  /// "keys agreed".
  std::string_view state() const { return state_.name(); }

  /// Keys, bound to the proposal, as three messages to all parties. @returns what this party sends.
  /// @param identity  null: not signed
  /// @throws ProtocolError, ConfigError  as crypto::KeyExchange.
  const std::string& begin_keys(const crypto::SiteIdentity* identity);
  std::string sign(std::vector<std::string> hellos);
  void agree_keys(std::span<const std::string> signatures);
  /// Names this exchange of keys in logs; empty where nothing is masked.
  std::string name() const;

  /// Where every party has a share of the noise: before records are embedded, so that the sampler has nothing
  /// private to be timed against.
  void draw_share(privacy::EntropySource& entropy, const Heartbeat& heartbeat);
  void embed(embed::PartialSum&& partial);
  /// The release is there already.
  void keep();
  void close();
  /// At the coordinator's party: its own ledger was charged.
  void note_charge(const release::Charge& charge);

  /// What goes out to be summed: this party's sums, with its share of the noise and its masks, if any.
  std::vector<std::uint64_t> summand();
  /// Of what was sent: whether this party's share of the noise, if it has one, is secure.
  bool secure_noise() const;

 private:
  friend struct Uncharged;
  void go_on();

  struct Proposed {
    static constexpr std::string_view kName = "proposed";
  };
  struct KeysMade {
    static constexpr std::string_view kName = "keys made";
    crypto::KeyExchange exchange;
  };
  struct KeysSigned {
    static constexpr std::string_view kName = "keys signed";
    crypto::KeyExchange exchange;
  };
  struct KeysAgreed {
    static constexpr std::string_view kName = "keys agreed";
    std::optional<crypto::Masks> masks;
    std::optional<privacy::NoiseShare> share;
  };
  struct Embedded {
    static constexpr std::string_view kName = "embedded";
    KeysAgreed keys;
    embed::PartialSum partial;
  };
  struct Closed {
    static constexpr std::string_view kName = "closed";
    std::unique_ptr<comm::TerminationHold> hold;
    Embedded embedded;
  };
  struct Charged {
    static constexpr std::string_view kName = "charged";
    Closed closed;
  };
  struct Sent {
    static constexpr std::string_view kName = "sent";
    std::unique_ptr<comm::TerminationHold> hold;
    bool secure_noise = true;
  };
  struct Kept {
    static constexpr std::string_view kName = "kept";
  };

  ProposedRound round_;
  int party_;
  RoleState<Proposed, KeysMade, KeysSigned, KeysAgreed, Embedded, Closed, Charged, Sent, Kept> state_;
};

/// The role of the party that coordinates, beside its Contributor.
///
///   proposed --draw_noise--> charged --take_total--> summed --publish--> published
class Coordinator {
 public:
  explicit Coordinator(ProposedRound round) : round_(std::move(round)) {}
  Coordinator& operator=(Coordinator&&) = delete;

  std::string_view state() const { return state_.name(); }

  /// Draws the noise of the whole release, where no party has a share of it. So the whole noise is there
  /// before the sum, and the sampler cannot be timed against that either.
  /// @param charge  the ledger's, on the disk  @param entropy  not null, but where all have shares  @param
  /// check_lost  a sign of life that does not stop
  void draw_noise(const release::Charge& charge, privacy::EntropySource* entropy,
                  const Heartbeat& check_lost);
  /// @param total  of all parties' summands; wiped, also when an exception passes by
  /// @param secure_noise  where all have shares: Contributor::secure_noise(), at every party
  void take_total(std::vector<std::uint64_t>&& total, bool secure_noise);
  /// The released numbers.
  privacy::NoisySum publish();

 private:
  friend struct Uncharged;
  void draw(privacy::EntropySource* entropy, const Heartbeat& check_lost);

  struct Proposed {
    static constexpr std::string_view kName = "proposed";
  };
  struct Charged {
    static constexpr std::string_view kName = "charged";
    std::optional<privacy::NoiseVector> noise;  ///< none: it comes with the sums, in shares
  };
  struct Summed {
    static constexpr std::string_view kName = "summed";
    std::optional<privacy::NoiseVector> noise;
    std::optional<privacy::RawSum> raw;
    privacy::NoisySum noisy;
  };
  struct Published {
    static constexpr std::string_view kName = "published";
  };

  ProposedRound round_;
  RoleState<Proposed, Charged, Summed, Published> state_;
};

}  // namespace muffle::job
