#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "coordinator_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"

namespace muffle::round::coordinator {
namespace {

AwaitingNext await_next(const Act& act) {
  return AwaitingNext(
      act.round, fmt::format("a person who proposes the next round (`muffle coordinator propose --after {}`)",
                             release::short_id(act.round.id)));
}

/// Of a round that another one follows.
Next publish_sum(Act& act, const release::SealedRound& seal, const std::vector<release::OpenedBy>& opened,
                 privacy::NoisySum&& sum) {
  const std::vector<std::uint64_t> numbers(sum.values.begin(), sum.values.end());
  const release::SignedHeader header =
      release::sign(release::sum_of(act.round, seal, opened, sum.is_private), act.job.key, numbers);
  act.out.push_back(act.statement.bind(release::message_bytes(header, numbers)));
  act.report.done.push_back(fmt::format("published the noisy sum of round {} of {}: {} numbers, of {} sites",
                                        act.round.proposal.number(), act.round.proposal.plan.rounds(),
                                        numbers.size(), seal.sites.size()));
  return {await_next(act)};
}

Next publish_release(Act& act, const release::SealedRound& seal, const std::vector<release::OpenedBy>& opened,
                     privacy::NoisySum&& sum) {
  const release::Artifact artifact = release::artifact_of_round(act.round, seal, act.earlier, opened,
                                                                std::move(sum), act.job.muffle_version);
  std::string bytes = release::artifact_bytes(artifact);
  write_file_atomically(act.release_file(), bytes);
  const release::SignedHeader statement = release::sign(
      release::release_statement_of(act.round, seal, bytes, artifact.muffle_version), act.job.key);
  // Bound before anybody sees the release: with a late opening in place of stand-ins it would be another.
  act.out.push_back(act.statement.bind(release::message_bytes(statement)));
  act.out.push_back({release::release_name(act.round.id), std::move(bytes)});
  const std::string stem = release::short_id(act.round.id);
  write_file_atomically(act.job.folder / (stem + "-privacy.json"), release::privacy_statement_json(artifact));
  write_file_atomically(act.job.folder / (stem + "-privacy.txt"), release::privacy_statement_text(artifact));
  act.report.done.push_back(fmt::format("released {} numbers, of {} sites: {}", artifact.values.size(),
                                        seal.sites.size(), release::release_name(act.round.id)));
  return {Through()};
}

}  // namespace

Next publish(Act& act, Sealed&& sealed) {
  const std::vector<release::OpenedBy> opened = sealed.sum.opened();
  const std::set<std::string> objections(sealed.sum.objections().begin(), sealed.sum.objections().end());
  privacy::NoisySum total = std::move(sealed.sum).finish();
  if (!objections.empty())
    act.report.aside.push_back(
        fmt::format("objections of key holders to the contributions of {}: with other keys than theirs the "
                    "sum would be uniform, and it is in range, so these objections are wrong{}. Find out why",
                    fmt::join(objections, ", "),
                    act.round.shares_keys() ? ", or of shares that stand-ins would have needed" : ""));
  return act.round.last() ? publish_release(act, sealed.seal, opened, std::move(total))
                          : publish_sum(act, sealed.seal, opened, std::move(total));
}

Next release_again(Act& act) {
  if (!act.round.last()) return {await_next(act)};
  std::string bytes = read_file(act.release_file());
  const release::Artifact artifact = release::parse_artifact(bytes, act.release_file().string());
  act.out.push_back({release::release_name(act.round.id), std::move(bytes)});
  const std::string stem = release::short_id(act.round.id);
  for (const auto& [file, text] :
       {std::pair(stem + "-privacy.json", release::privacy_statement_json(artifact)),
        std::pair(stem + "-privacy.txt", release::privacy_statement_text(artifact))}) {
    if (!is_there(act.job.folder / file, "the privacy statement", "The release is there."))
      write_file_atomically(act.job.folder / file, text);
  }
  return {Through()};
}

}  // namespace muffle::round::coordinator
