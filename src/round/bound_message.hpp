#pragma once

#include <optional>
#include <string>

#include "role_parts.hpp"

namespace muffle::round {

/// A message of this party's own, once per kind and round: bound to its journal and kept, and then sent,
/// never another one.
class BoundMessage {
 public:
  /// @param numbers  that it has. @param round, journal  outlive this object
  BoundMessage(const ProposedRound& round, release::Journal& journal, const crypto::SiteKey& key,
               const std::filesystem::path& folder, release::MessageKind kind, std::string name,
               std::uint64_t numbers);

  /// What is to be looked at, once, before anything else here but bind() is called.
  Wanted wants() const;
  void look(Received&& there);

  /// Whether the journal has it; if so it is among what is to be sent, unless it is there, and is returned.
  /// @throws ProtocolError  where it would lie is another one of this party's own, or one that is not its
  /// own; or the journal has it, and it is nowhere.
  std::optional<release::SignedHeader> sent(Letters& out);
  /// Binds it and keeps it. @param round_key  that it uses up; zeros: none @returns what is to be sent
  Letter bind(std::string bytes, const crypto::ExchangePoint& round_key = {});
  /// Whether it is there, as it was bound.
  bool has_left() const;
  /// Whether its bytes, or a draft, are in the party's folder.
  bool is_kept() const;
  /// Erases a draft that a crash has left, and to which nothing is bound.
  void erase_unbound() const;
  /// Of one that has not left: its bytes go, and it never will.
  void give_up() const;

 private:
  std::optional<Sha256Digest> bound() const { return journal_.state().pending(round_.id, kind_); }
  std::optional<release::Message> at(const std::filesystem::path& file) const;

  const ProposedRound& round_;
  release::Journal& journal_;
  crypto::SitePublicKey party_;
  release::MessageKind kind_;
  std::string name_;
  std::uint64_t numbers_;
  std::filesystem::path folder_, draft_, kept_;
  std::optional<release::Message> there_;
  std::string problem_;  ///< of what lies there; empty: none
};

}  // namespace muffle::round
