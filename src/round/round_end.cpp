#include "round_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"

namespace muffle::round {

using release::Message;

RoundEnd::RoundEnd(const ProposedRound& round, const Sha256Digest& seal)
    : round_(&round),
      seal_(seal),
      next_(round.last() ? wanted(release::release_statement_name(round.id))
                         : wanted(release::sum_name(round.id), round.length)) {}

std::vector<Wanted> RoundEnd::wants() const {
  return next_ ? std::vector<Wanted>{*next_} : std::vector<Wanted>();
}

void RoundEnd::receive(Received&& received) {
  next_.reset();
  const std::string name = received.name;
  try {
    if (stated_) {
      take_release(std::move(received));
    } else {
      take_word(std::move(received));
    }
  } catch (const ProtocolError& e) {
    aside_ = name + ": " + e.what();
  }
}

void RoundEnd::take_word(Received&& received) {
  std::optional<Message> message = message_of(std::move(received));
  if (!message) return;
  release::SignedHeader& header = message->header;
  if (header.sender != round_->coordinator || header.round != round_->id ||
      header.kind != (round_->last() ? release::MessageKind::kRelease : release::MessageKind::kSum))
    throw ProtocolError("it is not the coordinator's word on how this round has ended.");
  try {
    if (!round_->last()) {
      release::check_sum(*round_, seal_, header);
    } else {
      muffle_version_ = release::read_release_statement(*round_, seal_, header).muffle_version;
      stated_ = std::move(header);
      next_ = Wanted{release::release_name(round_->id), round_->most_release_bytes()};
      return;
    }
  } catch (const ProtocolError& e) {
    problem_ = e.what();
  }
  statement_ = std::move(header);
}

void RoundEnd::take_release(Received&& received) {
  if (received.refused) throw ProtocolError(*received.refused);
  if (!received.bytes) return;
  release::check_release_statement(*round_, seal_, *stated_, *received.bytes);
  statement_ = std::exchange(stated_, std::nullopt);
  release_ = std::move(*received.bytes);
  try {
    artifact_ = release::parse_artifact(release_, received.name);
    if (!artifact_->round || artifact_->round->id != to_hex(round_->id))
      throw ProtocolError("the coordinator has signed a release that is not of this round.");
  } catch (const ProtocolError& e) {
    artifact_.reset();
    problem_ = e.what();
  }
}

std::vector<Wanted> NextProposal::wants() const {
  if (!listed_) return {wanted_names()};
  if (!proposals_.empty()) return {wanted(proposals_.back())};
  if (!next_.empty()) return {wanted(release::abandonment_name(next_.back().id))};
  return {};
}

void NextProposal::receive(Received&& received) {
  if (!listed_) {
    listed_ = true;
    std::ranges::copy_if(received.names, std::back_inserter(proposals_), release::is_proposal_name);
    std::ranges::reverse(proposals_);
  } else if (!proposals_.empty()) {
    proposals_.pop_back();
    read_proposal(std::move(received));
  } else {
    there_ = !abandoned(next_.back(), received);
    next_.pop_back();
    if (there_) next_.clear();
  }
}

void NextProposal::read_proposal(Received&& received) {
  try {
    const std::string name = received.name;
    const std::optional<Message> message = message_of(std::move(received));
    if (!message) return;
    ProposedRound round(*message, name);
    if (name == release::proposal_name(round.id) && round.coordinator == round_->coordinator &&
        round.proposal.later && round.proposal.later->before == round_->id)
      next_.push_back(std::move(round));
  } catch (const ProtocolError&) {  // what is no proposal stops nobody: the status names it
  } catch (const ConfigError&) {    // nor parties or noise that the theorem does not cover
  }
}

void report_next(const ProposedRound& round, const NextProposal& next, const StepClock& clock,
                 StepReport& report) {
  if (next.is_there()) return;
  const std::uint64_t until = round.proposal.last_day() + kNextRoundWithin;
  if (clock.now() <= until) {
    report.waits.push_back(
        fmt::format("the coordinator's proposal of the next round, until {}", time_text(until)));
    return;
  }
  report.lost = true;
  report.done.push_back(
      fmt::format("no next round was proposed until {}; the charge stays spent", time_text(until)));
}

}  // namespace muffle::round
