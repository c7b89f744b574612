#pragma once

#include <cstdint>
#include <string>

#include "muffle/core/settings.hpp"
#include "muffle/crypto/site_keys.hpp"
#include "muffle/privacy/aggregation.hpp"
#include "muffle/privacy/sensitivity.hpp"

namespace muffle::job {

/// How the sites' sums come together, as a configuration says it: keys of [privacy].
struct AggregationSettings {
  bool secure = false;       ///< nobody sees a rank's sum (crypto::Masks)
  bool distributed = false;  ///< every rank adds a share of the noise
  std::int64_t colluding = 1;
  std::string site_key{}, site_roster{};  ///< "{rank}" is the rank's number; empty: keys are not signed

  void declare(settings::Keys& keys);
  /// @param own_records  each rank's records are its own: no rule deals them out anew when one comes or goes
  void problems(privacy::Adjacency adjacency, bool own_records, settings::Problems& problems) const;
  /// On so many ranks. @param roster  of the sites that sign; null: nobody does. @throws ConfigError.
  privacy::AggregationMode mode(int ranks, const crypto::SiteRoster* roster = nullptr) const;
};

}  // namespace muffle::job
