#pragma once

#include <string>
#include <vector>

#include "muffle/release/verification.hpp"
#include "round/consortium.hpp"

namespace muffle::round {

/// Contributions of all, a seal, openings, the release.
inline void run_round(ConsortiumOfFolders& c, const std::vector<std::size_t>& sites, std::uint64_t now) {
  for (const std::size_t i : sites) c.site(i, now);
  c.coordinator(now);
  for (std::size_t h = 0; h < c.world.holders.size(); ++h) c.holder(h, now);
  c.coordinator(now);
}

/// What is found of a release beside the folder's messages, by a card that is trusted.
inline release::Verification verified(const ConsortiumOfFolders& c, const std::string& bytes,
                                      const crypto::SiteKey& trusted) {
  release::Evidence evidence;
  evidence.name = "release.mfl";
  evidence.release = bytes;
  evidence.messages = release::evidence_in((c.folder / "exchange").string());
  evidence.trusted = crypto::SignerKey{trusted.name(), trusted.public_key()};
  return release::verify_release(evidence);
}

}  // namespace muffle::round
