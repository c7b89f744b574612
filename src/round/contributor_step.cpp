#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/release/contribution_book.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/parties.hpp"
#include "refused_records.hpp"
#include "step_files.hpp"

namespace muffle::round {
namespace {

using release::ContributionBook;
using release::Message;
using release::SealedRound;

class ContributorStep {
 public:
  ContributorStep(const ProposedRound& round, Exchange& exchange, const ContributorJob& job)
      : round_(round),
        exchange_(exchange),
        job_(job),
        role_(round, job.key),
        name_(release::contribution_name(round.id, job.key.public_key())) {}

  StepReport run() && {
    ensure_writable_folder(outbox(job_.folder));
    ensure_drafts(job_.folder);
    switch (standing()) {
      case ContributionBook::Standing::kMade:
        break;  // standing() has followed it up
      case ContributionBook::Standing::kSpent:
        if (is_abandoned()) break;
        report_.lost = true;
        report_.waits.clear();
        report_.done.push_back(
            "this site has drawn its share of the noise for this round, once for its charge, and was cut off "
            "before the contribution was kept, made it under another proposal, or gave it up with the "
            "round. The charge stays spent: no second contribution is drawn for it, and this site has no "
            "part in the round");
        break;
      case ContributionBook::Standing::kNew:
        if (may_contribute()) contribute();
        break;
    }
    return std::move(report_);
  }

 private:
  ContributionBook book() const {
    return {round_,
            job_.key.public_key(),
            job_.book,
            outbox(job_.folder) / name_,
            drafts(job_.folder) / name_,
            job_.clock.heartbeat};
  }

  std::optional<std::string> in_exchange() {
    return exchange_.get(name_, release::most_bytes(round_.length));
  }

  ContributionBook::Standing standing() {
    ContributionBook kept = book();
    const std::optional<std::string> there = in_exchange();
    const ContributionBook::Standing out = kept.settle(there);
    if (out == ContributionBook::Standing::kMade) follow_up(kept, there.has_value());
    return out;
  }

  /// Sends what was made, and sees what became of it.
  void follow_up(ContributionBook& kept, bool there) {
    if (!there) {
      if (is_abandoned()) {  // what has not left yet stays
        kept.give_up();
        return;
      }
      exchange_.put(name_, kept.bytes());
      report_.done.push_back("contributed, for charge " + kept.charge());
    }
    const std::optional<Message> sealed = message_in(exchange_, release::seal_name(round_.id), 0);
    if (!sealed) {
      if (is_abandoned()) return;
      wait_for("the coordinator's seal");
      return;
    }
    const SealedRound seal(round_, sealed->header);
    const Message own = release::parse_message(kept.bytes(), name_);
    bool counts = false;
    for (const release::SignedHeader& header : seal.seal.contributions) {
      if (header.sender != own.header.sender) continue;
      if (header.id() != own.header.id())
        throw ProtocolError(
            "the seal counts a contribution with this site's signature that this site has not made for its "
            "charge: somebody else acts with its key, or its folder was restored from an older copy. Tell "
            "the key "
            "holders at once.");
      counts = true;
    }
    if (!counts) {
      report_.lost = true;
      report_.done.push_back("the coordinator sealed the round without this site; its charge stays spent");
    }
    if (!round_.last()) {
      if (see_sum(round_, seal.id, exchange_)) {
        report_.done.push_back(fmt::format("round {} of {} has its sum", round_.proposal.number(),
                                           round_.proposal.plan.rounds()));
        if (counts) await_next(round_, exchange_, job_.clock, report_);
      } else if (!is_abandoned()) {
        wait_for("the key holders' openings and the sum");
      }
    } else if (const auto release = see_release(round_, seal.id, exchange_)) {
      kept.note_release(release->bytes);
      report_.done.push_back("the round is released");
    } else if (!is_abandoned()) {
      wait_for("the key holders' openings and the release");
    }
  }

  bool is_abandoned() {
    const auto code = abandoned(round_, exchange_);
    if (!code) return false;
    report_.lost = true;
    report_.done.push_back(
        fmt::format("the coordinator has abandoned the round ({}); what was charged stays "
                    "charged",
                    name_of(*code)));
    return true;
  }

  /// Not for ever. A release that comes later is noted by a later step.
  void wait_for(const char* what) {
    const std::string until = time_text(round_.proposal.last_day());
    if (job_.clock.now() <= round_.proposal.last_day()) {
      report_.waits.push_back(fmt::format("{}; the round ends {}", what, until));
      return;
    }
    report_.lost = true;
    report_.done.push_back(
        fmt::format("the round ended {}, and {} did not come; the charge stays spent", until, what));
  }

