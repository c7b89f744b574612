#include "muffle/release/round_release.hpp"

#include <fmt/format.h>

#include "message_fields.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/release/plan_json.hpp"
#include "muffle/release/rounds.hpp"

namespace muffle::release {
namespace {

void require_answer(bool holds, const char* what) {
  if (!holds) throw ProtocolError(fmt::format("{} Nothing was revealed.", what));
}

/// Without who opened it.
RoundRecord record_of(const ProposedRound& round, const SealedRound& seal) {
  RoundRecord record{
      to_hex(round.id), round.proposal.title, to_hex(round.coordinator), to_hex(seal.id), {}, {}};
  for (std::size_t i = 0; i < seal.sites.size(); ++i) {
    const SignedHeader& header = seal.seal.contributions[i];
    const crypto::SignerKey& site = round.proposal.sites[seal.sites[i]];
    const Contribution body = read_contribution(header, round.proposal.holders.size(), round.shares_keys());
    record.sites.push_back({site.name, to_hex(site.key), to_hex(header.id()), body.charge, body.data_id});
  }
  for (const HolderKey& h : round.proposal.holders)
    record.holders.push_back({h.holder.name, to_hex(h.holder.key), ""});
  return record;
}

}  // namespace

Artifact artifact_of_round(const ProposedRound& round, const SealedRound& seal,
                           const std::vector<EndedRound>& earlier, const std::vector<OpenedBy>& opened,
                           privacy::NoisySum&& sum, const std::string& version) {
  require(round.last() && earlier.size() + 1 == round.proposal.plan.rounds(),
          "a release was to be made of some of its rounds: this is a bug in muffle.");
  require(opened.size() == round.proposal.holders.size(),
          "a round was to be released without all its openings: this is a bug in muffle.");
  Artifact a;
  static_cast<ReleasePlan&>(a) = round.proposal.plan;
  RoundRecord record = record_of(round, seal);
  privacy::Apart mode{round.proposal.parties, static_cast<int>(seal.sites.size())};
  for (std::size_t h = 0; h < opened.size(); ++h) {
    RoundRecord::Holder& holder = record.holders[h];
    if (opened[h].opening) {
      holder.opening = to_hex(*opened[h].opening);
      continue;
    }
    require(!opened[h].stand_ins.empty(),
            "a round was to be released without all its openings: this is a bug in muffle.");
    ++mode.stood_in;
    for (const Sha256Digest& id : opened[h].stand_ins) holder.stand_ins.push_back(to_hex(id));
  }
  if (a.adjacency == privacy::Adjacency::kReplaceOne) {
    const std::uint64_t records = records_in(round, seal);
    require_answer(
        records >= 1 && records <= a.records,
        "The sites hold other numbers of records than were proposed: none, or more in all. There is no "
        "release.");
    a.records = records;
  }
  for (const features::NamedMap& map : a.maps) a.map_hashes.push_back(map.map->hash());
  a.is_private = sum.is_private;
  std::vector<std::vector<std::int64_t>> values;
  for (const EndedRound& ended : earlier) {
    RoundRecord& before = a.rounds_before.emplace_back(record_of(ended.round, ended.seal));
    for (std::size_t h = 0; h < before.holders.size(); ++h)
      before.holders[h].opening = to_hex(ended.sum.openings[h]);
    a.is_private = a.is_private && ended.sum.secure_noise;
    values.push_back(ended.values);
  }
  a.config_hash = plan_hash(round.proposal.plan);
  a.muffle_version = version;
  a.aggregation = mode;
  a.round = std::move(record);
  if (earlier.empty()) {
    a.values = std::move(sum.values);
  } else {
    require_same_sites(earlier.front(), round, seal);
    values.push_back(std::move(sum.values));
    a.values = joined(a, values);
  }
  return a;
}

SignedHeader release_statement_of(const ProposedRound& round, const SealedRound& seal,
                                  std::string_view release) {
  SignedHeader header{.kind = MessageKind::kRelease, .round = round.id, .answers = seal.id};
  header.body = {{"release_sha256", to_hex(sha256(PublicBytes(release)))}};
  return header;
}

void check_release_statement(const ProposedRound& round, const Sha256Digest& seal, const SignedHeader& header,
                             std::string_view release) {
  require_answer(header.kind == MessageKind::kRelease && header.round == round.id && header.answers == seal &&
                     header.numbers == 0,
                 "The statement is of no release, or of another round's or seal's.");
  require_answer(header.sender == round.coordinator,
                 "The statement of the release is not the coordinator's.");
  const JsonDocument document = message_document("a statement");
  const JsonFields f(header.body, document);
  f.only({"release_sha256"});
  require_answer(f.hex("release_sha256", 64) == to_hex(sha256(PublicBytes(release))),
                 "The coordinator's statement is of another release.");
}

SignedHeader abandonment_of(const ProposedRound& round, AbandonCode code) {
  SignedHeader header{.kind = MessageKind::kAbandonment, .round = round.id, .answers = round.id};
  header.body = {{"code", name_of(code)}};
  return header;
}

AbandonCode check_abandonment(const ProposedRound& round, const SignedHeader& header) {
  require_answer(header.kind == MessageKind::kAbandonment && header.round == round.id &&
                     header.answers == round.id && header.numbers == 0,
                 "The abandonment is of another round.");
  require_answer(header.sender == round.coordinator, "The abandonment is not the coordinator's.");
  const JsonDocument document = message_document("an abandonment");
  const JsonFields f(header.body, document);
  f.only({"code"});
  return static_cast<AbandonCode>(f.choice("code", abandon_codes()));
}

SignedHeader receipt_of(const ProposedRound& round, const SignedHeader& statement, bool key_erased) {
  SignedHeader header{.kind = MessageKind::kReceipt, .round = round.id, .answers = statement.id()};
  header.body = {{"round_key_erased", key_erased}};
  return header;
}

bool check_receipt(const ProposedRound& round, const SignedHeader& statement, const SignedHeader& header) {
  require_answer(header.kind == MessageKind::kReceipt && header.round == round.id &&
                     header.answers == statement.id() && header.numbers == 0,
                 "The receipt is of another release or abandonment.");
  require_answer(round.site(header.sender) || round.holder(header.sender),
                 "The receipt is of nobody in the round.");
  const JsonDocument document = message_document("a receipt");
  const JsonFields f(header.body, document);
  f.only({"round_key_erased"});
  return f.flag("round_key_erased");
}

}  // namespace muffle::release
