#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"
#include "muffle/round/parties.hpp"
#include "step_files.hpp"

namespace muffle::round {
namespace {

using release::Message;
using release::MessageKind;
using release::SealedRound;
using release::SignedHeader;

class CoordinatorStep {
 public:
  CoordinatorStep(const ProposedRound& round, Exchange& exchange, const CoordinatorJob& job)
      : round_(round),
        exchange_(exchange),
        job_(job),
        journal_(open_journal(job.folder, job.key, job.clock)),
        seal_(round, exchange, journal_, job.key, job.folder, MessageKind::kSeal,
              release::seal_name(round.id), 0),
        statement_(round, exchange, journal_, job.key, job.folder, MessageKind::kRelease,
                   release::release_statement_name(round.id), 0),
        abandonment_(round, exchange, journal_, job.key, job.folder, MessageKind::kAbandonment,
                     release::abandonment_name(round.id), 0) {
    if (job.key.public_key() != round.coordinator)
      throw ConfigError(
          fmt::format("the key of '{}' is not that of the round's coordinator.", job.key.name()));
  }

  StepReport run() && {
    ensure_writable_folder(outbox(job_.folder));
    put_strangers_aside();
    if (const auto given_up = abandonment_.sent()) {
      report_.lost = true;
      report_.done.push_back(
          fmt::format("the round is abandoned ({})", name_of(check_abandonment(round_, given_up->header))));
      return std::move(report_);
    }
    std::optional<Message> sealed = seal_.sent();
    if (!sealed) sealed = seal();
    if (sealed) finish(SealedRound(round_, sealed->header));
    return std::move(report_);
  }

  /// Whatever has come: unless it is released.
  StepReport abandon(release::AbandonCode code) && {
    if (statement_.sent()) throw ConfigError("the round is released: what is public cannot be abandoned.");
    if (!abandonment_.sent()) give_up(code, "somebody decided it");
    return std::move(report_);
  }

 private:
  void give_up(release::AbandonCode code, const std::string& why) {
    abandonment_.send(release::message_bytes(release::sign(release::abandonment_of(round_, code), job_.key)));
    report_.lost = true;
    report_.done.push_back(
        fmt::format("the round is abandoned: {}. What sites were charged stays charged", why));
  }

  /// What is called like a message of this round, and is nobody's who takes part.
  void put_strangers_aside() {
    const auto known = release::messages_of(round_);
    for (const std::string& name : exchange_.list()) {
      if (release::is_of_round(name, round_.id) && !known.contains(name) &&
          name != release::proposal_name(round_.id))
        report_.aside.push_back(name + ": it is of nobody who takes part in the round");
    }
  }

  /// None: it is not there, or was put aside.
  template <class Check>
  std::optional<Message> good(const std::string& name, std::uint64_t numbers, const Check& check) {
    try {
      std::optional<Message> message = message_in(exchange_, name, numbers);
      if (message) check(message->header);
      return message;
    } catch (const ProtocolError& e) {
      report_.aside.push_back(name + ": " + e.what());
      return std::nullopt;
    }
  }

  std::optional<Message> contribution(std::size_t site) {
    return good(release::contribution_name(round_.id, round_.proposal.sites[site].key), round_.length,
                [&](const SignedHeader& header) {
                  if (release::check_contribution(round_, header) != site)
                    throw ProtocolError("it is another site's contribution.");
                });
  }

  bool declined(std::size_t site) {
    return good(release::decline_name(round_.id, round_.proposal.sites[site].key), 0,
                [&](const SignedHeader& header) {
                  if (release::check_decline(round_, header).site != site)
                    throw ProtocolError("it is another site's decline.");
                })
        .has_value();
  }

  /// Seals what counts, if it is time. None: it is not, or too few have come.
  std::optional<Message> seal() {
    const auto& sites = round_.proposal.sites;
    std::vector<SignedHeader> contributions;
    std::vector<std::string> missing, no;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (const std::optional<Message> message = contribution(i)) {
        contributions.push_back(message->header);
      } else {
        (declined(i) ? no : missing).push_back(sites[i].name);
      }
    }
    const bool late = job_.clock.now > round_.proposal.contribute_until;
    const auto least = static_cast<std::size_t>(round_.proposal.parties.least);
    if (!missing.empty() && !late) {
      report_.waits.push_back(fmt::format(
          "contributions of {}, until {} ({} of {} have answered)", fmt::join(missing, ", "),
          time_text(round_.proposal.contribute_until), sites.size() - missing.size(), sites.size()));
      return std::nullopt;
    }
    if (contributions.size() < least) {
      give_up(release::AbandonCode::kTooFew,
              fmt::format("{} contributions came, and {} are needed{}{}", contributions.size(), least,
                          no.empty() ? "" : fmt::format("; declined: {}", fmt::join(no, ", ")),
                          missing.empty() ? "" : fmt::format("; silent: {}", fmt::join(missing, ", "))));
      return std::nullopt;
    }
    const std::size_t count = contributions.size();
    const std::string bytes = make_seal(round_, job_.key, std::move(contributions));
    seal_.send(bytes);
    missing.insert(missing.end(), no.begin(), no.end());
    report_.done.push_back(
        fmt::format("sealed {} of {} contributions{}", count, sites.size(),
                    missing.empty() ? "" : fmt::format(", without {}", fmt::join(missing, ", "))));
    return release::parse_message(bytes, "the seal");
  }

