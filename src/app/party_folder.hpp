// What the verbs of sites and of the coordinator share: a party's folder, and what lies in it.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muffle/app/commands.hpp"
#include "muffle/round/role.hpp"
#include "muffle/round/sync.hpp"
#include "muffle/site/key_store.hpp"
#include "muffle/site/own_networks.hpp"

namespace muffle::app {

/// By this machine's clock, since 1970.
std::uint64_t seconds_now();

/// Makes a party's folder: keys, card and commented settings. @param values  of the settings, as TOML
/// literals
/// @throws ConfigError  there is one already; IoError.
site::KeyStore init_party(const PartyCommand& command, release::Card roles, bool site,
                          std::map<std::string, std::string> values);
/// Who the party is, and its fingerprint in words and digits.
std::string card_text(const site::KeyStore& store);
/// The exchange that was typed or, without one, that the settings name. @throws ConfigError  neither;
/// IoError.
std::unique_ptr<round::Exchange> exchange_of(const PartyCommand& command, const PartyConfig& config);
/// Who is in the consortium, by the exchange and by the charters that this party has seen before, which it
/// keeps: of the coordinator that a site has pinned, or of the coordinator itself. @throws ProtocolError,
/// IoError.
round::Membership members_of(const site::KeyStore& store, round::Exchange& exchange);
/// Puts the card, all round keys that the party ever published, and a coordinator's charters.
/// @throws ProtocolError, IoError.
void put_own(const site::KeyStore& store, round::Exchange& exchange);
/// Carries messages between the party's folder and the server that its settings name.
/// @throws as round::synchronise().
round::Synced carry_messages(const PartyCommand& command, bool site, const Heartbeat& heartbeat = {});
/// @throws ProtocolError  messages of the party's own are others there.
void require_own_words(const round::Synced& synced);
/// Notes that a card of the exchange is whose it says (site pin, coordinator admit).
/// @throws ConfigError  no card of that name has the fingerprint.
void pin(const PartyCommand& command, bool site, std::ostream& out);

/// site::Question::networks of a round.
site::OwnNetworks networks_of(const release::ProposedRound& round, const PartyConfig& config);
/// site::Question::taking_part of a round. Empty also where an earlier message is not there.
std::vector<std::size_t> taking_part(const release::ProposedRound& round, round::Exchange& exchange);

// What people decided at a site, kept in its folder.
std::filesystem::path approval_file(const std::filesystem::path& folder, const release::ProposedRound& round,
                                    const crypto::SitePublicKey& person);
/// Of a person who lets this key holder open the sum of one seal.
std::filesystem::path opening_approval_file(const std::filesystem::path& folder,
                                            const release::ProposedRound& round,
                                            const crypto::SitePublicKey& person);
std::filesystem::path decline_file(const std::filesystem::path& folder, const release::ProposedRound& round);
/// @throws IoError.
bool has_declined(const std::filesystem::path& folder, const release::ProposedRound& round);
/// Keeps a site's decline of a round. @returns it, for all to see: once there is one, that, with the code
/// that the site declined with first. @throws ProtocolError, IoError.
round::Letter decline_of_site(const site::KeyStore& store, const release::ProposedRound& round,
                              release::DeclineCode code);
/// Approvals of this round, or of its opening, that are signed; whose they are, and of what, the policy
/// judges.
/// @throws IoError.
std::vector<release::SignedHeader> kept_approvals(const std::filesystem::path& folder,
                                                  const release::ProposedRound& round);
/// The people who said that this round be declined, each by what they signed. @throws IoError.
std::vector<release::SignedHeader> kept_declines(const std::filesystem::path& folder,
                                                 const release::ProposedRound& round);
std::filesystem::path personal_decline_file(const std::filesystem::path& folder,
                                            const release::ProposedRound& round,
                                            const crypto::SitePublicKey& person);

}  // namespace muffle::app
