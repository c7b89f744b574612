#include "muffle/release/membership.hpp"

#include <algorithm>

#include "message_fields.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/crypto/fingerprint.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostVersions = 1'000'000;
constexpr std::uint64_t kMostDays = 1'000'000;  ///< since 1970: before the year 4708

std::string one_line_text(const JsonFields& f, std::string_view key, std::size_t most) {
  std::string text = f.text(key, most);
  if (printable(text) != text) f.fail(key, "has characters that a terminal may obey");
  return text;
}

}  // namespace

Consortium::Consortium(const SignedHeader& header, const std::string& name)
    : id(header.id()), coordinator(header.sender) {
  const JsonDocument document = message_document(name);
  const JsonFields f(header.body, document);
  require_kind(f, header, MessageKind::kCharter);
  f.only({"title", "version", "previous", "admission", "cards", "revoked"});
  charter = {one_line_text(f, "title", 256),
             f.integer("version", 1, kMostVersions),
             bytes_at<32>(f, "previous"),
             one_line_text(f, "admission", 4096),
             {},
             hex_list<32>(f, "revoked", 0, kMostSites)};
  if ((charter.version == 1) != (charter.previous == Sha256Digest{}))
    f.fail("previous", "does not go with the version");
  for (const JsonFields& entry : f.objects("cards", kMostSites)) {
    charter.cards.push_back(read_header(entry));
    members.push_back({charter.cards.back().sender, read_card(charter.cards.back(), name)});
  }
  require_different(f, "cards", members, [](const Member& m) { return m.key; });
  require_different(f, "cards", members, [](const Member& m) { return m.card.name; });
  require_different(f, "revoked", charter.revoked, [](const auto& key) { return key; });
  for (const Member& member : members) {
    if (std::ranges::count(charter.revoked, member.key) > 0)
      f.fail("cards", fmt::format("has '{}', whose key is revoked", member.card.name));
    if (member.card.coordinator != (member.key == coordinator))
      f.fail("cards", "need exactly one coordinator, who signs the charter");
  }
  if (find(coordinator) == nullptr) f.fail("cards", "lack the coordinator's");
}

const Consortium::Member* Consortium::find(const crypto::SitePublicKey& key) const {
  const auto at = std::ranges::find(members, key, &Member::key);
  return at == members.end() ? nullptr : &*at;
}

const Consortium::Member* Consortium::find(std::string_view member) const {
  const auto at = std::ranges::find(members, member, [](const Member& m) { return m.card.name; });
  return at == members.end() ? nullptr : &*at;
}

void Consortium::require_follows(const Consortium& earlier) const {
  const auto refuse = [&](const std::string& why) {
    throw ProtocolError(fmt::format("charter {} does not follow charter {}: {}. Ask the coordinator.",
                                    charter.version, earlier.charter.version, why));
  };
  if (coordinator != earlier.coordinator) refuse("another coordinator signed it");
  if (charter.version != earlier.charter.version + 1 || charter.previous != earlier.id)
    refuse("it is no next version of it");
  for (const crypto::SitePublicKey& key : earlier.charter.revoked) {
    if (std::ranges::count(charter.revoked, key) == 0)
      refuse(fmt::format("the key {} was revoked, and is not any more", to_hex(key)));
  }
}

SignedHeader countersignature_of(const Consortium& consortium) {
  SignedHeader header{.kind = MessageKind::kCountersignature, .answers = consortium.id};
  header.body = json::object();
  return header;
}

const Consortium::Member& check_countersignature(const Consortium& consortium, const SignedHeader& header) {
  const JsonDocument document = message_document("a countersignature");
  const JsonFields f(header.body, document);
  require_kind(f, header, MessageKind::kCountersignature);
  f.only({});
  if (header.answers != consortium.id)
    throw ProtocolError("this countersignature is of another charter than the one that is looked at.");
  const Consortium::Member* member = consortium.find(header.sender);
  if (member == nullptr)
    throw ProtocolError(
        fmt::format("a countersignature is of a key that is no member's, {}.", to_hex(header.sender)));
  return *member;
}

SignedHeader decline_of(const ProposedRound& round, DeclineCode code) {
  SignedHeader header{.kind = MessageKind::kDecline, .round = round.id, .answers = round.id};
  header.body = {{"code", name_of(code)}};
  return header;
}

Declined check_decline(const ProposedRound& round, const SignedHeader& header) {
  const JsonDocument document = message_document("a decline");
  const JsonFields f(header.body, document);
  if (header.kind != MessageKind::kDecline || header.numbers != 0) f.fail("", "is no decline");
  f.only({"code"});
  if (header.round != round.id || header.answers != round.id)
    throw ProtocolError(fmt::format("this decline is of another round, {}.", to_hex(header.round)));
  const std::optional<std::size_t> site = round.site(header.sender);
  if (!site)
    throw ProtocolError(
        fmt::format("a decline is of a key that was not invited, {}.", to_hex(header.sender)));
  return {*site, static_cast<DeclineCode>(f.choice("code", decline_codes()))};
}

