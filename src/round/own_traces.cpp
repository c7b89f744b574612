#include "own_traces.hpp"

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/release/contribution_book.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round {
namespace {

/// What is none of this site's stops nobody here: whoever acts in this very round hears of it.
template <class Look>
void or_pass(const Look& look) {
  try {
    look();
  } catch (const ProtocolError&) {
  }
}

}  // namespace

OwnTraces::OwnTraces(const ProposedRound& round, const ContributorJob& job)
    : round_(round),
      job_(job),
      own_(job.key.public_key()),
      name_(release::contribution_name(round.id, own_)),
      seen_({wanted(name_, round.length), wanted(release::seal_name(round.id))}) {
  or_pass([&] {
    const std::filesystem::path kept = outbox(job.folder) / name_;
    if (is_there(kept, "this site's contribution", "Nothing was charged."))
      note_message(read_file(kept, release::most_bytes(round.length)));
  });
}

Letters OwnTraces::receive(Received&& message) {
  const std::vector<Wanted> still = wants();
  if (std::ranges::find(still, message.name, &Wanted::name) == still.end()) return {};
  const bool is_contribution = message.name == name_;
  seen_.take({message.name});
  or_pass([&] {
    if (!is_contribution) {
      note_seal(std::move(message));
    } else if (message.bytes) {
      note_message(*message.bytes);
    }
  });
  return {};
}

void OwnTraces::note_message(const std::string& bytes) {
  const release::SignedHeader header = release::parse_message(bytes, name_).header;
  if (header.sender == own_ && header.round == round_.id) made_.push_back(to_hex(sha256(PublicBytes(bytes))));
}

void OwnTraces::note_seal(Received&& received) {
  const auto message = message_of(std::move(received));
  if (!message) return;
  for (const release::SignedHeader& header :
       release::SealedRound(round_, message->header).seal.contributions) {
    if (header.sender == own_)
      sealed_.push_back(
          release::read_contribution(header, round_.proposal.holders.size(), round_.shares_keys()).charge);
  }
}

bool OwnTraces::are_known() const {
  if (made_.empty() && sealed_.empty()) return true;
  const privacy::LedgerState state =
      privacy::Ledger::preview(job_.book.ledger, job_.book.data_id, job_.book.budget);
  const auto charges = state.charges_for(release::charged_as(round_.first()));
  return std::ranges::all_of(made_,
                             [&](const std::string& hash) {
                               return std::ranges::any_of(charges, [&](const privacy::ChargeRecord* charge) {
                                 return release::bound_contribution(round_, *charge) == hash;
                               });
                             }) &&
         std::ranges::all_of(sealed_, [&](const std::string& id) {
           return std::ranges::any_of(charges, [&](const privacy::ChargeRecord* charge) {
             return charge->id == id && release::bound_contribution(round_, *charge);
           });
         });
}

}  // namespace muffle::round
