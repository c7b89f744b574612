#include "muffle/job/settings.hpp"

#include <algorithm>

#include "muffle/core/error.hpp"

namespace muffle::job {

void AggregationSettings::declare(settings::Keys& keys) {
  keys.stage(settings::Stage::kRelease);
  keys.flag("secure_aggregation", secure, "mask every rank's sum, so that nobody sees it but the total");
  keys.flag("distributed_noise", distributed,
            "every rank adds a share of the noise, so that nobody sees the exact total; needs masks");
  keys.count("colluding_ranks", colluding, 0, 1 << 20,
             "distributed noise: how many ranks may pool what they know, a curious coordinator counted");
  keys.stage(settings::Stage::kRuntime);
  keys.text("site_key", site_key,
            "key file that signs this rank's masks (muffle keygen); \"{rank}\" stands for the rank's number");
  keys.text("site_roster", site_roster, "whose keys are accepted: a line \"RANK SITE KEY\" for each rank");
}

void AggregationSettings::problems(privacy::Adjacency adjacency, bool own_records,
                                   settings::Problems& problems) const {
  problems.unless(!distributed || secure,
                  "privacy.distributed_noise needs privacy.secure_aggregation = true: without masks the "
                  "ranks' shares are seen one by one, and each is less than the full noise");
  // Records that a shared file's rule deals out move from rank to rank when one comes or goes: then the
  // neighbours differ in a curious rank's own records, too, which theorem 2 does not cover.
  problems.unless(!distributed || adjacency == privacy::Adjacency::kReplaceOne || own_records,
                  "privacy.distributed_noise under add-remove-one adjacency needs data.shards = "
                  "\"per-rank\": in a file that the ranks share, one record more moves others from rank to "
                  "rank, also to and from those that may collude");
  problems.unless(site_key.empty() == site_roster.empty(),
                  "privacy.site_key and privacy.site_roster go together: one is there without the other");
  problems.unless(site_key.empty() || secure,
                  "privacy.site_key signs masks, so it needs privacy.secure_aggregation = true");
}

privacy::AggregationMode AggregationSettings::mode(int ranks, const crypto::SiteRoster* roster) const {
  std::optional<privacy::SignedSites> sites;
  if (roster != nullptr) {
    const auto held = roster->parties_by_site();
    sites = {static_cast<int>(held.size()), 0};
    for (const auto& [name, count] : held) sites->largest = std::max(sites->largest, count);
  }
  require(secure || !distributed, "noise in shares was planned without masks: this is a bug in muffle.");
  privacy::AggregationMode mode = privacy::SingleCoordinator{ranks};
  if (distributed) {
    mode = privacy::DistributedNoise{ranks, static_cast<int>(colluding), sites};
  } else if (secure) {
    mode = privacy::Masked{ranks, sites};
  }
  privacy::require_valid(mode);
  return mode;
}

}  // namespace muffle::job
