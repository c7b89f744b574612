#include "round_end.hpp"

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
  std::optional<std::string>& bytes = bytes_of(received);
  if (!bytes) return;
  release::check_release_statement(*round_, seal_, *stated_, *bytes);
  statement_ = std::exchange(stated_, std::nullopt);
  release_ = std::move(*bytes);
  try {
    artifact_ = release::parse_artifact(release_, received.name);
    if (!artifact_->round || artifact_->round->id != to_hex(round_->id))
      throw ProtocolError("the coordinator has signed a release that is not of this round.");
  } catch (const ProtocolError& e) {
    artifact_.reset();
    problem_ = e.what();
  }
}

}  // namespace muffle::round
