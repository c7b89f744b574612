#pragma once

#include <optional>
#include <string>

#include "muffle/privacy/accountant.hpp"

namespace muffle::privacy {

/// How the ranks' sums came together, and so who is trusted with what. Public; artifact and statement say it.
struct AggregationMode {
  bool masked = false;       ///< secure aggregation: nobody saw a summand
  bool signed_keys = false;  ///< masked, and the keys were signed by the sites of a roster
  bool distributed = false;  ///< every rank added a share of the noise; only with masked
  int ranks = 1;             ///< P
  int colluding = 0;         ///< distributed: how many ranks may pool what they know; 0 <= t < P; else 0
  int sites = 0;             ///< of the roster; 0 without signed keys, which alone say whose a rank is
  int largest_site = 0;      ///< how many ranks the site with most of them holds; 0 likewise
  bool operator==(const AggregationMode&) const = default;
};

/// "single coordinator", "masked", "distributed noise".
std::string name_of(const AggregationMode& mode);
/// Two or three sentences for the privacy statement: who saw what, and who is trusted with what.
/// @param promised  of the release; none for test noise. With t = 0 the text says what of it holds against a
/// rank that takes off its own share.
std::string describe(const AggregationMode& mode, const std::optional<Guarantee>& promised);

/// @throws ConfigError  a site that holds more ranks than may collude, unless there is one rank; distributed
/// noise without masks (whoever sees a rank's vector would subtract everybody else's share from the total);
/// signed keys without masks; ranks, colluding or sites out of range; all problems in one message.
void require_valid(const AggregationMode& mode);

}  // namespace muffle::privacy
