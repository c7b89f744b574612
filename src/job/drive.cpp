#include "muffle/job/drive.hpp"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "muffle/core/hash.hpp"

namespace muffle::job {

ProposedRound agree_on_round(Proposal own, Together& together) {
  std::string said;
  together.agree("proposing the round", true, [&] {
    if (together.coordinates()) said = proposal_text(own);
  });
  said = together.from_coordinator(said);
  std::optional<ProposedRound> round;
  together.agree("comparing the proposal of the round", true, [&] { round.emplace(std::move(own), said); });
  spdlog::debug("release: round {}", to_hex(round->id));
  return std::move(*round);
}

void agree_on_keys(Contributor& own, Together& together, const crypto::SiteIdentity* identity) {
  if (!privacy::is_masked(own.round().proposal.aggregation)) return;
  std::string message;
  together.agree("making the key of the secure sum", true, [&] { message = own.begin_keys(identity); });
  std::vector<std::string> hellos = together.to_all(message);
  // Every party signs what it heard from all: if anybody was told anything else, the signatures do not fit.
  together.agree("comparing what the secure sum is of", true, [&] { message = own.sign(std::move(hellos)); });
  const std::vector<std::string> signatures = together.to_all(message);
  together.agree("checking the keys of the secure sum", true, [&] { own.agree_keys(signatures); });
  spdlog::debug("release: secure sum {}", own.name());
}

void draw_shares(Contributor& own, Together& together, privacy::EntropySource& entropy,
                 const NamedHeartbeat& heartbeat) {
  if (!own.round().shares) return;
  constexpr const char* kStep = "drawing the shares of the noise";
  together.agree(kStep, true, [&] { own.draw_share(entropy, [&] { heartbeat(kStep); }); });
}

privacy::NoisySum sum_up(Contributor& own, Coordinator* coordinator, Together& together) {
  std::vector<std::uint64_t> total = together.sum_to_coordinator(own.summand());
  if (coordinator != nullptr) coordinator->take_total(std::move(total), own.secure_noise());
  privacy::NoisySum noisy;
  const auto publish = [&] {
    if (coordinator != nullptr) noisy = coordinator->publish();
  };
  // Noise that came with the sums was in them; the coordinator's may still fail to be added.
  if (own.round().shares) {
    publish();
  } else {
    together.agree("adding the noise", true, publish);
  }
  return noisy;
}

}  // namespace muffle::job