bool is_called(std::string_view name, const SignedHeader& h) {
  const std::string of = "a message";
  switch (h.kind) {
    case MessageKind::kCard:
      return name == card_name(h.sender);
    case MessageKind::kCharter:
      return name == charter_name(Consortium(h, of).charter.version);
    case MessageKind::kCountersignature:
      return is_name_of_ours(name) && name.starts_with("charter-") &&
             name.ends_with("-" + crypto::short_fingerprint(h.sender) + ".mfm");
    case MessageKind::kRoundKeys:
      return name == round_keys_name(h.sender, read_round_keys(h, of).first);
    case MessageKind::kProposal:
      return name == proposal_name(h.id());
    case MessageKind::kDecline:
      return name == decline_name(h.round, h.sender);
    case MessageKind::kContribution:
      return name == contribution_name(h.round, h.sender);
    case MessageKind::kSeal:
      return name == seal_name(h.round);
    case MessageKind::kOpening:
      return name == opening_name(h.round, h.sender);
    case MessageKind::kRelease:
      return name == release_statement_name(h.round);
    case MessageKind::kReceipt:
      return name == receipt_name(h.round, h.sender);
    case MessageKind::kAbandonment:
      return name == abandonment_name(h.round);
    case MessageKind::kStandInRequest:
      return name == stand_in_request_name(h.round);
    case MessageKind::kStandIn:
      return name == stand_in_name(h.round, h.sender);
    case MessageKind::kSum:
      return name == sum_name(h.round);
    case MessageKind::kApproval:
      break;  // it stays at its site
  }
  return false;
}

std::map<std::string, std::uint64_t> messages_of(const ProposedRound& round) {
  std::map<std::string, std::uint64_t> out{{seal_name(round.id), kMostBytesOfLists},
                                           {abandonment_name(round.id), kMostBytesOfWords}};
  if (round.last()) {
    out.emplace(release_statement_name(round.id), kMostBytesOfWords);
    out.emplace(release_name(round.id), round.most_release_bytes());
  } else {
    out.emplace(sum_name(round.id), most_bytes(round.length));
  }
  for (const crypto::SignerKey& site : round.proposal.sites) {
    out.emplace(contribution_name(round.id, site.key), most_bytes(round.length));
    out.emplace(decline_name(round.id, site.key), kMostBytesOfWords);
    out.emplace(receipt_name(round.id, site.key), kMostBytesOfWords);
  }
  for (const HolderKey& h : round.proposal.holders) {
    out.emplace(opening_name(round.id, h.holder.key), most_bytes(round.length));
    out.emplace(receipt_name(round.id, h.holder.key), kMostBytesOfWords);
    if (round.shares_keys()) out.emplace(stand_in_name(round.id, h.holder.key), kMostBytesOfLists);
  }
  if (round.shares_keys()) out.emplace(stand_in_request_name(round.id), kMostBytesOfWords);
  return out;
}

bool is_for(const crypto::SitePublicKey& party, const ProposedRound& round, const std::string& name) {
  if (round.holder(party)) return true;
  for (const crypto::SignerKey& site : round.proposal.sites) {
    if (site.key != party && name == contribution_name(round.id, site.key)) return false;
  }
  return std::ranges::none_of(round.proposal.holders, [&](const HolderKey& h) {
    return name == opening_name(round.id, h.holder.key) || name == stand_in_name(round.id, h.holder.key);
  });
}

SignedHeader approval_of(const ProposedRound& round, const crypto::SitePublicKey& site, std::uint64_t day) {
  SignedHeader header{.kind = MessageKind::kApproval, .round = round.first(), .answers = round.first()};
  header.body = {{"site", to_hex(site)}, {"day", day}};
  return header;
}

std::uint64_t approved_on(const SignedHeader& header) {
  const JsonDocument document = message_document("an approval");
  const JsonFields f(header.body, document);
  f.only({"site", "holder", "day", "code"});
  return f.integer("day", 0, kMostDays);
}

SignedHeader opening_approval_of(const ProposedRound& round, const Sha256Digest& seal,
                                 const crypto::SitePublicKey& holder, std::uint64_t day) {
  SignedHeader header{.kind = MessageKind::kApproval, .round = round.id, .answers = seal};
  header.body = {{"holder", to_hex(holder)}, {"day", day}};
  return header;
}

SignedHeader personal_decline_of(const ProposedRound& round, const crypto::SitePublicKey& site,
                                 DeclineCode code, std::uint64_t day) {
  SignedHeader header{.kind = MessageKind::kDecline, .round = round.id, .answers = round.id};
  header.body = {{"site", to_hex(site)}, {"day", day}, {"code", name_of(code)}};
  return header;
}

namespace {

/// Whether a header says what `wanted` makes of its day.
template <class Wanted>
bool says(const SignedHeader& header, const Wanted& wanted_on) {
  SignedHeader wanted;
  try {
    wanted = wanted_on(approved_on(header));
  } catch (const ProtocolError&) {  // some other message, or an approval that was changed
    return false;
  }
  return header.kind == wanted.kind && header.round == wanted.round && header.answers == wanted.answers &&
         header.body == wanted.body && header.numbers == 0;
}

}  // namespace

bool approves(const SignedHeader& header, const ProposedRound& round, const crypto::SitePublicKey& site) {
  return says(header, [&](std::uint64_t day) { return approval_of(round, site, day); });
}

bool approves_opening(const SignedHeader& header, const ProposedRound& round, const Sha256Digest& seal,
                      const crypto::SitePublicKey& holder) {
  return says(header, [&](std::uint64_t day) { return opening_approval_of(round, seal, holder, day); });
}

}  // namespace muffle::release
