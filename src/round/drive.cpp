#include "muffle/round/drive.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace muffle::round {

void agree_on_keys(Round& round, Together& together, const std::string& purpose,
                   const crypto::SiteIdentity* identity) {
  if (!privacy::is_masked(round.terms().mode)) return;
  std::string message;
  together.agree("making the key of the secure sum", true,
                 [&] { message = round.begin_keys(purpose, identity); });
  std::vector<std::string> hellos = together.to_all(message);
  // Every site signs what it heard from all: if anybody was told anything else, the signatures do not fit.
  together.agree("comparing the purpose of the secure sum", true,
                 [&] { message = round.sign(std::move(hellos)); });
  const std::vector<std::string> signatures = together.to_all(message);
  together.agree("checking the keys of the secure sum", true, [&] { round.agree_keys(signatures); });
  spdlog::debug("release: secure sum {}", round.name());
}

void draw_shares(Round& round, Together& together, privacy::EntropySource& entropy,
                 const NamedHeartbeat& heartbeat) {
  if (!round.terms().shares) return;
  constexpr const char* kStep = "drawing the shares of the noise";
  together.agree(kStep, true, [&] { round.draw_share(entropy, [&] { heartbeat(kStep); }); });
}

privacy::NoisySum sum_up(Round& round, Together& together) {
  round.take_total(together.sum_to_coordinator(round.summand()));
  // Noise that came with the sums was in them; the coordinator's may still fail to be added.
  if (round.terms().shares) return round.publish();
  privacy::NoisySum noisy;
  together.agree("adding the noise", true, [&] { noisy = round.publish(); });
  return noisy;
}

}  // namespace muffle::round
