// parse_ledger and quote. Input: 'R' and a file; any other byte: every line's "prev" and "sha256" are
// replaced by the right ones first, so that what the lines say is reached.
#include "chained_lines.hpp"
#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/ledger.hpp"
#include "privacy/ledger_entry.hpp"

using namespace muffle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::string bytes = input.byte() == 'R' ? std::string(input.rest()) : fuzz::mend(input.rest());
  (void)privacy::ledger::charge_of_fragment(input.rest());
  privacy::LedgerState state;
  try {
    state = privacy::parse_ledger(bytes, "ledger.jsonl");
  } catch (const ProtocolError&) {
    return 0;
  }
  fuzz::demand(state.good_bytes + state.torn.size() == bytes.size(), "every byte is accounted for");
  const auto whole = privacy::parse_ledger(std::string_view(bytes).substr(0, state.good_bytes), "whole");
  fuzz::demand(whole.head == state.head && whole.torn.empty(), "the good part is a ledger by itself");
  double squares = 0;
  for (const privacy::ChargeRecord& charge : state.charges) {
    squares += charge.terms.mu * charge.terms.mu;
    fuzz::demand(state.find_charge(charge.id) != nullptr, "charges are found");
    fuzz::demand(state.unit == charge.terms.unit, "all charges are of one unit");
    fuzz::demand(!charge.artifact || charge.pending == charge.artifact, "a COMMIT is of what was bound");
    for (const std::string& text : {charge.terms.run, charge.host, charge.time, charge.terms.config_hash}) {
      for (const unsigned char c : text) fuzz::demand(c >= 0x20 && c != 0x7F, "no control characters");
      fuzz::demand(printable(text) == text, "nor those of C1");
    }
  }
  fuzz::demand(state.spent_squares >= squares * (1 - 1e-12), "every charge counts");
  const privacy::Quote quote = privacy::quote(state, 0.1, true, 1e-5);
  fuzz::demand(!quote.text.empty(), "the arithmetic is told");
  fuzz::demand(!(quote.allowed && state.budget && !(quote.total_mu <= state.budget->mu * (1 + 1e-12))),
               "no charge goes beyond the budget");
  return 0;
}
