#include "muffle/round/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"

namespace muffle::round {
namespace {

using release::Message;
using release::ProposedRound;
using release::SignedHeader;

/// Reads a round's files one by one; remembers which it knows, so that the others are set aside.
class Reader {
 public:
  Reader(Exchange& exchange, const ProposedRound& round, RoundStatus& out)
      : exchange_(exchange),
        round_(round),
        out_(out),
        known_(release::messages_of(round)),
        left_(names_of(exchange, round)) {}

  /// The message under a name, if it is there and `accept` does not throw.
  template <class Accept>
  std::optional<SignedHeader> take(const std::string& name, const Accept& accept) {
    if (left_.erase(name) == 0) return std::nullopt;
    try {
      const std::optional<Message> message = read_message(
          exchange_, name, known_.contains(name) ? std::optional(known_.at(name)) : std::nullopt);
      if (!message) return std::nullopt;
      accept(message->header);
      return message->header;
    } catch (const ProtocolError& error) {
      out_.set_aside.push_back({name, error.what()});
      return std::nullopt;
    }
  }
  /// Likewise of the release, which is no message.
  template <class Accept>
  bool take_release(const Accept& accept) {
    const std::string name = release::release_name(round_.id);
    if (left_.erase(name) == 0) return false;
    try {
      const auto bytes = exchange_.get(name, round_.most_release_bytes());
      if (!bytes) return false;
      accept(*bytes);
      return true;
    } catch (const ProtocolError& error) {
      out_.set_aside.push_back({name, error.what()});
      return false;
    }
  }
  void set_others_aside() {
    for (const std::string& name : left_)
      out_.set_aside.push_back({name, "no message of this round is called so."});
  }

 private:
  static std::set<std::string> names_of(Exchange& exchange, const ProposedRound& round) {
    std::set<std::string> names;
    for (std::string& name : exchange.list()) {
      if (release::is_of_round(name, round.id)) names.insert(std::move(name));
    }
    names.erase(release::proposal_name(round.id));
    return names;
  }

