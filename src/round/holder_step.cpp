#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/crypto/secret_file.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"
#include "muffle/round/parties.hpp"
#include "step_files.hpp"

namespace muffle::round {
namespace {

using release::JournalEntry;
using release::Message;
using release::MessageKind;

class HolderStep {
 public:
  HolderStep(const ProposedRound& round, Exchange& exchange, const HolderJob& job)
      : round_(round),
        exchange_(exchange),
        job_(job),
        own_(own_key(round, job.key)),
        journal_(open_journal(job.folder, job.key, job.clock)),
        opening_(round, exchange, journal_, job.key, job.folder, MessageKind::kOpening,
                 release::opening_name(round.id, job.key.public_key()), round.length),
        stand_in_(round, exchange, journal_, job.key, job.folder, MessageKind::kStandIn,
                  release::stand_in_name(round.id, job.key.public_key()), 0) {}

  StepReport run() && {
    ensure_writable_folder(outbox(job_.folder));
    // What nobody opens by then, nobody opens, whatever lies in the exchange: a key that is kept can be
    // betrayed. What was sent or is bound to be sent is kept as bytes.
    const bool over = job_.clock.now() > round_.proposal.open_until;
    if (over) erase();
    if (job_.clock.now() > round_.proposal.last_day()) erase_shares();
    const auto code = abandoned(round_, exchange_);
    if (code && !opening_.has_left()) return std::move(obey(*code));
    if (!code && is_over_by_receipt()) return std::move(report_);
    const std::optional<Message> sent = opening_.sent();
    if (over && !sent) {
      opening_.erase_unbound();
      erase_shares();
      report_.lost = true;
      report_.done.push_back(
          fmt::format("the round was to be opened until {}: this key holder opens nothing more",
                      time_text(round_.proposal.open_until)));
      return std::move(report_);
    }
    std::optional<release::SealedRound> seal;
    if (const auto sealed = message_in(exchange_, release::seal_name(round_.id), 0))
      seal.emplace(round_, sealed->header);
    if (seal) require_one_seal(*seal);
    if (sent) {
      erase();
      if (!receive_release(sent->header.answers)) await_release(seal ? &*seal : nullptr);
    } else if (!seal) {
      report_.waits.push_back("the coordinator's seal; the round ends " +
                              time_text(round_.proposal.open_until));
    } else if (may_open(*seal)) {
      open(*seal);
    }
    return std::move(report_);
  }

 private:
  /// Opens nothing: not even what it had bound itself to send, and has not sent yet.
  StepReport& obey(release::AbandonCode code) {
    opening_.give_up();
    erase();
    erase_shares();
    report_.lost = true;
    report_.done.push_back(fmt::format(
        "the coordinator has abandoned the round ({}): nothing is opened, and round key {} is erased",
        name_of(code), own_.number));
    acknowledge_abandonment();
    return report_;
  }

  /// Its receipt says that the round is over for it, also where the exchange hides now that it was abandoned.
  bool is_over_by_receipt() {
    if (!journal_.state().pending(round_.id, MessageKind::kReceipt) || opening_.has_left() ||
        opening_.is_kept())
      return false;
    report_.lost = true;
    report_.done.push_back(
        "this key holder has given a receipt for the round's end and has no opening: it opens nothing more");
    return true;
  }

  void acknowledge_abandonment() {
    const auto message = message_in(exchange_, release::abandonment_name(round_.id), 0);
    BoundMessage receipt = receipt_message();
    if (!receipt.sent())
      receipt.send(release::message_bytes(
          release::sign(release::receipt_of(round_, message->header, true), job_.key)));
  }

  BoundMessage receipt_message() {
    return {round_,
            exchange_,
            journal_,
            job_.key,
            job_.folder,
            MessageKind::kReceipt,
            release::receipt_name(round_.id, job_.key.public_key()),
            0};
  }

  static const release::HolderKey& own_key(const ProposedRound& round, const crypto::SiteKey& key) {
    const std::optional<std::size_t> place = round.holder(key.public_key());
    if (!place)
      throw ConfigError(fmt::format("the key of '{}' is none of the round's key holders'.", key.name()));
    return round.proposal.holders[*place];
  }

  void require_one_seal(const release::SealedRound& seal) const {
    if (const auto other = journal_.state().seal_of(place()); other && *other != seal.id)
      throw ProtocolError(
          fmt::format("There are two seals for round {} of one release: {}, which this key holder has opened "
                      "or is bound to "
                      "open under another proposal, and {}. A site that contributed to both would be charged "
                      "once for two "
                      "draws, so this one is not opened. Ask the coordinator which, and tell the others.",
                      round_.proposal.number(), to_hex(*other), to_hex(seal.id)));
    const std::optional<Sha256Digest> known = journal_.state().seal_of(own_.point);
    if (!known || *known == seal.id) return;
    throw ProtocolError(
        fmt::format("There are two seals for round key {} of this key holder: {}, which it has opened or is "
                    "bound to open, and {}. Whoever opens both takes the noise apart, so this one is not "
                    "opened. The coordinator has signed two lists of contributions, or its folder was "
                    "restored from an older copy: ask it which, and tell the others.",
                    own_.number, to_hex(*known), to_hex(seal.id)));
  }

