// Messages of a round between institutions. Input: R and a file, or one of P C S O and a body as JSON, which
// a signature would keep from a fuzzer: what a signed message of that kind says.
#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/sealed_round.hpp"

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
      const release::Contribution contribution = release::read_contribution(header, 3);
      fuzz::demand(release::body_of(contribution) == header.body, "one contribution, one spelling");
    } else if (kind == 'S') {
      const release::Seal seal = release::read_seal(header, 4);
      fuzz::demand(release::body_of(seal) == header.body, "one seal, one spelling");
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
