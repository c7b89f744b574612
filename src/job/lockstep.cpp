#include "muffle/job/lockstep.hpp"

#include <utility>

#include "muffle/core/wipe.hpp"
#include "muffle/round/covered.hpp"

namespace muffle::job {

Contributor::Contributor(ProposedRound round, int party) : round_(std::move(round)), party_(party) {
  if (!privacy::is_masked(round_.proposal.aggregation)) state_.become(KeysAgreed{});
}

const std::string& Contributor::begin_keys(const crypto::SiteIdentity* identity) {
  state_.take<Proposed>("make its keys");
  const crypto::MaskSpec spec{party_, privacy::ranks_of(round_.proposal.aggregation), round_.length,
                              round_.id, identity};
  return state_.become(KeysMade{crypto::KeyExchange(spec)}).exchange.hello();
}

std::string Contributor::sign(std::vector<std::string> hellos) {
  KeysMade made = state_.take<KeysMade>("sign its keys");
  std::string signature = made.exchange.sign(std::move(hellos));
  state_.become(KeysSigned{std::move(made.exchange)});
  return signature;
}

void Contributor::agree_keys(std::span<const std::string> signatures) {
  KeysSigned keys = state_.take<KeysSigned>("agree on its keys");
  state_.become(KeysAgreed{std::move(keys.exchange).finish(signatures), std::nullopt});
}

std::string Contributor::name() const {
  const auto* const keys = state_.get_if<KeysAgreed>();
  return keys != nullptr && keys->masks ? keys->masks->name() : "";
}

void Contributor::draw_share(privacy::EntropySource& entropy, const Heartbeat& heartbeat) {
  const KeysAgreed& now = state_.in<KeysAgreed>("draw its share of the noise");
  if (!round_.shares || now.share) state_.refuse("draw a share of the noise twice, or without a plan");
  KeysAgreed keys = state_.take<KeysAgreed>("draw its share of the noise");
  keys.share.emplace(round_.shares->shares, entropy, heartbeat);
  state_.become(std::move(keys));
}

void Contributor::embed(embed::PartialSum&& partial) {
  const KeysAgreed& now = state_.in<KeysAgreed>("embed records");
  if (round_.shares && !now.share) state_.refuse("embed records before its share of the noise is drawn");
  KeysAgreed keys = state_.take<KeysAgreed>("embed records");
  state_.become(Embedded{std::move(keys), std::move(partial)});
}

void Contributor::keep() {
  if (!state_.is<Proposed, KeysMade, KeysSigned, KeysAgreed, Embedded>())
    state_.refuse("keep an earlier release");
  state_.become(Kept{});
}

void Contributor::close() {
  Embedded embedded = state_.take<Embedded>("close");
  state_.become(Closed{std::make_unique<comm::TerminationHold>(), std::move(embedded)});
}

void Contributor::note_charge(const release::Charge& /*charge*/) { go_on(); }

void Contributor::go_on() {
  if (party_ != 0) state_.refuse("hear of the coordinator's charge elsewhere");
  state_.become(Charged{state_.take<Closed>("note its charge")});
}

std::vector<std::uint64_t> Contributor::summand() {
  Closed closed =
      party_ == 0 ? state_.take<Charged>("send its summand").closed : state_.take<Closed>("send its summand");
  KeysAgreed& keys = closed.embedded.keys;
  round::Covered covered(std::move(closed.embedded.partial), std::move(keys.share));
  if (keys.masks) std::move(*keys.masks).apply(covered.values.values);
  state_.become(Sent{std::move(closed.hold), covered.secure_noise});
  return std::move(covered.values.values);
}

bool Contributor::secure_noise() const {
  const auto* const sent = state_.get_if<Sent>();
  if (sent == nullptr) state_.refuse("say what was sent");
  return sent->secure_noise;
}

void Coordinator::draw_noise(const release::Charge& /*charge*/, privacy::EntropySource* entropy,
                             const Heartbeat& check_lost) {
  draw(entropy, check_lost);
}

void Coordinator::draw(privacy::EntropySource* entropy, const Heartbeat& check_lost) {
  state_.take<Proposed>("draw the noise");
  Charged charged;
  if (!round_.shares) charged.noise.emplace(round_.summed.noise.parts, *entropy, check_lost);
  state_.become(std::move(charged));
}

void Coordinator::take_total(std::vector<std::uint64_t>&& total, bool secure_noise) {
  Wiped<std::uint64_t> sums(std::move(total));
  Summed summed{state_.take<Charged>("take a total").noise, std::nullopt, {}};
  if (round_.shares) {
    // Read as two's complement, as NoiseVector::publish does.
    summed.noisy.is_private = secure_noise;
    summed.noisy.values.assign(sums.values.begin(), sums.values.end());
  } else {
    summed.raw.emplace(std::move(sums.values));
  }
  state_.become(std::move(summed));
}

privacy::NoisySum Coordinator::publish() {
  Summed summed = state_.take<Summed>("publish");
  if (summed.noise) summed.noisy = std::move(*summed.noise).publish(std::move(*summed.raw));
  state_.become(Published{});
  return std::move(summed.noisy);
}

}  // namespace muffle::job
