#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/release/later_rounds.hpp"
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
        request_(round, exchange, journal_, job.key, job.folder, MessageKind::kStandInRequest,
                 release::stand_in_request_name(round.id), 0),
        statement_(round, exchange, journal_, job.key, job.folder,
                   round.last() ? MessageKind::kRelease : MessageKind::kSum,
                   round.last() ? release::release_statement_name(round.id) : release::sum_name(round.id),
                   round.last() ? 0 : round.length),
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
    if (statement_.sent()) {
      if (round_.last()) {
        send_release(read_file(release_file()));
      } else {
        await_next();
      }
      return std::move(report_);
    }
    earlier_ = release::earlier_rounds(
        round_, [&](const std::string& name, std::uint64_t most) { return exchange_.get(name, most); });
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
    return good(
        release::contribution_name(round_.id, round_.proposal.sites[site].key), round_.length,
        [&](const SignedHeader& header) {
          if (release::check_contribution(round_, header) != site)
            throw ProtocolError("it is another site's contribution.");
          if (!earlier_.empty())
            release::require_goes_on(
                earlier_.front(), site,
                release::read_contribution(header, round_.proposal.holders.size(), round_.shares_keys()));
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
    for (const std::size_t i : awaited()) {
      if (const std::optional<Message> message = contribution(i)) {
        contributions.push_back(message->header);
      } else {
        (declined(i) ? no : missing).push_back(sites[i].name);
      }
    }
    const bool late = job_.clock.now() > round_.proposal.contribute_until;
    const std::size_t asked = awaited().size();
    const std::size_t least =
        earlier_.empty() ? static_cast<std::size_t>(round_.proposal.parties.least) : asked;
    if (!missing.empty() && !late) {
      report_.waits.push_back(
          fmt::format("contributions of {}, until {} ({} of {} have answered)", fmt::join(missing, ", "),
                      time_text(round_.proposal.contribute_until), asked - missing.size(), asked));
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
        fmt::format("sealed {} of {} contributions{}", count, asked,
                    missing.empty() ? "" : fmt::format(", without {}", fmt::join(missing, ", "))));
    return release::parse_message(bytes, "the seal");
  }

  /// Sites whose contributions are waited for: all or, in a later round, those of the first one's seal.
  std::vector<std::size_t> awaited() const {
    if (!earlier_.empty()) return earlier_.front().seal.sites;
    std::vector<std::size_t> all(round_.proposal.sites.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  void finish(const SealedRound& seal) {
    release::Summation sum(round_, seal);
    std::vector<std::size_t> missing;
    for (std::size_t h = 0; h < round_.proposal.holders.size(); ++h) {
      const crypto::SitePublicKey& key = round_.proposal.holders[h].holder.key;
      const std::string name = release::opening_name(round_.id, key);
      const auto opening = good(name, round_.length, [&](const SignedHeader& header) {
        if (header.sender != key) throw ProtocolError("it is another key holder's opening.");
      });
      if (!opening || !counts(name, [&] { sum.take_opening(*opening); })) missing.push_back(h);
    }
    const bool whole = missing.empty() || made_up_for(sum, seal, missing);
    add_contributions(sum, seal, whole);
    if (!whole) return;
    const std::vector<release::OpenedBy> opened = sum.opened();
    const std::set<std::string> objections(sum.objections().begin(), sum.objections().end());
    privacy::NoisySum total = std::move(sum).finish();
    if (!objections.empty())
      report_.aside.push_back(fmt::format(
          "objections of key holders to the contributions of {}: with other keys than theirs the "
          "sum would be uniform, and it is in range, so these objections are wrong{}. Find out why",
          fmt::join(objections, ", "),
          round_.shares_keys() ? ", or of shares that stand-ins would have needed" : ""));
    if (!round_.last()) return publish(seal, opened, std::move(total));
    release_it(
        release::artifact_of_round(round_, seal, earlier_, opened, std::move(total), job_.muffle_version),
        seal);
  }

  /// Of a round that another one follows.
  void publish(const SealedRound& seal, const std::vector<release::OpenedBy>& opened,
               privacy::NoisySum&& sum) {
    const std::vector<std::uint64_t> numbers(sum.values.begin(), sum.values.end());
    const SignedHeader header =
        release::sign(release::sum_of(round_, seal, opened, sum.is_private), job_.key, numbers);
    statement_.send(release::message_bytes(header, numbers));
    report_.done.push_back(fmt::format("published the noisy sum of round {} of {}: {} numbers, of {} sites",
                                       round_.proposal.number(), round_.proposal.plan.rounds(),
                                       numbers.size(), seal.sites.size()));
    await_next();
  }

  void await_next() {
    if (next_is_proposed(round_, exchange_)) return;
    report_.waits.push_back(
        fmt::format("a person who proposes the next round: `muffle coordinator propose --after {}`",
                    release::short_id(round_.id)));
  }

  /// Whether others stand in for all who are missing. Asks them to, once the openings are overdue.
  bool made_up_for(release::Summation& sum, const SealedRound& seal,
                   const std::vector<std::size_t>& missing) {
    const release::Proposal& p = round_.proposal;
    std::vector<std::string> names;
    for (const std::size_t h : missing) names.push_back(p.holders[h].holder.name);
    const bool late = job_.clock.now() > p.open_until;
    if (!late || missing.size() > static_cast<std::size_t>(p.parties.missing_holders)) {
      await(fmt::format("openings of {}", fmt::join(names, ", ")), p.open_until);
      return false;
    }
    std::optional<Message> asked = request_.sent();
    if (!asked) {
      const std::string bytes = make_stand_in_request(round_, seal, job_.key, missing);
      request_.send(bytes);
      asked = release::parse_message(bytes, "the request for stand-ins");
      report_.done.push_back(
          fmt::format("asked the key holders who have opened to stand in for {}", fmt::join(names, ", ")));
    }
    const release::AskedRound request(round_, seal, asked->header);
    std::vector<std::string> silent;
    for (const release::HolderKey& h : p.holders) {
      const std::string name = release::stand_in_name(round_.id, h.holder.key);
      const auto given = good(name, 0, [&](const SignedHeader& header) {
        if (header.sender != h.holder.key) throw ProtocolError("it is another key holder's.");
      });
      const bool taken = given && counts(name, [&] { sum.take_stand_in(request, given->header); });
      if (!taken && std::ranges::count(names, h.holder.name) == 0) silent.push_back(h.holder.name);
    }
    const std::vector<release::OpenedBy> opened = sum.opened();
    if (std::ranges::all_of(missing, [&](std::size_t h) { return !opened[h].stand_ins.empty(); })) {
      report_.done.push_back(fmt::format("others stood in for {}", fmt::join(names, ", ")));
      return true;
    }
    await(fmt::format("stand-ins for {} of {}", fmt::join(names, ", "), fmt::join(silent, ", ")),
          p.stand_in_until);
    return false;
  }

  /// Of what the release still needs. After the last day nobody sends it any more.
  void await(const std::string& what, std::uint64_t until) {
    if (job_.clock.now() <= until) {
      report_.waits.push_back(fmt::format("{}, until {}", what, time_text(until)));
      return;
    }
    report_.lost = true;
    report_.done.push_back(
        fmt::format("{} were wanted until {}, and have not come: the round makes no release. Give it up, so "
                    "that all know (`muffle coordinator abandon --code missing`)",
                    what, time_text(until)));
  }

  /// Whether `take` takes a message; if not, it is put aside.
  template <class Take>
  bool counts(const std::string& name, const Take& take) {
    try {
      take();
      return true;
    } catch (const ProtocolError& e) {
      report_.aside.push_back(name + ": " + e.what());
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
    write_file_atomically(release_file(), bytes);
    const SignedHeader statement =
        release::sign(release::release_statement_of(round_, seal, bytes), job_.key);
    // Bound before anybody sees the release: with a late opening in place of stand-ins it would be another.
    statement_.send(release::message_bytes(statement));
    exchange_.put(release::release_name(round_.id), bytes);
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
  BoundMessage seal_, request_, statement_, abandonment_;
  std::vector<release::EndedRound> earlier_;
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
