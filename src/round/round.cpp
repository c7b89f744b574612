#include "muffle/round/round.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/wipe.hpp"

namespace muffle::round {

Terms Terms::of(const privacy::NoisePlan& noise, const privacy::AggregationMode& mode) {
  privacy::require_valid(mode);
  Terms terms{mode, noise.parts, std::nullopt};
  if (mode.distributed) terms.shares = privacy::plan_distributed_noise(noise, mode.ranks, mode.colluding);
  return terms;
}

std::string_view name_of(Round::State state) {
  static constexpr std::array<std::string_view, 10> kNames{"proposed", "keys agreed", "embedded", "closed",
                                                           "charged",  "summing",     "summed",   "published",
                                                           "kept",     "failed"};
  return kNames.at(static_cast<std::size_t>(state));
}

Round::Round(Terms terms, int site) : terms_(std::move(terms)), site_(site) {
  if (!terms_.mode.masked) state_ = State::kKeysAgreed;
}

void Round::refuse(std::string_view step) const {
  throw InvariantError(fmt::format(
      "a round that is {} was to {}: nothing was sent. Either this is a bug in muffle, or somebody between "
      "the sites changes messages.",
      name_of(state()), step));
}

std::unique_ptr<Round::Held> Round::take(State from, std::string_view step) {
  if (state_ != from) refuse(step);
  state_ = State::kFailed;
  return std::move(held_);
}

void Round::enter(State state, std::unique_ptr<Held> held) {
  held_ = std::move(held);
  state_ = state;
}

const std::string& Round::begin_keys(const std::string& purpose, const crypto::SiteIdentity* identity) {
  if (state_ != State::kProposed) refuse("make its keys");
  if (held_->exchange) refuse("make its keys twice");
  held_->exchange.emplace(
      crypto::MaskSpec{site_, terms_.mode.ranks, privacy::length_of(terms_.parts), purpose, identity});
  return held_->exchange->hello();
}

std::string Round::sign(std::vector<std::string> hellos) {
  auto held = take(State::kProposed, "sign its keys");
  require(held->exchange.has_value(),
          "keys were to be signed before they were made: this is a bug in muffle.");
  std::string signature = held->exchange->sign(std::move(hellos));
  enter(State::kProposed, std::move(held));
  return signature;
}

void Round::agree_keys(std::span<const std::string> signatures) {
  auto held = take(State::kProposed, "agree on its keys");
  require(held->exchange.has_value(),
          "keys were to be agreed on before they were made: this is a bug in muffle.");
  held->masks.emplace(std::move(*held->exchange).finish(signatures));
  held->exchange.reset();
  enter(State::kKeysAgreed, std::move(held));
}

std::string Round::name() const { return held_ && held_->masks ? held_->masks->round() : ""; }

void Round::draw_share(privacy::EntropySource& entropy, const Heartbeat& heartbeat) {
  auto held = take(State::kKeysAgreed, "draw its share of the noise");
  require(terms_.shares && !held->share, "a share of the noise was to be drawn twice, or without a plan.");
  held->share.emplace(*terms_.shares, entropy, heartbeat);
  enter(State::kKeysAgreed, std::move(held));
}

void Round::embed(embed::PartialSum&& partial) {
  if (state_ == State::kKeysAgreed && terms_.shares && !held_->share)
    refuse("embed records before its share of the noise is drawn");
  auto held = take(State::kKeysAgreed, "embed records");
  held->partial.emplace(std::move(partial));
  enter(State::kEmbedded, std::move(held));
}

void Round::keep() {
  if (state_ > State::kEmbedded) refuse("keep an earlier release");
  enter(State::kKept, nullptr);
}

void Round::close() {
  auto held = take(State::kEmbedded, "close");
  held->hold = std::make_unique<comm::TerminationHold>();
  enter(State::kClosed, std::move(held));
}

void Round::draw_noise(const release::Charge&, privacy::EntropySource* entropy, const Heartbeat& check_lost) {
  if (!coordinates()) refuse("draw the coordinator's noise elsewhere");
  auto held = take(State::kClosed, "draw the noise");
  if (!terms_.mode.distributed) held->noise.emplace(terms_.parts, *entropy, check_lost);
  enter(State::kCharged, std::move(held));
}

void Round::hear_charge() {
  if (coordinates()) refuse("take the coordinator's charge as heard");
  enter(State::kCharged, take(State::kClosed, "hear of the charge"));
}

std::vector<std::uint64_t> Round::summand() {
  auto held = take(State::kCharged, "send its summand");
  std::vector<std::uint64_t> values = std::move(*held->partial).take({});
  try {
    if (held->share) {
      held->noisy.is_private = held->share->is_secure();
      values = std::move(*held->share).cover(std::move(values));
    }
    if (held->masks) std::move(*held->masks).apply(values);
  } catch (...) {
    wipe(values);
    throw;
  }
  held->partial.reset();
  held->share.reset();
  held->masks.reset();
  enter(State::kSumming, std::move(held));
  return values;
}

void Round::take_total(std::vector<std::uint64_t>&& total) {
  auto held = take(State::kSumming, "take a total");
  if (terms_.mode.distributed) {
    // Read as two's complement, as NoiseVector::publish does.
    held->noisy.values.assign(total.begin(), total.end());
  } else {
    held->raw.emplace(std::move(total));
  }
  enter(State::kSummed, std::move(held));
}

privacy::NoisySum Round::publish() {
  auto held = take(State::kSummed, "publish");
  privacy::NoisySum noisy = std::move(held->noisy);
  if (held->noise) noisy = std::move(*held->noise).publish(std::move(*held->raw));
  held->noise.reset();
  held->raw.reset();
  enter(State::kPublished, std::move(held));
  return noisy;
}

}  // namespace muffle::round
