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
  asked_ = request.missing.size();
}

const StandIn::Missing* StandIns::of(std::size_t holder, std::size_t missing) const {
  if (!given_[holder]) return nullptr;
  const auto& list = given_[holder]->body.missing;
  const auto at =
      std::ranges::find(list, round_.proposal.holders[missing].holder.key, &StandIn::Missing::holder);
  return at == list.end() ? nullptr : &*at;
}

std::vector<std::size_t> StandIns::givers(std::size_t missing) const {
  std::vector<std::size_t> out;
  for (std::size_t h = 0; h < given_.size(); ++h) {
    if (of(h, missing) != nullptr) out.push_back(h);
  }
  return out;
}

crypto::StreamKey StandIns::key_of(std::size_t site, std::size_t missing,
                                   const std::vector<std::size_t>& from) const {
  const HolderKey& absent = round_.proposal.holders[missing];
  const Contribution contribution =
      read_contribution(seal_.seal.contributions[site], given_.size(), round_.shares_keys());
  std::vector<crypto::StreamKey::Share> shares;
  for (const std::size_t h : from) shares.push_back({h, of(h, missing)->shares[site]});
  return crypto::StreamKey::rebuild(shares, {round_.id, round_.proposal.sites[seal_.sites[site]].key,
                                             absent.holder.key, contribution.point, absent.point});
}

bool StandIns::has_committed(std::size_t site, std::size_t missing, const crypto::StreamKey& key) const {
  return key.commitment() ==
         read_contribution(seal_.seal.contributions[site], given_.size(), round_.shares_keys())
             .commitments[missing];
}

bool StandIns::make_all_keys(std::size_t missing, const std::vector<std::size_t>& from) const {
  for (std::size_t s = 0; s < seal_.sites.size(); ++s) {
    if (!has_committed(s, missing, key_of(s, missing, from))) return false;
  }
  return true;
}

std::vector<std::size_t> StandIns::counted(std::size_t missing) const {
  const auto needed = given_.size() - static_cast<std::size_t>(round_.proposal.parties.missing_holders);
  const std::vector<std::size_t> all = givers(missing);
  if (all.size() < needed || !round_.shares_keys()) return {};
  // Of ten key holders at most: no more than 45 choices, and mostly the first one is right.
  std::vector<bool> chosen(all.size());
  std::fill_n(chosen.begin(), needed, true);
  do {
    std::vector<std::size_t> from;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (chosen[i]) from.push_back(all[i]);
    }
    if (make_all_keys(missing, from)) return from;
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  if (all.size() + asked_ < given_.size()) return {};  // more may come
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(needed)};
}

std::vector<Sha256Digest> StandIns::used(std::size_t missing) const {
  std::vector<Sha256Digest> out;
  for (const std::size_t h : counted(missing)) out.push_back(given_[h]->id);
  return out;
}

std::vector<std::size_t> StandIns::wrong(std::size_t missing) const {
  const std::vector<std::size_t> right = counted(missing);
  std::vector<std::size_t> out;
  if (right.empty() || !make_all_keys(missing, right)) return out;  // nobody can tell whose is wrong
  for (const std::size_t h : givers(missing)) {
    if (std::ranges::count(right, h) > 0) continue;
    std::vector<std::size_t> from = right;
    from.back() = h;
    if (!make_all_keys(missing, from)) out.push_back(h);
  }
  return out;
}

void StandIns::take_off(std::size_t missing, std::span<std::uint64_t> total) const {
  const std::vector<std::size_t> from = counted(missing);
  require(!from.empty(),
          "the part of a key holder was to be made of too few shares: this is a bug in muffle.");
  std::vector<std::uint64_t> streams(total.size());
  for (std::size_t s = 0; s < seal_.sites.size(); ++s) {
    crypto::StreamKey key = key_of(s, missing, from);
    const std::string& site = round_.proposal.sites[seal_.sites[s]].name;
    require_stand_in(
        has_committed(s, missing, key),
        fmt::format("What the stand-ins have of the key of '{}' with '{}', who is missing, does not "
                    "make the key that '{}' has committed to: a key holder gave a wrong share, or the "
                    "site shared another key. There is no release.",
                    site, round_.proposal.holders[missing].holder.name, site));
    std::move(key).add_to(streams);
  }
  for (std::size_t n = 0; n < total.size(); ++n) total[n] -= streams[n];
}

}  // namespace muffle::release
