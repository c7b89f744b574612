// Messages of a round between institutions and of their consortium. Input: R and a file, or one of P C S O, B
// (contribution with boxes), Q (request for stand-ins), I (stand-in), U (sum), K (card), H (charter), N
// (round keys), and D (decline), A (abandonment), X (release) and T (receipt) of one round, and a body as
// JSON, which a signature would keep from a fuzzer: what a signed message of that kind says.
#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/round_release.hpp"
#include "release/sample_artifact.hpp"

namespace {

using namespace muffle;
using namespace muffle::release;

crypto::SitePublicKey key_of(unsigned char i) {
  crypto::SitePublicKey key;
  key.fill(i);
  return key;
}

SignedHeader coordinators(MessageKind kind, nlohmann::json body) {
  SignedHeader header{.kind = kind};
  header.sender = key_of(9);
  header.body = std::move(body);
  return header;
}

const ProposedRound& a_round() {
  static const ProposedRound round = [] {
    Proposal p{.title = "x",
               .plan = testing_artifact::sample_plan({.classes = 1, .features = 2}),
               .parties = {2, 2, 2, 1, 3, 1, 0},
               .sites = {{"n", key_of(1)}, {"s", key_of(2)}},
               .holders = {{{"a", key_of(3)}, 1, key_of(13)},
                           {{"b", key_of(4)}, 1, key_of(14)},
                           {{"c", key_of(5)}, 1, key_of(15)}},
               .contribute_until = 1'800'000'000,
               .open_until = 1'800'000'001};
    return ProposedRound({coordinators(MessageKind::kProposal, body_of(p)), {}}, "x");
  }();
  return round;
}

/// What a party says of a round beside its numbers: all but the body is as it must be.
void say_of_round(std::uint8_t kind, nlohmann::json body) {
  const ProposedRound& round = a_round();
  SignedHeader h = coordinators(MessageKind::kDecline, std::move(body));
  h.round = h.answers = round.id;
  if (kind == 'D') {
    h.sender = key_of(1);
    const Declined declined = check_decline(round, h);
    fuzz::demand(declined.site == 0 && decline_of(round, declined.code).body == h.body, "one decline");
  } else if (kind == 'A') {
    h.kind = MessageKind::kAbandonment;
    fuzz::demand(abandonment_of(round, check_abandonment(round, h)).body == h.body, "one abandonment");
  } else if (kind == 'X') {
    h.kind = MessageKind::kRelease;
    check_release_statement(round, round.id, h, "release");
    fuzz::demand(h.body.size() == 2, "a statement says what the release is and whose");
  } else {
    const SignedHeader statement = h;
    h.kind = MessageKind::kReceipt;
    h.sender = key_of(4);
    h.answers = statement.id();
    fuzz::demand(receipt_of(round, statement, check_receipt(round, statement, h)).body == h.body,
                 "one receipt");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint8_t kind = input.byte();
  const std::string_view text = input.rest();
  try {
    if (kind == 'R') {
      const release::Message message = release::parse_message(text, "x");
      fuzz::demand(release::message_bytes(message.header, message.numbers) == text,
                   "one message, one spelling");
      return 0;
    }
    release::SignedHeader header;
    header.body = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (kind == 'D' || kind == 'A' || kind == 'X' || kind == 'T') {
      say_of_round(kind, std::move(header.body));
    } else if (kind == 'P') {
      const release::Proposal proposal = release::read_proposal(header, "x");
      fuzz::demand(release::body_of(proposal) == header.body, "one proposal, one spelling");
    } else if (kind == 'C') {
      const release::Contribution contribution = release::read_contribution(header, 3, false);
      fuzz::demand(release::body_of(contribution) == header.body, "one contribution, one spelling");
    } else if (kind == 'B') {
      const release::Contribution contribution = release::read_contribution(header, 4, true);
      fuzz::demand(release::body_of(contribution) == header.body,
                   "one contribution with boxes, one spelling");
    } else if (kind == 'Q') {
      const release::StandInRequest request = release::read_stand_in_request(header, 2);
      fuzz::demand(release::body_of(request) == header.body, "one request, one spelling");
    } else if (kind == 'I') {
      const release::StandIn stand_in = release::read_stand_in(header, 2, 3);
      fuzz::demand(release::body_of(stand_in) == header.body, "one stand-in, one spelling");
    } else if (kind == 'S') {
      const release::Seal seal = release::read_seal(header, 4);
      fuzz::demand(release::body_of(seal) == header.body, "one seal, one spelling");
    } else if (kind == 'U') {
      fuzz::demand(body_of(release::read_sum(header, 3, 2)) == header.body, "one sum, one spelling");
    } else if (kind == 'K') {
      header.kind = release::MessageKind::kCard;
      fuzz::demand(body_of(release::read_card(header, "x")) == header.body, "one card, one spelling");
    } else if (kind == 'H') {
      header.kind = release::MessageKind::kCharter;
      // Whoever signs is the coordinator of the seeds.
      if (const auto* cards =
              header.body.is_object() && header.body.contains("cards") ? &header.body["cards"] : nullptr;
          cards != nullptr && cards->is_array() && !cards->empty() && cards->front().is_object()) {
        const auto sender = cards->front().find("sender");
        if (sender != cards->front().end() && sender->is_string())
          (void)crypto::from_hex(sender->get<std::string>(), header.sender);
      }
      const release::Consortium consortium(header, "x");
      fuzz::demand(body_of(consortium.charter) == header.body, "one charter, one spelling");
    } else if (kind == 'N') {
      header.kind = release::MessageKind::kRoundKeys;
      fuzz::demand(body_of(release::read_round_keys(header, "x")) == header.body,
                   "one list of keys, one spelling");
    } else {
      const release::Opening opening = release::read_opening(header, 4);
      fuzz::demand(release::body_of(opening) == header.body, "one opening, one spelling");
    }
  } catch (const ProtocolError&) {
  } catch (const ConfigError&) {
    fuzz::demand(kind == 'P', "only parties and noise are settings");
  }
  return 0;
}
