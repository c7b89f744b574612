// Messages of a round between institutions and of their consortium. Input: R and a file, or one of P C B S O
// A T, K (card), H (charter) and N (round keys) and a body as JSON, which a signature would keep from a
// fuzzer: what a signed message of that kind says.
#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/membership.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muffle;
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
    if (kind == 'P') {
      const release::Proposal proposal = release::read_proposal(header, "x");
      fuzz::demand(release::body_of(proposal) == header.body, "one proposal, one spelling");
    } else if (kind == 'C') {
      const release::Contribution contribution = release::read_contribution(header, 3, false);
      fuzz::demand(release::body_of(contribution) == header.body, "one contribution, one spelling");
    } else if (kind == 'B') {
      const release::Contribution contribution = release::read_contribution(header, 4, true);
      fuzz::demand(release::body_of(contribution) == header.body,
                   "one contribution with boxes, one spelling");
    } else if (kind == 'A') {
      const release::StandInRequest request = release::read_stand_in_request(header, 2);
      fuzz::demand(release::body_of(request) == header.body, "one request, one spelling");
    } else if (kind == 'T') {
      const release::StandIn stand_in = release::read_stand_in(header, 2, 3);
      fuzz::demand(release::body_of(stand_in) == header.body, "one stand-in, one spelling");
    } else if (kind == 'S') {
      const release::Seal seal = release::read_seal(header, 4);
      fuzz::demand(release::body_of(seal) == header.body, "one seal, one spelling");
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
