#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/release/sealed_round.hpp"

namespace muffle::release {
namespace {

void require_stand_in(bool holds, const std::string& what) {
  if (!holds) throw ProtocolError(what + " Nothing was revealed.");
}

/// Their places in the proposal. @param what  "a request for stand-ins"
std::vector<std::size_t> places_of(const ProposedRound& round, const std::vector<crypto::SitePublicKey>& keys,
                                   const char* what) {
  std::vector<std::size_t> out;
  for (const crypto::SitePublicKey& key : keys) {
    const std::optional<std::size_t> holder = round.holder(key);
    require_stand_in(holder.has_value(),
                     fmt::format("{} names a key that is none of the round's key holders'.", what));
    require_stand_in(out.empty() || *holder > out.back(),
                     fmt::format("{} names a key holder twice, or not in the proposal's order.", what));
    out.push_back(*holder);
  }
  return out;
}

}  // namespace

AskedRound::AskedRound(const ProposedRound& round, const SealedRound& seal, const SignedHeader& header)
    : id(header.id()) {
  require_of_round(round, header, MessageKind::kStandInRequest, seal.id);
  require_stand_in(header.sender == round.coordinator && header.numbers == 0,
                   "A request for stand-ins is not the coordinator's.");
  const auto most = static_cast<std::size_t>(round.proposal.parties.missing_holders);
  missing = places_of(round, read_stand_in_request(header, most).missing, "A request for stand-ins");
}

StandIns::StandIns(const ProposedRound& round, const SealedRound& seal)
    : round_(round), seal_(seal), given_(round.proposal.holders.size()) {}

void StandIns::take(const AskedRound& request, const SignedHeader& header) {
  require_of_round(round_, header, MessageKind::kStandIn, request.id);
  const std::optional<std::size_t> holder = round_.holder(header.sender);
  require_stand_in(holder.has_value() && header.numbers == 0,
                   "A stand-in is of a key that is none of the round's key holders'.");
  const std::string& name = round_.proposal.holders[*holder].holder.name;
  require_stand_in(!std::ranges::binary_search(request.missing, *holder),
                   fmt::format("'{}' stands in, and is itself said to be missing.", name));
  require_stand_in(!given_[*holder], fmt::format("'{}' stands in twice.", name));
  StandIn body = read_stand_in(header, request.missing.size(), seal_.sites.size());
  std::vector<crypto::SitePublicKey> keys;
  for (const StandIn::Missing& m : body.missing) keys.push_back(m.holder);
  for (const std::size_t missing : places_of(round_, keys, "A stand-in"))
    require_stand_in(std::ranges::binary_search(request.missing, missing),
                     fmt::format("'{}' stands in for '{}', who is not said to be missing.", name,
                                 round_.proposal.holders[missing].holder.name));
  given_[*holder] = Given{header.id(), std::move(body)};
}

const StandIn::Missing* StandIns::of(std::size_t holder, std::size_t missing) const {
  if (!given_[holder]) return nullptr;
  const auto& list = given_[holder]->body.missing;
  const auto at =
      std::ranges::find(list, round_.proposal.holders[missing].holder.key, &StandIn::Missing::holder);
  return at == list.end() ? nullptr : &*at;
}

std::vector<Sha256Digest> StandIns::used(std::size_t missing) const {
  const auto needed = given_.size() - static_cast<std::size_t>(round_.proposal.parties.missing_holders);
  std::vector<Sha256Digest> out;
  for (std::size_t h = 0; h < given_.size() && out.size() < needed; ++h) {
    if (of(h, missing) != nullptr) out.push_back(given_[h]->id);
  }
  if (out.size() < needed || !round_.shares_keys()) out.clear();
  return out;
}

void StandIns::take_off(std::size_t missing, std::span<std::uint64_t> total) const {
  const HolderKey& absent = round_.proposal.holders[missing];
  const std::size_t needed = used(missing).size();
  require(needed > 0, "the part of a key holder was to be made of too few shares: this is a bug in muffle.");
  std::vector<std::uint64_t> streams(total.size());
  for (std::size_t s = 0; s < seal_.sites.size(); ++s) {
    const SignedHeader& header = seal_.seal.contributions[s];
    const crypto::SignerKey& site = round_.proposal.sites[seal_.sites[s]];
    const Contribution contribution = read_contribution(header, given_.size(), round_.shares_keys());
    std::vector<crypto::StreamKey::Share> shares;
    for (std::size_t h = 0; h < given_.size() && shares.size() < needed; ++h) {
      if (const StandIn::Missing* m = of(h, missing)) shares.push_back({h, m->shares[s]});
    }
    crypto::StreamKey key = crypto::StreamKey::rebuild(
        shares, {round_.id, site.key, absent.holder.key, contribution.point, absent.point});
    require_stand_in(
        key.commitment() == contribution.commitments[missing],
        fmt::format("What the stand-ins have of the key of '{}' with '{}', who is missing, does not "
                    "make the key that '{}' has committed to: a key holder gave a wrong share, or the "
                    "site shared another key. There is no release.",
                    site.name, absent.holder.name, site.name));
    std::move(key).add_to(streams);
  }
  for (std::size_t n = 0; n < total.size(); ++n) total[n] -= streams[n];
}

}  // namespace muffle::release