  Exchange& exchange_;
  const ProposedRound& round_;
  RoundStatus& out_;
  const std::map<std::string, std::uint64_t> known_;  ///< the most bytes of each
  std::set<std::string> left_;
};

void require_sender(const SignedHeader& header, const crypto::SitePublicKey& sender) {
  if (header.sender != sender) throw ProtocolError("it is signed by somebody else than its name says.");
}

/// @param asked  key holders whom others are asked to stand in for
std::string stage_of(const RoundStatus& s, std::size_t contributed, std::size_t opened, std::size_t asked) {
  const auto answered = static_cast<std::size_t>(
      std::ranges::count_if(s.sites, [](const RoundStatus::Party& p) { return p.answered; }));
  if (s.released && s.abandoned)
    return "released, and abandoned: the coordinator has signed both. Ask it; the release can be verified.";
  if (s.released && s.number < s.rounds) return "its sum is there: the next round goes on from it.";
  if (s.released) return "released: everybody can verify it.";
  if (s.sealed) {
    if (opened == s.holders.size()) return "all key holders have opened: the coordinator adds up.";
    if (asked > 0 && s.now > s.stand_in_until)
      return "the last day of stand-ins has passed: the coordinator decides what becomes of the round.";
    if (asked > 0)
      return fmt::format("waits for key holders to stand in for {}.",
                         asked == 1 ? "one who is missing" : "those who are missing");
    return s.now > s.open_until
               ? "the last day of openings has passed: the coordinator decides what becomes of the round."
               : "waits for key holders to open.";
  }
  if (answered == s.sites.size() && contributed < static_cast<std::size_t>(s.least))
    return "ended: too few sites contributed.";
  if (answered == s.sites.size()) return "all sites have answered: the coordinator seals.";
  if (s.now <= s.contribute_until) return "waits for sites to contribute.";
  return contributed < static_cast<std::size_t>(s.least)
             ? "ended: too few sites contributed before the deadline."
             : "the deadline has passed: the coordinator seals.";
}

/// What a key holder's receipt says of the release, or of the round's sum.
const char* words_of(release::Found found) {
  switch (found) {
    case release::Found::kSame:
      return "; has verified what was published";
    case release::Found::kNotAllThere:
      return "; has a receipt for what was published, unverified";
    case release::Found::kOther:
      return "; OBJECTS: what was published is not what the messages add up to. Verify it (--evidence)";
    case release::Found::kOtherMuffle:
      return "; has another version of muffle than what was published was made by: not compared bit for bit";
  }
  return "";
}

}  // namespace

RoundStatus read_status(Exchange& exchange, const ProposedRound& round, std::uint64_t now) {
  const release::Proposal& p = round.proposal;
  RoundStatus out;
  out.id = release::short_id(round.id);
  out.title = printable(p.title);
  out.contribute_until = p.contribute_until;
  out.open_until = p.open_until;
  out.stand_in_until = p.stand_in_until;
  out.now = now;
  out.least = p.parties.least;
  Reader reader(exchange, round, out);
  std::optional<release::SealedRound> seal;
  (void)reader.take(release::seal_name(round.id),
                    [&](const SignedHeader& header) { seal.emplace(round, header); });
  out.sealed = seal.has_value();
  std::size_t contributed = 0, opened = 0;
  for (std::size_t i = 0; i < p.sites.size(); ++i) {
    const crypto::SignerKey& site = p.sites[i];
    RoundStatus::Party& party =
        out.sites.emplace_back(RoundStatus::Party{site.name, false, "nothing here yet"});
    const auto contribution =
        reader.take(release::contribution_name(round.id, site.key), [&](const SignedHeader& h) {
          require_sender(h, site.key);
          (void)release::check_contribution(round, h);
        });
    std::optional<release::Declined> declined;
    (void)reader.take(release::decline_name(round.id, site.key), [&](const SignedHeader& h) {
      require_sender(h, site.key);
      declined = release::check_decline(round, h);
    });
    const bool counts = seal && std::ranges::count(seal->sites, i) > 0;
    party.answered = contribution.has_value() || declined.has_value() || counts;
    if (contribution) {
      ++contributed;
      party.state = !seal    ? "contributed"
                    : counts ? "contributed, and counts"
                             : "contributed, and was left out of the seal";
    } else if (counts) {
      party.state = "counts by the seal, and its contribution is not here";
    } else if (declined) {
      party.state = fmt::format("declined ({})", name_of(declined->code));
    } else if (seal || now > p.contribute_until) {
      party.state = "did not answer";
    }
  }
  std::optional<release::AskedRound> request;
  (void)reader.take(release::stand_in_request_name(round.id), [&](const SignedHeader& header) {
    if (!seal || !round.shares_keys())
      throw ProtocolError("nobody can stand in for anybody in this round yet.");
    request.emplace(round, *seal, header);
  });
  std::optional<release::StandIns> stand_ins;
  if (seal) stand_ins.emplace(round, *seal);
  for (const release::HolderKey& h : p.holders) {
    const bool stood_in = reader
                              .take(release::stand_in_name(round.id, h.holder.key),
                                    [&](const SignedHeader& header) {
                                      require_sender(header, h.holder.key);
                                      if (!request) throw ProtocolError("nobody has asked for stand-ins.");
                                      stand_ins->take(*request, header);
                                    })
                              .has_value();
    const auto place = static_cast<std::size_t>(out.holders.size());
    RoundStatus::Party& party = out.holders.emplace_back(
        RoundStatus::Party{h.holder.name, false, seal ? "no opening here yet" : "its turn comes"});
    std::vector<crypto::SitePublicKey> objections;
    const auto opening =
        reader.take(release::opening_name(round.id, h.holder.key), [&](const SignedHeader& header) {
          require_sender(header, h.holder.key);
          if (!seal) throw ProtocolError("there is no seal that it could open.");
          objections = release::check_opening(round, *seal, header).objections;
        });
    if (!opening) {
      if (request && std::ranges::count(request->missing, place) > 0)
        party.state = "is missing: the others are asked to stand in";
      continue;
    }
    party.answered = true;
    party.state = !objections.empty() ? "opened, and objects to some contributions"
                  : stood_in          ? "opened, and stood in"
                                      : "opened";
    ++opened;
  }
  std::optional<release::AbandonCode> code;
  const auto abandonment = reader.take(release::abandonment_name(round.id), [&](const SignedHeader& header) {
    code = release::check_abandonment(round, header);
  });
  out.abandoned = code.has_value();
  const auto statement =
      reader.take(round.last() ? release::release_statement_name(round.id) : release::sum_name(round.id),
                  [&](const SignedHeader& header) {
                    require_sender(header, round.coordinator);
                    if (!round.last()) release::check_sum(round, seal ? seal->id : Sha256Digest{}, header);
                  });
  out.number = p.number();
  out.rounds = p.plan.rounds();
  out.released = round.last() ? reader.take_release([&](const std::string& bytes) {
    if (!seal || !statement)
      throw ProtocolError("there is no statement of the coordinator's that it goes with.");
    release::check_release_statement(round, seal->id, *statement, bytes);
  })
                              : statement.has_value();
  std::set<crypto::SitePublicKey> parties;
  for (const crypto::SignerKey& site : p.sites) parties.insert(site.key);
  for (const release::HolderKey& h : p.holders) parties.insert(h.holder.key);
  std::map<crypto::SitePublicKey, release::Found> found;
  for (const crypto::SitePublicKey& party : parties)
    (void)reader.take(release::receipt_name(round.id, party), [&](const SignedHeader& header) {
      require_sender(header, party);
      if (!statement && !abandonment) throw ProtocolError("there is no release that it could be of.");
      const bool of_release = statement && header.answers == statement->id();
      const release::Receipt receipt =
          release::check_receipt(round, of_release || !abandonment ? *statement : *abandonment, header);
      if (receipt.found) found[party] = *receipt.found;
    });
  reader.set_others_aside();
  if (out.released) {  // a site has the release, and need not have what it was made of
    for (std::size_t h = 0; h < out.holders.size(); ++h) {
      RoundStatus::Party& party = out.holders[h];
      if (!party.answered && (!request || std::ranges::count(request->missing, h) == 0))
        party = {party.name, true, "opened, and its opening is not here"};
    }
  }
  for (std::size_t h = 0; h < out.holders.size(); ++h) {
    const auto said = found.find(p.holders[h].holder.key);
    if (said != found.end()) out.holders[h].state += words_of(said->second);
  }
  if (code && !out.released) {
    for (auto* parties_of : {&out.sites, &out.holders}) {
      for (RoundStatus::Party& party : *parties_of) {
        if (!party.answered) party.state = "not asked any more";
      }
    }
  }
  out.stage = code && !out.released
                  ? fmt::format(
                        "abandoned by the coordinator ({}): it makes no release. What "
                        "sites were charged stays charged.",
                        name_of(*code))
                  : stage_of(out, contributed, opened, request ? request->missing.size() : 0);
  return out;
}

}  // namespace muffle::round
