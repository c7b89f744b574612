#include "muffle/round/round.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "muffle/core/error.hpp"

namespace muffle::round {

Terms Terms::of(const privacy::NoisePlan& noise, const privacy::AggregationMode& mode) {
  privacy::require_valid(mode);
  Terms terms{mode, noise.parts, std::nullopt};
  if (const privacy::DistributedNoise* apart = privacy::distributed(mode))
    terms.shares = privacy::plan_distributed_noise(noise, apart->ranks, apart->colluding);
  return terms;
}

std::string_view name_of(Round::State state) {
  static constexpr std::array<std::string_view, 12> kNames{
      "proposed", "keys made", "keys signed", "keys agreed", "embedded", "closed",
      "charged",  "summing",   "summed",      "published",   "kept",     "failed"};
  return kNames.at(static_cast<std::size_t>(state));
}

Round::Round(Terms terms, int site) : terms_(std::move(terms)), site_(site) {
  if (!privacy::is_masked(terms_.mode)) state_.emplace<KeysAgreed>();
}

Round::State Round::state() const { return static_cast<State>(state_.index()); }

void Round::refuse(std::string_view step) const {
  throw InvariantError(
      fmt::format("a round that is {} was to {}: nothing was sent. Either this is a bug in muffle, or "
                  "somebody between the sites changes messages.",
                  name_of(state()), step));
}

template <class S>
S& Round::in(std::string_view step) {
  if (S* const state = std::get_if<S>(&state_)) return *state;
  refuse(step);
}

template <class S>
S Round::take(std::string_view step) {
  S taken = std::move(in<S>(step));
  state_.emplace<Failed>();
  return taken;
}

const std::string& Round::begin_keys(const std::string& purpose, const crypto::SiteIdentity* identity) {
  take<Proposed>("make its keys");
  const crypto::MaskSpec spec{site_, privacy::ranks_of(terms_.mode), privacy::length_of(terms_.parts),
                              purpose, identity};
  return state_.emplace<KeysMade>(KeysMade{crypto::KeyExchange(spec)}).exchange.hello();
}

std::string Round::sign(std::vector<std::string> hellos) {
  KeysMade made = take<KeysMade>("sign its keys");
  std::string signature = made.exchange.sign(std::move(hellos));
  state_.emplace<KeysSigned>(KeysSigned{std::move(made.exchange)});
  return signature;
}

void Round::agree_keys(std::span<const std::string> signatures) {
  KeysSigned keys = take<KeysSigned>("agree on its keys");
  state_.emplace<KeysAgreed>(KeysAgreed{std::move(keys.exchange).finish(signatures), std::nullopt});
}

std::string Round::name() const {
  const auto* const keys = std::get_if<KeysAgreed>(&state_);
  return keys != nullptr && keys->masks ? keys->masks->round() : "";
}

void Round::draw_share(privacy::EntropySource& entropy, const Heartbeat& heartbeat) {
  const KeysAgreed& now = in<KeysAgreed>("draw its share of the noise");
  if (!terms_.shares || now.share) refuse("draw a share of the noise twice, or without a plan");
  KeysAgreed keys = take<KeysAgreed>("draw its share of the noise");
  keys.share.emplace(terms_.shares->shares, entropy, heartbeat);
  state_.emplace<KeysAgreed>(std::move(keys));
}

void Round::embed(embed::PartialSum&& partial) {
  const KeysAgreed& now = in<KeysAgreed>("embed records");
  if (terms_.shares && !now.share) refuse("embed records before its share of the noise is drawn");
  KeysAgreed keys = take<KeysAgreed>("embed records");
  state_.emplace<Embedded>(Embedded{std::move(keys), std::move(partial)});
}

void Round::keep() {
  if (state() > State::kEmbedded) refuse("keep an earlier release");
  state_.emplace<Kept>();
}

void Round::close() {
  Embedded embedded = take<Embedded>("close");
  state_.emplace<Closed>(Closed{std::make_unique<comm::TerminationHold>(), std::move(embedded)});
}

void Round::draw_noise(const release::Charge&, privacy::EntropySource* entropy, const Heartbeat& check_lost) {
  if (!coordinates()) refuse("draw the coordinator's noise elsewhere");
  Closed closed = take<Closed>("draw the noise");
  std::optional<privacy::NoiseVector> noise;
  if (!terms_.shares) noise.emplace(terms_.parts, *entropy, check_lost);
  state_.emplace<Charged>(Charged{std::move(closed), std::move(noise)});
}

std::vector<std::uint64_t> Round::summand() {
  Charged charged = coordinates() ? take<Charged>("send its summand")
                                  : Charged{take<Closed>("send its summand"), std::nullopt};
  KeysAgreed& keys = charged.closed.embedded.keys;
  Wiped<std::uint64_t> sums(std::move(charged.closed.embedded.partial).take({}));
  bool secure = true;
  if (keys.share) {
    secure = keys.share->is_secure();
    sums.values = std::move(*keys.share).cover(std::move(sums.values));
  }
  if (keys.masks) std::move(*keys.masks).apply(sums.values);
  state_.emplace<Summing>(Summing{std::move(charged.closed.hold), std::move(charged.noise), secure});
  return std::move(sums.values);
}

void Round::take_total(std::vector<std::uint64_t>&& total) {
  Summing summing = take<Summing>("take a total");
  Summed summed{std::move(summing.hold), std::move(summing.noise), std::nullopt, {}};
  if (terms_.shares) {
    // Read as two's complement, as NoiseVector::publish does.
    summed.noisy.is_private = summing.secure_share;
    summed.noisy.values.assign(total.begin(), total.end());
  } else {
    summed.raw.emplace(std::move(total));
  }
  state_.emplace<Summed>(std::move(summed));
}

privacy::NoisySum Round::publish() {
  Summed summed = take<Summed>("publish");
  if (summed.noise) summed.noisy = std::move(*summed.noise).publish(std::move(*summed.raw));
  state_.emplace<Published>(Published{std::move(summed.hold)});
  return std::move(summed.noisy);
}

}  // namespace muffle::round
