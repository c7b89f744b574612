#include "muffle/release/later_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/plan_json.hpp"
#include "muffle/release/rounds.hpp"

namespace muffle::release {
namespace {

void require_chain(bool holds, std::string_view what) {
  if (!holds) throw ProtocolError(fmt::format("{} Nothing was revealed.", what));
}

bool same_people(const std::vector<HolderKey>& a, const std::vector<HolderKey>& b) {
  return std::ranges::equal(a, b, [](const HolderKey& x, const HolderKey& y) {
    return x.holder.key == y.holder.key && x.holder.name == y.holder.name;
  });
}

bool same_people(const std::vector<crypto::SignerKey>& a, const std::vector<crypto::SignerKey>& b) {
  return std::ranges::equal(a, b, [](const crypto::SignerKey& x, const crypto::SignerKey& y) {
    return x.key == y.key && x.name == y.name;
  });
}

/// A round key is for one round.
void require_other_keys(const ProposedRound& a, const ProposedRound& b) {
  for (std::size_t h = 0; h < a.proposal.holders.size(); ++h) {
    const HolderKey &one = a.proposal.holders[h], &other = b.proposal.holders[h];
    require_chain(one.point != other.point && one.number != other.number,
                  "The proposal of a later round names a round key that was used.");
  }
}

}  // namespace

EndedRound::EndedRound(ProposedRound proposed, const SignedHeader& sealed, const Message& summed)
    : round(std::move(proposed)),
      seal(round, sealed),
      sum(sum_in(round, summed.header)),
      id(summed.header.id()),
      values(summed.numbers.begin(), summed.numbers.end()) {
  check_sum(round, seal.id, summed.header);
}

SignedHeader sum_of(const ProposedRound& round, const SealedRound& seal, const std::vector<OpenedBy>& opened,
                    bool secure_noise) {
  SignedHeader header{.kind = MessageKind::kSum, .round = round.id, .answers = seal.id};
  header.body = body_of(Sum{opened, secure_noise});
  return header;
}

void check_sum(const ProposedRound& round, const Sha256Digest& seal, const SignedHeader& header) {
  require_of_round(round, header, MessageKind::kSum, seal);
  require_chain(!round.last(), "A round that ends with a release has no sum of its own.");
  require_chain(header.sender == round.coordinator, "This sum is not the coordinator's.");
  require_chain(header.numbers == round.length, "A sum has another number of values than its round.");
  (void)sum_in(round, header);
}

void require_follows(const EndedRound& before, const ProposedRound& round) {
  const Proposal &was = before.round.proposal, &is = round.proposal;
  require_chain(is.later.has_value() && is.later->number == was.number() + 1 &&
                    is.later->before == before.round.id && is.later->first == before.round.first() &&
                    is.later->sum == before.id,
                "The proposal of a later round does not go on where the one before has ended.");
  require_chain(round.coordinator == before.round.coordinator && is.title == was.title,
                "The proposal of a later round is of another coordinator, or has another title.");
  require_chain(plan_hash(is.plan) == plan_hash(was.plan),
                "The proposal of a later round is of another release.");
  for (std::size_t b = 0; b < is.plan.maps.size(); ++b) {
    if (is.plan.maps[b].round >= is.number()) continue;
    require_chain(is.plan.maps[b].map->to_json() == was.plan.maps[b].map->to_json() &&
                      is.plan.noise.parts[b] == was.plan.noise.parts[b],
                  "The proposal of a later round says that earlier ones counted something else.");
  }
  require_chain(
      is.parties == was.parties && same_people(is.sites, was.sites) && same_people(is.holders, was.holders),
      "The proposal of a later round is for other parties.");
}

EarlierRounds::EarlierRounds(const ProposedRound& round) : round_(round) {
  backwards_.reserve(round.proposal.number());
}

std::optional<EarlierRounds::Next> EarlierRounds::next() const {
  const ProposedRound& after = backwards_.empty() ? round_ : backwards_.back().round;
  if (!after.proposal.later) return std::nullopt;
  std::string name = !before_   ? proposal_name(after.proposal.later->before)
                     : !sealed_ ? seal_name(before_->id)
                                : sum_name(before_->id);
  const std::uint64_t most = most_bytes(name, before_ && sealed_ ? before_->length : 0);
  return Next{std::move(name), most};
}

void EarlierRounds::read(std::string_view bytes) {
  const std::string name = next().value().name;
  const ProposedRound& after = backwards_.empty() ? round_ : backwards_.back().round;
  Message message = parse_message(bytes, name);
  if (!before_) {
    before_.emplace(message, name);
    require_chain(before_->id == after.proposal.later->before,
                  fmt::format("'{}' is the proposal of another round.", name));
  } else if (!sealed_) {
    sealed_ = std::move(message.header);
  } else {
    const EndedRound& ended = backwards_.emplace_back(std::move(*before_), *sealed_, message);
    before_.reset();
    sealed_.reset();
    require_follows(ended, after);
  }
}

std::vector<EndedRound> EarlierRounds::finish() && {
  const ProposedRound& first = backwards_.empty() ? round_ : backwards_.back().round;
  require_chain(first.id == round_.first(), "The rounds of a release do not begin where they say.");
  std::ranges::reverse(backwards_);
  for (std::size_t r = 0; r < backwards_.size(); ++r) {
    if (r > 0) require_same_sites(backwards_.front(), backwards_[r].round, backwards_[r].seal);
    for (std::size_t later = r + 1; later < backwards_.size(); ++later)
      require_other_keys(backwards_[r].round, backwards_[later].round);
    require_other_keys(backwards_[r].round, round_);
  }
  return std::move(backwards_);
}

std::vector<EndedRound> earlier_rounds(const ProposedRound& round, const EvidenceReader& read,
                                       std::string* missing) {
  EarlierRounds rounds(round);
  while (const std::optional<EarlierRounds::Next> next = rounds.next()) {
    const std::optional<std::string> bytes = read(next->name, next->most);
    if (bytes) {
      rounds.read(*bytes);
    } else if (missing == nullptr) {
      throw ProtocolError(fmt::format("'{}' is not among the messages.", next->name));
    } else {
      *missing = next->name;
      return {};
    }
  }
  return std::move(rounds).finish();
}

void require_goes_on(const EndedRound& first, std::size_t site, const Contribution& contribution) {
  const std::string& name = first.round.proposal.sites.at(site).name;
  const SignedHeader* const was = first.seal.contribution_of(site);
  require_chain(was != nullptr, fmt::format("'{}' has no part in the first round of this release.", name));
  const Contribution before =
      read_contribution(*was, first.round.proposal.holders.size(), first.round.shares_keys());
  require_chain(
      before.records == contribution.records,
      fmt::format("'{}' says another number of records than in the first round of this release.", name));
  require_chain(before.charge == contribution.charge && before.data_id == contribution.data_id,
                fmt::format("'{}' names another charge than in the first round of this release.", name));
}

void require_same_sites(const EndedRound& first, const ProposedRound& round, const SealedRound& seal) {
  require_chain(seal.sites == first.seal.sites,
                "The rounds of a release count different sites, and all must count the same.");
  for (std::size_t i = 0; i < seal.sites.size(); ++i)
    require_goes_on(
        first, seal.sites[i],
        read_contribution(seal.seal.contributions[i], round.proposal.holders.size(), round.shares_keys()));
}

std::uint64_t records_in(const ProposedRound& round, const SealedRound& seal) {
  std::uint64_t records = 0;
  for (const SignedHeader& header : seal.seal.contributions) {
    const Contribution body = read_contribution(header, round.proposal.holders.size(), round.shares_keys());
    require_chain(!__builtin_add_overflow(records, body.records, &records),
                  "The sites say that they hold more records than there can be.");
  }
  return records;
}

Artifact released_before(const ReleasePlan& plan, const std::vector<EndedRound>& rounds) {
  const EndedRound& first = rounds.front();
  std::vector<std::vector<std::int64_t>> values;
  std::vector<int> missing;
  for (const EndedRound& ended : rounds) {
    values.push_back(ended.values);
    missing.push_back(missing_in(ended.sum.opened));
  }
  const privacy::Apart mode = privacy::apart_of(
      first.round.proposal.parties, static_cast<int>(first.seal.sites.size()), std::move(missing));
  Artifact out = released_so_far(plan, mode, values);
  // As the whole release will have it: the proposed number is the most that there may be.
  if (out.adjacency == privacy::Adjacency::kReplaceOne) out.records = records_in(first.round, first.seal);
  return out;
}

}  // namespace muffle::release
