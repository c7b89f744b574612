#include "muffle/release/message_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "muffle/core/text.hpp"
#include "muffle/crypto/fingerprint.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::release {
namespace {

std::string what_it_is(MessageKind kind) {
  switch (kind) {
    case MessageKind::kProposal:
      return "what is to be released, who is invited, who opens, until when: the columns' names and "
             "values, as public";
    case MessageKind::kDecline:
      return "a site takes no part, and a code that says why";
    case MessageKind::kContribution:
      return "a site's sums over its records, with its noise, under masks that all key holders together take "
             "off; public keys, hashes, the charge's number in its ledger, and what it calls these records";
    case MessageKind::kSeal:
      return "which contributions count: their signed headers, without their numbers";
    case MessageKind::kOpening:
      return "what a key holder's masks add up to over all sealed sites, with its noise: it says nothing of "
             "any one site";
    case MessageKind::kRelease:
      return "the coordinator's statement of the release: its hash";
    case MessageKind::kReceipt:
      return "a party has verified the release and erased its round key";
    case MessageKind::kCard:
      return "a party's name, roles and public keys";
    case MessageKind::kCharter:
      return "who is a member: cards, rules of admission, keys that are revoked";
    case MessageKind::kCountersignature:
      return "a member accepts the charter";
    case MessageKind::kRoundKeys:
      return "a key holder's public one-time keys";
    case MessageKind::kApproval:
      return "a person approves a round for one site: it has no need to leave that site";
    case MessageKind::kAbandonment:
      return "the coordinator gives the round up, and a code that says why";
    case MessageKind::kStandInRequest:
      return "the coordinator asks key holders to stand in for others who are missing";
    case MessageKind::kStandIn:
      return "shares of sealed sites' keys toward key holders who are missing";
    case MessageKind::kSum:
      return "the noisy sum of a round that another one follows, as it is public afterwards";
  }
  return {};
}

std::string values_of(const SignedHeader& h) {
  if (h.numbers == 0) return "none: no number that was computed from records";
  const std::string size = fmt::format("{} numbers of 8 bytes", h.numbers);
  if (h.kind == MessageKind::kContribution || h.kind == MessageKind::kOpening)
    return size + ", masked: without all key holders' openings nobody can tell them from chance";
  if (h.kind == MessageKind::kSum) return size + ", each with the noise of all sites; public";
  return size + ", which such a message does not have: do not let it pass";
}

}  // namespace

std::string message_in_words(const std::string& file, std::string_view bytes) {
  const std::string name = std::filesystem::path(file).filename().string();
  const Message message = parse_message(bytes, printable(file));
  const SignedHeader& h = message.header;
  std::string out = fmt::format("file         {}, {} bytes\n", printable(name), bytes.size());
  const auto line = [&](std::string_view what, const std::string& value) {
    out += fmt::format("{:<12} {}\n", what, value);
  };
  line("kind", std::string(name_of(h.kind)));
  line("is", what_it_is(h.kind));
  if (h.kind == MessageKind::kProposal) line("round", "the one that it begins: " + short_id(h.id()));
  if (h.round != crypto::RoundId{}) line("round", short_id(h.round));
  line("signed by", crypto::in_words(crypto::fingerprint(h.sender)) +
                        " (the fingerprint that the sender reads out by telephone)");
  line("signature", "good: the file is what that sender has signed, unchanged");
  line("values", values_of(h));
  if (const auto id = h.body.find("data_id");
      h.kind == MessageKind::kContribution && id != h.body.end() && id->is_string())
    line("data set", fmt::format("it says that its site calls these records '{}' (data.id)",
                                 printable(id->get<std::string>())));
  // Under replace-one a contribution says how many records its site has.
  if (const auto records = h.body.find("records"); h.kind == MessageKind::kContribution &&
                                                   records != h.body.end() && records->is_number_unsigned() &&
                                                   records->get<std::uint64_t>() > 0)
    line("records", fmt::format("it says that its site has {}, as the proposal demands", records->dump()));
  line("name", is_called(name, h) ? "is that of such a message by its sender"
                                  : "IS NOT that of such a message by its sender: nobody will read it");
  return out;
}

}  // namespace muffle::release