  /// Whether everything but the records says yes. Public values only.
  bool may_contribute() {
    const auto decline = message_in(exchange_, release::decline_name(round_.id, job_.key.public_key()), 0);
    if (decline && decline->header.sender == job_.key.public_key()) {
      report_.done.push_back("this site has declined");
      return false;
    }
    if (is_abandoned()) return false;
    if (const auto sealed = message_in(exchange_, release::seal_name(round_.id), 0)) {
      const SealedRound seal(round_, sealed->header);  // or somebody else has put it there
      if (std::ranges::count(seal.seal.contributions, job_.key.public_key(), &release::SignedHeader::sender) >
          0)
        throw ProtocolError(
            "the seal counts a contribution of this site that its ledger does not know: the ledger was "
            "restored from an older copy, or somebody else acts with the site's key. Nothing was charged or "
            "drawn.");
      report_.lost = true;
      report_.done.push_back("the round was sealed without this site");
      return false;
    }
    if (job_.clock.now() > round_.proposal.contribute_until) {
      report_.lost = true;
      report_.done.push_back(fmt::format("contributions were wanted until {}: this site did not contribute",
                                         time_text(round_.proposal.contribute_until)));
      return false;
    }
    if (!goes_on()) return false;
    const SiteVerdict verdict = job_.verdict();
    if (verdict.answer == SiteVerdict::Answer::kYes) return true;
    (verdict.answer == SiteVerdict::Answer::kWait ? report_.waits : report_.done).push_back(verdict.why);
    return false;
  }

  /// Of a later round: whether it goes on where those before have ended, with this site in them.
  bool goes_on() {
    if (!round_.proposal.later) return true;
    std::string missing;
    const auto read = [&](const std::string& name, std::uint64_t most) { return exchange_.get(name, most); };
    const std::vector<release::EndedRound> earlier = release::earlier_rounds(round_, read, &missing);
    if (earlier.empty()) {
      report_.waits.push_back(fmt::format("'{}', which this round goes on from", missing));
      return false;
    }
    const release::SignedHeader* const first =
        earlier.front().seal.contribution_of(round_.site(job_.key.public_key()).value());
    if (first == nullptr) {
      report_.lost = true;
      report_.done.push_back(
          "the release's first round was sealed without this site: it has no part in this one");
      return false;
    }
    const release::Contribution counted =
        release::read_contribution(*first, round_.proposal.holders.size(), round_.shares_keys());
    const privacy::LedgerState ledger =
        privacy::Ledger::preview(job_.book.ledger, job_.book.data_id, job_.book.budget);
    const privacy::ChargeRecord* const charge = ledger.find_charge(counted.charge);
    if (charge == nullptr || charge->terms.run != release::charged_as(round_.first()))
      throw ProtocolError(
          "the release's first seal counts a contribution of this site that its ledger was not charged "
          "for: the ledger was restored from an older copy, or somebody else acts with the site's key. "
          "Nothing was drawn.");
    if (!charge->between_rounds() || charge->rounds_kept + 1 != round_.proposal.number()) {
      report_.lost = true;
      report_.done.push_back(
          "this site did not finish an earlier round of this release: it has no part in this one");
      return false;
    }
    first_records_ = counted.records;
    return true;
  }

  void require_budget() const {
    if (round_.proposal.later) return;  // its first round was charged for all
    const privacy::ChargeTerms terms = release::contribution_terms(round_, true);
    const privacy::LedgerState state =
        privacy::Ledger::preview(job_.book.ledger, job_.book.data_id, job_.book.budget);
    privacy::require_unit(state, terms.unit);
    const privacy::Quote quote =
        privacy::quote(state, terms.mu, terms.secure_noise, round_.proposal.plan.noise.delta);
    if (!quote.allowed)
      throw PrivacyError(
          fmt::format("This site's privacy budget refuses: {}. No record was read, and nothing was "
                      "charged, drawn or sent. `muffle site decline` tells the others.",
                      quote.text));
  }

  OwnSums checked_sums() const {
    OwnSums own = job_.sum_records(round_);
    const bool counted = round_.proposal.plan.adjacency == privacy::Adjacency::kReplaceOne;
    require(counted || own.records == 0,
            "a private number of records was to be sent: this is a bug in muffle.");
    if (counted && own.records > round_.proposal.plan.records)
      throw DataError(
          fmt::format("this site has more records than the proposal's plan has in all, {}: the sums "
                      "could overflow. Ask the coordinator for another proposal. Nothing was charged.",
                      round_.proposal.plan.records));
    if (first_records_ && own.records != *first_records_)
      throw DataError(
          "this site has another number of records than in the first round of this release, and all rounds "
          "are of the same ones: put the same files back. Nothing was drawn.");
    return own;
  }

