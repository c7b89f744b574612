#include <fmt/format.h>

#include "holder_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::holder {
namespace {

using release::JournalEntry;
using release::MessageKind;

/// Of a key holder that is a site as well: its own contribution, if it is sealed, is the one that it made.
void require_own_contribution(const Act& act) {
  const crypto::SitePublicKey own = act.job.key.public_key();
  const std::string name = release::contribution_name(act.round.id, own);
  const std::filesystem::path file = outbox(act.job.folder) / name;
  for (const release::SignedHeader& header : act.seal->seal.contributions) {
    if (header.sender != own) continue;
    if (is_there(file, "this site's contribution", "Nothing was opened.") &&
        release::parse_message(read_file(file, release::most_bytes(act.round.length)), name).header.id() ==
            header.id())
      return;
    throw ProtocolError(
        "the seal counts a contribution with this site's signature that this site has not made: somebody "
        "else acts with its key, or its folder was restored from an older copy. Nothing was opened.");
  }
}

}  // namespace

Next open(Act& act) {
  const release::SealedRound& seal = *act.seal;
  const std::uint64_t number = act.own.number;
  require_own_contribution(act);
  if (!act.job.has_round_key(number))
    throw ConfigError(fmt::format(
        "the round names round key {} of this key holder, and it is not there: erased after an earlier "
        "round, or left out of the copy that this folder was restored from, as it must be. This key holder "
        "counts as missing: {}. Nothing was opened.",
        number, act.round.shares_keys() ? "others may stand in for it" : "the round makes no release"));
  KeyHolder with_key(act.round, act.job.key, act.job.round_key(number));
  const auto& bound = act.journal.state();
  if (act.round.proposal.later && !bound.seal_of(act.place()))
    act.journal.add({JournalEntry::Kind::kSeal, act.round.id, act.place(), MessageKind::kSeal, seal.id});
  if (!bound.seal_of(act.own.point))
    act.journal.add({JournalEntry::Kind::kSeal, act.round.id, act.own.point, MessageKind::kSeal, seal.id});
  const std::unique_ptr<privacy::EntropySource> entropy = entropy_of(act.job.entropy);
  KeyHolder::Opened opened = std::move(with_key).open(seal, *entropy, act.job.clock.heartbeat);
  if (opened.shares) opened.shares->save(act.job.shares);  // while the round key is there to make them again
  const bool objects =
      !release::read_opening(release::parse_message(opened.message, "the opening").header, seal.sites.size())
           .objections.empty();
  act.out.push_back(act.opening.bind(std::move(opened.message), act.own.point));
  act.erase_key();
  act.report.done.push_back(fmt::format("opened the sum of {} contributions{}; round key {} is erased",
                                        seal.sites.size(), objects ? ", and objects to some of them" : "",
                                        number));
  act.report.waits.push_back("the release");
  return {Through()};
}

}  // namespace muffle::round::holder
