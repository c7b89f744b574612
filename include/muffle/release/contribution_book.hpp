#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "muffle/release/charged_document.hpp"
#include "muffle/release/sealed_round.hpp"

namespace muffle::release {

/// What a site's own ledger has of its contribution to one round, which is drawn once. The first round of a
/// release is charged, for all of them; a later one goes on under that charge, once, whatever proposals there
/// are for it. It holds the ledger's lock for as long as it lives. Not thread-safe.
class ContributionBook {
 public:
  enum class Standing {
    kNew,    ///< nothing was charged, or nothing was drawn for this later round
    kSpent,  ///< drawn for, and cut off before it was bound, or lost or given up since: nothing is drawn
             ///< again
    kMade,   ///< its bytes are there, and no others will ever be
  };

  /// @param file  where the contribution is kept: the outbox
  /// @param draft  where it lies until it is bound, for its owner alone, in a folder of secrets that is
  /// there. A crash between the two would lose it, and what was charged for it
  /// @param round  outlives this object
  ContributionBook(const ProposedRound& round, const crypto::SitePublicKey& site, const ChargeBook& book,
                   std::filesystem::path file, std::filesystem::path draft, const Heartbeat& heartbeat = {});

  /// Compares ledger, outbox and exchange, and commits what is there. Once.
  /// @param in_exchange  what lies there under this site's name, if anything
  /// @throws ProtocolError  what lies there is not this site's; or it is, and the ledger has another or none:
  /// the ledger was restored from a copy, or somebody else has the site's key.
  Standing settle(const std::optional<std::string>& in_exchange);
  /// Of one that was made.
  const std::string& bytes() const { return bytes_; }
  const std::string& charge() const { return charge_; }

  /// Charges, or in a later round goes on, and only then has the contribution made, which is on the disk when
  /// this returns.
  /// @param contribution  draws the share of the noise and makes the contribution's bytes, with this charge's
  /// id in them
  /// @throws PrivacyError, IoError  as ChargedDocument. @throws InvariantError  there was a charge.
  void make(bool secure_noise, const std::function<std::string(const Charge& charge)>& contribution);
  /// Of one that was made and has not left: its bytes go, and it never will.
  void give_up();

  /// The round has a release: says so in the ledger, once. @param release  its bytes
  void note_release(std::string_view release);

 private:
  bool is_own(const std::string& bytes) const;
  const privacy::ChargeRecord* charged() const;
  bool may_begin(const privacy::ChargeRecord& charge) const;

  const ProposedRound& round_;
  crypto::SitePublicKey site_;
  std::filesystem::path file_, draft_;
  ChargedDocument document_;
  Standing standing_ = Standing::kNew;
  std::string bytes_, charge_;
};

/// SHA-256 of the contribution to this round that a charge is bound to; none: it is to none.
std::optional<std::string> bound_contribution(const ProposedRound& round,
                                              const privacy::ChargeRecord& charge);
/// What the charge for a release is called in a site's ledger, by its first round.
std::string charged_as(const crypto::RoundId& round);
/// What a release costs a site that contributes to all its rounds, under its own ledger.
privacy::ChargeTerms contribution_terms(const ProposedRound& round, bool secure_noise);

}  // namespace muffle::release
