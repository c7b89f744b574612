#include "muffle/round/drive.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace muffle::round {

void agree_on_keys(lockstep::Contributor& own, Together& together, const std::string& purpose,
                   const crypto::SiteIdentity* identity) {
  if (!privacy::is_masked(own.terms().mode)) return;
  std::string message;
  together.agree("making the key of the secure sum", true,
                 [&] { message = own.begin_keys(purpose, identity); });
  std::vector<std::string> hellos = together.to_all(message);
  // Every party signs what it heard from all: if anybody was told anything else, the signatures do not fit.
  together.agree("comparing the purpose of the secure sum", true,
                 [&] { message = own.sign(std::move(hellos)); });
  const std::vector<std::string> signatures = together.to_all(message);
  together.agree("checking the keys of the secure sum", true, [&] { own.agree_keys(signatures); });
  spdlog::debug("release: secure sum {}", own.name());
}

void draw_shares(lockstep::Contributor& own, Together& together, privacy::EntropySource& entropy,
                 const NamedHeartbeat& heartbeat) {
  if (!own.terms().shares) return;
  constexpr const char* kStep = "drawing the shares of the noise";
  together.agree(kStep, true, [&] { own.draw_share(entropy, [&] { heartbeat(kStep); }); });
}

privacy::NoisySum sum_up(lockstep::Contributor& own, lockstep::Coordinator* coordinator, Together& together) {
  std::vector<std::uint64_t> total = together.sum_to_coordinator(own.summand());
  if (coordinator != nullptr) coordinator->take_total(std::move(total), own.secure_noise());
  privacy::NoisySum noisy;
  const auto publish = [&] {
    if (coordinator != nullptr) noisy = coordinator->publish();
  };
  // Noise that came with the sums was in them; the coordinator's may still fail to be added.
  if (own.terms().shares) {
    publish();
  } else {
    together.agree("adding the noise", true, publish);
  }
  return noisy;
}

}  // namespace muffle::round
