#include "key_kinds.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/sensitivity.hpp"

namespace muffle::app {

std::vector<Key> privacy_keys() {
  using enum Stage;
  constexpr Range kDeltas{privacy::kMinDelta, privacy::kMaxDelta};
  return {
      optional_number("privacy.epsilon", kRelease, "with delta: the guarantee; or give noise_multiplier",
                      MUFFLE_FIELD(privacy.epsilon)),
      number("privacy.delta", kRelease, "delta", kDeltas, MUFFLE_FIELD(privacy.delta)),
      optional_number("privacy.noise_multiplier", kRelease, "sigma / sensitivity, instead of epsilon",
                      MUFFLE_FIELD(privacy.noise_multiplier)),
      choice<privacy::Adjacency>("privacy.adjacency", kRelease, "what a neighbouring data set is",
                                 {{"replace-one", privacy::Adjacency::kReplaceOne},
                                  {"add-remove-one", privacy::Adjacency::kAddRemoveOne}},
                                 MUFFLE_FIELD(privacy.adjacency)),
      count("privacy.max_records_per_person", kRelease, "q, required: how many records one person can own", 0,
            privacy::kMaxRecordsPerPerson, MUFFLE_FIELD(privacy.max_records_per_person)),
      flag("privacy.release_counts", kRelease,
           "release noisy class counts too (for imbalanced or private class sizes)",
           MUFFLE_FIELD(release_counts)),
      flag("privacy.secure_aggregation", kRelease,
           "mask every rank's sum, so that nobody sees it but the total", MUFFLE_FIELD(aggregation.secure)),
      flag("privacy.distributed_noise", kRelease,
           "every rank adds a share of the noise, so that nobody sees the exact total; needs masks",
           MUFFLE_FIELD(aggregation.distributed)),
      count("privacy.colluding_ranks", kRelease,
            "distributed noise: how many ranks may pool what they know, a curious coordinator counted", 0,
            1 << 20, MUFFLE_FIELD(aggregation.colluding)),
      text("privacy.site_key", kRuntime,
           "key file that signs this rank's masks (muffle keygen); \"{rank}\" stands for the rank's number",
           MUFFLE_FIELD(aggregation.site_key)),
      text("privacy.site_roster", kRuntime, "whose keys are accepted: a line \"RANK SITE KEY\" for each rank",
           MUFFLE_FIELD(aggregation.site_roster)),
      text("privacy.ledger", kRuntime,
           "the data set's ledger of releases; empty: ledger-<data.id>.jsonl beside the run folder",
           MUFFLE_FIELD(ledger.file)),
      optional_number(
          "privacy.budget_epsilon", kRuntime,
          "the most that all releases of the data set may spend together; needs data.id and privacy.ledger",
          MUFFLE_FIELD(ledger.budget_epsilon)),
      number("privacy.budget_delta", kRuntime, "the budget's delta", kDeltas,
             MUFFLE_FIELD(ledger.budget_delta)),
      text("privacy.signing_key", kRuntime,
           "key file (muffle keygen) with which the coordinator signs the release; empty: not signed",
           MUFFLE_FIELD(signing_key)),
  };
}

}  // namespace muffle::app