  void contribute() {
    require_budget();
    const RefusedRecords refused(job_.folder, round_.id);
    refused.require_none();
    OwnSums own = refused.note_failure_of([&] { return checked_sums(); });
    // From the charge to its COMMIT the ledger is locked. Charged this late, bad records have cost nothing.
    ContributionBook kept = book();
    if (kept.settle(in_exchange()) != ContributionBook::Standing::kNew)
      throw ProtocolError("another step of this site has contributed meanwhile. Run the command again.");
    // Hours may have gone by: a person has declined, the coordinator abandoned or sealed the round, its day
    // is over, a limit was lowered. Nothing is charged then.
    if (!may_contribute()) return;
    const std::unique_ptr<privacy::EntropySource> entropy = entropy_of(job_.entropy);
    constexpr std::size_t kBesideNumbers = std::size_t{1} << 20;
    constexpr std::size_t kCopies = 2;  // the draft goes once the contribution is there
    require_room(job_.folder, kCopies * (round_.length * sizeof(std::uint64_t) + kBesideNumbers));
    // A charge without a contribution would be budget for nothing: a request to stop waits.
    const comm::TerminationHold hold;
    kept.make(entropy->is_secure(), [&](const release::Charge& charge) {
      privacy::NoiseShare share(round_.noise.shares(), *entropy, job_.clock.heartbeat);
      return role_.contribute(std::move(own.sums), std::move(share), charge, own.records);
    });
    round_times(outbox(job_.folder));  // when it was written would tell how long the records took
    exchange_.put(name_, kept.bytes());
    report_.done.push_back("contributed, for charge " + kept.charge());
    wait_for("the coordinator's seal");
  }

  const ProposedRound& round_;
  Exchange& exchange_;
  const ContributorJob& job_;
  const Contributor role_;
  const std::string name_;
  std::optional<std::uint64_t> first_records_;  ///< of a later round: what the first one's contribution said
  StepReport report_;
};

}  // namespace

bool ledger_knows(const ProposedRound& round, Exchange& exchange, const ContributorJob& job) {
  const crypto::SitePublicKey own = job.key.public_key();
  const std::string name = release::contribution_name(round.id, own);
  const std::uint64_t most = release::most_bytes(round.length);
  std::vector<std::string> made;    // SHA-256 of what bears this site's signature
  std::vector<std::string> sealed;  // charges of what a seal counts of it
  const auto look = [](const auto& at) {
    try {
      at();
    } catch (const ProtocolError&) {
      // It is none of this site's: whoever steps in this very round hears of it.
    }
  };
  const auto note = [&](const std::string& bytes) {
    const release::SignedHeader header = release::parse_message(bytes, name).header;
    if (header.sender == own && header.round == round.id) made.push_back(to_hex(sha256(PublicBytes(bytes))));
  };
  look([&] {
    const std::filesystem::path kept = outbox(job.folder) / name;
    if (is_there(kept, "this site's contribution", "Nothing was charged.")) note(read_file(kept, most));
  });
  look([&] {
    if (const auto there = exchange.get(name, most)) note(*there);
  });
  look([&] {
    const auto message = message_in(exchange, release::seal_name(round.id), 0);
    if (!message) return;
    for (const release::SignedHeader& header : SealedRound(round, message->header).seal.contributions) {
      if (header.sender == own)
        sealed.push_back(
            release::read_contribution(header, round.proposal.holders.size(), round.shares_keys()).charge);
    }
  });
  if (made.empty() && sealed.empty()) return true;
  const privacy::LedgerState state =
      privacy::Ledger::preview(job.book.ledger, job.book.data_id, job.book.budget);
  const auto charges = state.charges_for(release::charged_as(round.first()));
  return std::ranges::all_of(made,
                             [&](const std::string& hash) {
                               return std::ranges::any_of(charges, [&](const privacy::ChargeRecord* charge) {
                                 return release::bound_contribution(round, *charge) == hash;
                               });
                             }) &&
         std::ranges::all_of(sealed, [&](const std::string& id) {
           return std::ranges::any_of(charges, [&](const privacy::ChargeRecord* charge) {
             return charge->id == id && release::bound_contribution(round, *charge);
           });
         });
}

StepReport contributor_step(const ProposedRound& round, Exchange& exchange, const ContributorJob& job) {
  return ContributorStep(round, exchange, job).run();
}

}  // namespace muffle::round