  /// A later round's place in its release, which is opened once, whatever proposals there are for it. In the
  /// journal it stands where a round key does.
  crypto::ExchangePoint place() const {
    return sha256(PublicBytes(fmt::format("muffle round of a release 1\n{}\n{}\n", to_hex(round_.first()),
                                          round_.proposal.number())));
  }

  /// A seal of fewer than were invited is opened before the deadline only if the others have declined.
  bool may_open(const release::SealedRound& seal) {
    if (journal_.state().seal_of(own_.point)) return true;  // it was bound to this one
    std::vector<std::string> missing;
    for (const std::size_t i : asked()) {
      if (!std::ranges::binary_search(seal.sites, i) && !declined(i))
        missing.push_back(round_.proposal.sites[i].name);
    }
    if (missing.empty() || job_.clock.now() > round_.proposal.contribute_until) return true;
    report_.waits.push_back(
        fmt::format("{}, whom the seal leaves out though they may still contribute until {}",
                    fmt::join(missing, ", "), time_text(round_.proposal.contribute_until)));
    return false;
  }

  /// Sites that the round asks: all or, in a later round, those of the first one's seal, as this key holder
  /// knows it; who was not in that has no part in the others.
  std::vector<std::size_t> asked() {
    std::vector<std::size_t> all(round_.proposal.sites.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (!round_.proposal.later) return all;
    try {
      const auto proposal = message_in(exchange_, release::proposal_name(round_.first()), 0);
      const auto sealed = message_in(exchange_, release::seal_name(round_.first()), 0);
      if (!proposal || !sealed) return all;
      const ProposedRound first(*proposal, release::proposal_name(round_.first()));
      const release::SealedRound seal(first, sealed->header);
      const auto own = first.holder(job_.key.public_key());
      if (first.id == round_.first() && first.coordinator == round_.coordinator && own &&
          journal_.state().seal_of(first.proposal.holders[*own].point) == seal.id)
        return seal.sites;
    } catch (const ProtocolError& e) {
      report_.aside.push_back(fmt::format("the release's first round: {}", e.what()));
    }
    return all;
  }

  bool declined(std::size_t site) {
    const std::string name = release::decline_name(round_.id, round_.proposal.sites[site].key);
    try {
      const std::optional<Message> message = message_in(exchange_, name, 0);
      return message && release::check_decline(round_, message->header).site == site;
    } catch (const ProtocolError& e) {
      report_.aside.push_back(name + ": " + e.what());
      return false;
    }
  }

  /// Of a key holder that is a site as well: its own contribution, if it is sealed, is the one that it made.
  void require_own_contribution(const release::SealedRound& seal) const {
    const std::string name = release::contribution_name(round_.id, job_.key.public_key());
    const std::filesystem::path file = outbox(job_.folder) / name;
    for (const release::SignedHeader& header : seal.seal.contributions) {
      if (header.sender != job_.key.public_key()) continue;
      if (is_there(file, "this site's contribution", "Nothing was opened.") &&
          release::parse_message(read_file(file, release::most_bytes(round_.length)), name).header.id() ==
              header.id())
        return;
      throw ProtocolError(
          "the seal counts a contribution with this site's signature that this site has not made: somebody "
          "else acts with its key, or its folder was restored from an older copy. Nothing was opened.");
    }
  }

  void open(const release::SealedRound& seal) {
    require_own_contribution(seal);
    if (!job_.has_round_key(own_.number))
      throw ConfigError(fmt::format(
          "the round names round key {} of this key holder, and it is not there: erased after an earlier "
          "round, or left out of the copy that this folder was restored from, as it must be. This key holder "
          "counts as missing: {}. Nothing was opened.",
          own_.number, round_.shares_keys() ? "others may stand in for it" : "the round makes no release"));
    KeyHolder role(round_, job_.key, job_.round_key(own_.number));
    if (round_.proposal.later && !journal_.state().seal_of(place()))
      journal_.add({JournalEntry::Kind::kSeal, round_.id, place(), MessageKind::kSeal, seal.id});
    if (!journal_.state().seal_of(own_.point))
      journal_.add({JournalEntry::Kind::kSeal, round_.id, own_.point, MessageKind::kSeal, seal.id});
    const std::unique_ptr<privacy::EntropySource> entropy = entropy_of(job_.entropy);
    const KeyHolder::Opened opened = std::move(role).open(seal, *entropy, job_.clock.heartbeat);
    if (opened.shares) opened.shares->save(job_.shares);  // while the round key is there to make them again
    opening_.send(opened.message, own_.point);
    erase();
    const auto objections =
        release::read_opening(release::parse_message(opened.message, "the opening").header, seal.sites.size())
            .objections;
    report_.done.push_back(
        fmt::format("opened the sum of {} contributions{}; round key {} is erased", seal.sites.size(),
                    objections.empty() ? "" : ", and objects to some of them", own_.number));
    report_.waits.push_back("the release");
  }

  void erase() {
    job_.erase_round_key(own_.number);
    if (!journal_.state().erased(own_.point))
      journal_.add({JournalEntry::Kind::kErased, round_.id, own_.point, MessageKind::kSeal, {}});
  }

  void erase_shares() {
    stand_in_.erase_unbound();
    if (round_.shares_keys()) crypto::erase_secret_file(job_.shares, "the shares of the round's keys");
  }

  /// For those who are missing, if the coordinator asks: once, and what is said is bound first. Its shares of
  /// one answer say nothing alone; two answers could name more key holders than may be missing.
  void stand_in(const release::SealedRound& seal) {
    // For this key holder the round is over, whatever the exchange shows now.
    if (journal_.state().pending(round_.id, MessageKind::kReceipt)) return;
    if (stand_in_.sent()) return;
    const release::Proposal& p = round_.proposal;
    if (job_.clock.now() > p.stand_in_until) {
      erase_shares();
      return;
    }
    const std::optional<Message> asked = message_in(exchange_, release::stand_in_request_name(round_.id), 0);
    if (!asked) return;
    const release::AskedRound request(round_, seal, asked->header);
    if (job_.clock.now() <= p.open_until) {
      report_.waits.push_back(
          fmt::format("the end of {}: until then those for whom the coordinator asks may still open",
                      time_text(p.open_until)));
      return;
    }
    std::vector<std::size_t> opened;
    std::vector<std::string> names;
    for (const std::size_t h : request.missing) {
      if (has_opened(h, seal)) {
        opened.push_back(h);
      } else {
        names.push_back(p.holders[h].holder.name);
      }
    }
    if (!is_there(job_.shares, "the shares of the round's keys", "Nobody was stood in for.")) {
      report_.done.push_back(
          "the coordinator asks for stand-ins, and this key holder's shares are gone: left out of the copy "
          "that its folder was restored from, as they must be. It stands in for nobody");
      return;
    }
    const crypto::HeldShares shares =
        crypto::HeldShares::load(job_.shares, seal.id, seal.sites.size(), p.holders.size());
    const std::optional<std::string> bytes = make_stand_in(round_, seal, request, job_.key, shares, opened);
    if (!bytes) {
      report_.done.push_back(
          "the coordinator asks for stand-ins for key holders who have all opened: none is given");
      return;
    }
    stand_in_.send(*bytes);
    report_.done.push_back(fmt::format("stood in for {}", fmt::join(names, ", ")));
  }

  bool has_opened(std::size_t holder, const release::SealedRound& seal) {
    const crypto::SitePublicKey& key = round_.proposal.holders[holder].holder.key;
    const std::string name = release::opening_name(round_.id, key);
    try {
      const std::optional<Message> there = message_in(exchange_, name, round_.length);
      if (!there) return false;
      release::require_of_round(round_, there->header, MessageKind::kOpening, seal.id);
      return there->header.sender == key;
    } catch (const ProtocolError& e) {
      report_.aside.push_back(name + ": " + e.what());
      return false;
    }
  }

  /// Of a key holder that has opened: it stands in for others, and waits until the round's last day.
  void await_release(const release::SealedRound* seal) {
    const std::string until = time_text(round_.proposal.last_day());
    if (const auto code = abandoned(round_, exchange_)) {
      erase_shares();
      acknowledge_abandonment();  // bound: nobody is stood in for any more, also where it is hidden later
      report_.lost = true;
      report_.done.push_back(
          fmt::format("the coordinator has abandoned the round ({}), after this opening", name_of(*code)));
      return;
    }
    if (seal != nullptr && round_.shares_keys()) stand_in(*seal);
    report_.lost = job_.clock.now() > round_.proposal.last_day();
    if (report_.lost) {
      report_.done.push_back(fmt::format("the round ended {}, and made no release", until));
    } else {
      report_.waits.push_back("the release; the round ends " + until);
    }
  }

  /// @returns whether it is there.
  bool receive_release(const Sha256Digest& seal) {
    std::optional<release::SignedHeader> statement;
    if (!round_.last()) {
      statement = see_sum(round_, seal, exchange_);
    } else if (std::optional<SeenRelease> seen = see_release(round_, seal, exchange_)) {
      statement = std::move(seen->statement);
    }
    if (!statement) return false;
    erase_shares();
    if (!round_.last()) await_next(round_, exchange_, job_.clock, report_);
    BoundMessage receipt = receipt_message();
    if (receipt.sent()) return true;
    receipt.send(
        release::message_bytes(release::sign(release::receipt_of(round_, *statement, true), job_.key)));
    report_.done.push_back(round_.last() ? "the round is released; sent a receipt"
                                         : "the round has its sum; sent a receipt");
    return true;
  }

  const ProposedRound& round_;
  Exchange& exchange_;
  const HolderJob& job_;
  const release::HolderKey& own_;
  release::Journal journal_;
  BoundMessage opening_, stand_in_;
  StepReport report_;
};

}  // namespace

StepReport holder_step(const ProposedRound& round, Exchange& exchange, const HolderJob& job) {
  return HolderStep(round, exchange, job).run();
}

}  // namespace muffle::round
