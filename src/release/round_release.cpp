#include "muffle/release/round_release.hpp"

#include <fmt/format.h>

#include "message_fields.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/release/plan_json.hpp"
#include "muffle/release/rounds.hpp"

namespace muffle::release {
namespace {

/// What receipts call Found.
const std::initializer_list<std::string_view> kFound = {"verified", "not all there", "wrong"};

void require_answer(bool holds, const char* what) {
  if (!holds) throw ProtocolError(fmt::format("{} Nothing was revealed.", what));
}

RoundRecord record_of(const ProposedRound& round, const SealedRound& seal,
                      const std::vector<OpenedBy>& opened) {
  RoundRecord record{
      to_hex(round.id), round.proposal.title, to_hex(round.coordinator), to_hex(seal.id), {}, {}};
  for (std::size_t i = 0; i < seal.sites.size(); ++i) {
    const SignedHeader& header = seal.seal.contributions[i];
    const crypto::SignerKey& site = round.proposal.sites[seal.sites[i]];
    const Contribution body = read_contribution(header, round.proposal.holders.size(), round.shares_keys());
    record.sites.push_back({site.name, to_hex(site.key), to_hex(header.id()), body.charge, body.data_id});
  }
  require(opened.size() == round.proposal.holders.size(),
          "a round was to be released without all its openings: this is a bug in muffle.");
  for (std::size_t h = 0; h < opened.size(); ++h) {
    const crypto::SignerKey& key = round.proposal.holders[h].holder;
    RoundRecord::Holder& holder =
        record.holders.emplace_back(RoundRecord::Holder{key.name, to_hex(key.key), ""});
    require(opened[h].opening || !opened[h].stand_ins.empty(),
            "a round was to be released without all its openings: this is a bug in muffle.");
    if (opened[h].opening) holder.opening = to_hex(*opened[h].opening);
    for (const Sha256Digest& id : opened[h].stand_ins) holder.stand_ins.push_back(to_hex(id));
  }
  return record;
}

Sha256Digest id_of(const std::string& hex) {
  Sha256Digest out{};
  require_answer(crypto::from_hex(hex, out), "The release names a message by something that is no id.");
  return out;
}

}  // namespace

Artifact artifact_of_round(const ProposedRound& round, const SealedRound& seal,
                           const std::vector<EndedRound>& earlier, const std::vector<OpenedBy>& opened,
                           privacy::NoisySum&& sum, const std::string& version) {
  require(round.last() && earlier.size() + 1 == round.proposal.plan.rounds(),
          "a release was to be made of some of its rounds: this is a bug in muffle.");
  Artifact a;
  static_cast<ReleasePlan&>(a) = round.proposal.plan;
  std::vector<int> missing;
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
    a.rounds_before.push_back(record_of(ended.round, ended.seal, ended.sum.opened));
    missing.push_back(missing_in(ended.sum.opened));
    a.is_private = a.is_private && ended.sum.secure_noise;
    values.push_back(ended.values);
  }
  a.config_hash = plan_hash(round.proposal.plan);
  a.muffle_version = version;
  missing.push_back(missing_in(opened));
  a.aggregation =
      privacy::apart_of(round.proposal.parties, static_cast<int>(seal.sites.size()), std::move(missing));
  a.round = record_of(round, seal, opened);
  if (earlier.empty()) {
    a.values = std::move(sum.values);
  } else {
    require_same_sites(earlier.front(), round, seal);
    values.push_back(std::move(sum.values));
    a.values = joined(a, values);
  }
  return a;
}

std::vector<OpenedBy> opened_in(const RoundRecord& record) {
  std::vector<OpenedBy> out;
  for (const RoundRecord::Holder& holder : record.holders) {
    OpenedBy& by = out.emplace_back();
    if (!holder.opening.empty()) by.opening = id_of(holder.opening);
    for (const std::string& id : holder.stand_ins) by.stand_ins.push_back(id_of(id));
  }
  return out;
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

SignedHeader receipt_of(const ProposedRound& round, const SignedHeader& statement, const Receipt& receipt) {
  require(receipt.found.has_value() == (statement.kind != MessageKind::kAbandonment),
          "a receipt was to say too much or too little of what it is for: this is a bug in muffle.");
  SignedHeader header{.kind = MessageKind::kReceipt, .round = round.id, .answers = statement.id()};
  header.body = {{"round_key_erased", receipt.key_erased}};
  if (receipt.found) header.body["sum"] = kFound.begin()[static_cast<std::size_t>(*receipt.found)];
  return header;
}

Receipt check_receipt(const ProposedRound& round, const SignedHeader& statement, const SignedHeader& header) {
  require_answer(header.kind == MessageKind::kReceipt && header.round == round.id &&
                     header.answers == statement.id() && header.numbers == 0,
                 "The receipt is of another release or abandonment.");
  require_answer(round.site(header.sender) || round.holder(header.sender),
                 "The receipt is of nobody in the round.");
  const JsonDocument document = message_document("a receipt");
  const JsonFields f(header.body, document);
  Receipt out;
  if (statement.kind == MessageKind::kAbandonment) {
    f.only({"round_key_erased"});
  } else {
    f.only({"round_key_erased", "sum"});
    out.found = static_cast<Found>(f.choice("sum", kFound));
  }
  out.key_erased = f.flag("round_key_erased");
  return out;
}

}  // namespace muffle::release
