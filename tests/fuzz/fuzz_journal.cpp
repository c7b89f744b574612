// parse_journal. Input: 'R' and a file; any other byte: every line's "prev" and "sha256" are replaced by the
// right ones first, so that what the lines say is reached.
#include <set>

#include "chained_lines.hpp"
#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/journal.hpp"

using namespace muffle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::string bytes = input.byte() == 'R' ? std::string(input.rest()) : fuzz::mend(input.rest());
  release::JournalState state;
  try {
    state = release::parse_journal(bytes, "journal.mfj");
  } catch (const ProtocolError&) {
    return 0;
  }
  fuzz::demand(state.good_bytes + state.torn.size() == bytes.size(), "every byte is accounted for");
  const auto whole = release::parse_journal(std::string_view(bytes).substr(0, state.good_bytes), "whole");
  fuzz::demand(whole.head == state.head && whole.torn.empty(), "the good part is a journal by itself");
  std::set<crypto::ExchangePoint> sealed;
  std::set<std::pair<crypto::RoundId, release::MessageKind>> pending;
  for (const release::JournalEntry& e : state.entries) {
    if (e.kind == release::JournalEntry::Kind::kSeal)
      fuzz::demand(sealed.insert(e.key).second && state.seal_of(e.key) == e.message,
                   "a round key has one seal");
    if (e.kind != release::JournalEntry::Kind::kPending) continue;
    fuzz::demand(pending.insert({e.round, e.what}).second && state.pending(e.round, e.what) == e.message,
                 "a round has one message of a kind");
    fuzz::demand(e.what != release::MessageKind::kOpening || sealed.contains(e.key),
                 "an opening has its seal");
    fuzz::demand(e.what != release::MessageKind::kStandIn ||
                     pending.contains({e.round, release::MessageKind::kOpening}),
                 "who stands in has opened");
    fuzz::demand(
        (e.what != release::MessageKind::kStandIn && e.what != release::MessageKind::kStandInRequest) ||
            !pending.contains({e.round, release::MessageKind::kAbandonment}),
        "nobody stands in in an abandoned round");
  }
  return 0;
}