  void finish(const SealedRound& seal) {
    if (statement_.sent()) {
      send_release(read_file(release_file()));
      return;
    }
    release::Summation sum(round_, seal);
    std::vector<Sha256Digest> openings;
    std::vector<std::string> missing;
    for (const release::HolderKey& h : round_.proposal.holders) {
      const auto opening = good(release::opening_name(round_.id, h.holder.key), round_.length,
                                [&](const SignedHeader& header) {
                                  if (header.sender != h.holder.key)
                                    throw ProtocolError("it is another key holder's opening.");
                                });
      if (opening && take(sum, *opening, h.holder.key)) {
        openings.push_back(opening->header.id());
      } else {
        missing.push_back(h.holder.name);
      }
    }
    add_contributions(sum, seal, missing.empty());
    if (!missing.empty()) {
      report_.lost = job_.clock.now > round_.proposal.open_until;
      report_.waits.push_back(fmt::format("openings of {}, {} {}", fmt::join(missing, ", "),
                                          report_.lost ? "wanted until" : "until",
                                          time_text(round_.proposal.open_until)));
      return;
    }
    const std::set<std::string> objections(sum.objections().begin(), sum.objections().end());
    privacy::NoisySum total = std::move(sum).finish();
    if (!objections.empty())
      report_.aside.push_back(
          fmt::format("objections of key holders to the contributions of {}: with other keys than theirs the "
                      "sum would be uniform, and it is in range, so these objections are wrong. Find out why",
                      fmt::join(objections, ", ")));
    release_it(release::artifact_of_round(round_, seal, openings, std::move(total), job_.muffle_version),
               seal);
  }

  bool take(release::Summation& sum, const Message& opening, const crypto::SitePublicKey& holder) {
    try {
      sum.take_opening(opening);
      return true;
    } catch (const ProtocolError& e) {
      report_.aside.push_back(release::opening_name(round_.id, holder) + ": " + e.what());
      return false;
    }
  }

  /// @param needed  false: only looks for what came late
  void add_contributions(release::Summation& sum, const SealedRound& seal, bool needed) {
    for (std::size_t i = 0; i < round_.proposal.sites.size(); ++i) {
      const std::string name = release::contribution_name(round_.id, round_.proposal.sites[i].key);
      const bool sealed = std::ranges::binary_search(seal.sites, i);
      if (!sealed) {
        if (contribution(i)) report_.aside.push_back(name + ": it came after the seal");
        continue;
      }
      if (!needed) continue;
      const std::optional<Message> message = contribution(i);
      if (!message)
        throw ProtocolError(
            fmt::format("'{}' was sealed, and is not there any more, or was damaged: ask {} to put it again.",
                        name, round_.proposal.sites[i].name));
      sum.add_contribution(*message);
    }
  }

  std::filesystem::path release_file() const {
    return outbox(job_.folder) / release::release_name(round_.id);
  }

  void release_it(const release::Artifact& artifact, const SealedRound& seal) {
    const std::string bytes = release::artifact_bytes(artifact);
    // The same messages make the same bytes again, so that the file need not be bound before it is there.
    write_file_atomically(release_file(), bytes);
    const SignedHeader statement =
        release::sign(release::release_statement_of(round_, seal, bytes), job_.key);
    exchange_.put(release::release_name(round_.id), bytes);
    statement_.send(release::message_bytes(statement));
    const std::string stem = release::short_id(round_.id);
    write_file_atomically(job_.folder / (stem + "-privacy.json"), release::privacy_statement_json(artifact));
    write_file_atomically(job_.folder / (stem + "-privacy.txt"), release::privacy_statement_text(artifact));
    report_.done.push_back(fmt::format("released {} numbers, of {} sites: {}", artifact.values.size(),
                                       seal.sites.size(), release::release_name(round_.id)));
  }

  void send_release(const std::string& bytes) {
    exchange_.put(release::release_name(round_.id), bytes);
    const release::Artifact artifact = release::parse_artifact(bytes, release_file().string());
    const std::string stem = release::short_id(round_.id);
    for (const auto& [file, text] :
         {std::pair(stem + "-privacy.json", release::privacy_statement_json(artifact)),
          std::pair(stem + "-privacy.txt", release::privacy_statement_text(artifact))}) {
      if (!is_there(job_.folder / file, "the privacy statement", "The release is there."))
        write_file_atomically(job_.folder / file, text);
    }
  }

  const ProposedRound& round_;
  Exchange& exchange_;
  const CoordinatorJob& job_;
  release::Journal journal_;
  BoundMessage seal_, statement_, abandonment_;
  StepReport report_;
};

}  // namespace

StepReport abandon_round(const ProposedRound& round, Exchange& exchange, const CoordinatorJob& job,
                         release::AbandonCode code) {
  return CoordinatorStep(round, exchange, job).abandon(code);
}

StepReport coordinator_step(const ProposedRound& round, Exchange& exchange, const CoordinatorJob& job) {
  return CoordinatorStep(round, exchange, job).run();
}

}  // namespace muffle::round
