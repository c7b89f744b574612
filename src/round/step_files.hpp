#pragma once

#include <optional>
#include <string>

#include "muffle/release/journal.hpp"
#include "muffle/round/step.hpp"

namespace muffle::round {

/// A message that is in the exchange, its signature checked. None: it is not there.
/// @param numbers  that such a message has. @throws ProtocolError  what lies there is none.
std::optional<release::Message> message_in(Exchange& exchange, const std::string& name,
                                           std::uint64_t numbers);

/// A message of this party's own, once per kind and round: bound to its journal, kept, and put into the
/// exchange.
class BoundMessage {
 public:
  /// @param numbers  that it has. @param round, exchange, journal  outlive this object
  BoundMessage(const ProposedRound& round, Exchange& exchange, release::Journal& journal,
               const crypto::SiteKey& key, const std::filesystem::path& folder, release::MessageKind kind,
               std::string name, std::uint64_t numbers);

  /// Whether the journal has it; if so it is in the exchange now, and is returned.
  /// @throws ProtocolError  the exchange has another one of this party's own, or one that is not its own; or
  /// the journal has it, and it is nowhere.
  std::optional<release::Message> sent();
  /// Binds it, keeps it, puts it. @param round_key  that it uses up; zeros: none
  void send(const std::string& bytes, const crypto::ExchangePoint& round_key = {});
  /// Whether it is in the exchange, as it was bound.
  bool has_left() const;
  /// Whether its bytes, or a draft, are in the party's folder.
  bool is_kept() const;
  /// Erases a draft that a crash has left, and to which nothing is bound.
  void erase_unbound() const;
  /// Of one that has not left: its bytes go, and it never will.
  void give_up() const;

 private:
  std::optional<release::Message> at(const std::filesystem::path& file) const;

  const ProposedRound& round_;
  Exchange& exchange_;
  release::Journal& journal_;
  crypto::SitePublicKey party_;
  release::MessageKind kind_;
  std::string name_;
  std::uint64_t numbers_;
  std::filesystem::path folder_, draft_, kept_;
};

/// Makes drafts(), for its owner alone. @throws IoError.
void ensure_drafts(const std::filesystem::path& party);

/// The party's journal, locked.
release::Journal open_journal(const std::filesystem::path& folder, const crypto::SiteKey& key,
                              const StepClock& clock);

/// The round's release and the coordinator's statement of it, both checked; none: they are not there yet.
struct SeenRelease {
  std::string bytes;
  release::SignedHeader statement;
};
std::optional<SeenRelease> see_release(const ProposedRound& round, const Sha256Digest& seal,
                                       Exchange& exchange);

/// The sum of a round that another one follows, checked; none: it is not there yet.
std::optional<release::SignedHeader> see_sum(const ProposedRound& round, const Sha256Digest& seal,
                                             Exchange& exchange);

/// Whether the coordinator has proposed the round that goes on from this one, and has not given it up.
bool next_is_proposed(const ProposedRound& round, Exchange& exchange);

/// Of a round that has its sum: waits for the next one's proposal, for as long as kNextRoundWithin at the
/// most.
void await_next(const ProposedRound& round, Exchange& exchange, const StepClock& clock, StepReport& report);

/// Why the coordinator has given the round up; none: it has not. What only lies under that name is none.
std::optional<release::AbandonCode> abandoned(const ProposedRound& round, Exchange& exchange);

/// "2026-12-01 12:00 UTC".
std::string time_text(std::uint64_t seconds);
std::unique_ptr<privacy::EntropySource> entropy_of(const MakeEntropy& make);

}  // namespace muffle::round
