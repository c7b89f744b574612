#include "muffle/privacy/aggregation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "muffle/core/round_up.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/core/text.hpp"

namespace muffle::privacy {

std::string name_of(const AggregationMode& mode) {
  return mode.distributed ? "distributed noise" : mode.masked ? "masked" : "single coordinator";
}

namespace {

/// With t = 0: what is left of the noise against a rank that takes off its own of P shares.
std::string against_one_rank(const AggregationMode& mode, const std::optional<Guarantee>& promised) {
  const std::string holds =
      "It holds against whoever sees the release and holds no share; a single rank, the coordinator among "
      "them, that subtracts its own share sees less than the full noise";
  if (!promised) return holds + ".";
  const double left = std::sqrt(1.0 - 1.0 / mode.ranks) * (1 - 1e-12) * promised->noise_multiplier;
  const auto epsilon = epsilon_to_tell(divide_up(1.0, left), promised->delta);
  return fmt::format("{}: a noise multiplier of {} where {} is stated, that is {} at delta {} (rounded).",
                     holds, rounded_down_text(left, 6), rounded_down_text(promised->noise_multiplier, 6),
                     epsilon ? "epsilon " + rounded_up_text(*epsilon, 4) : "no epsilon up to 100",
                     exact_text(promised->delta));
}

/// Masks hide a site's part of a total from others only where two more sites have theirs in it. Sites count,
/// not ranks; without a roster, which alone says whose a rank is, two ranks are the two sides.
bool one_or_two(const AggregationMode& mode) { return mode.sites == 1 || mode.sites == 2 || mode.ranks == 2; }

std::string what_masks_hid(const AggregationMode& mode) {
  if (!one_or_two(mode))
    return "no rank, no machine between them and not the coordinator saw another rank's sum.";
  const std::string nobody_between = "no machine between them saw a sum. ";
  if (mode.sites == 1)
    return nobody_between +
           "But all ranks are one site's, and the masks hid nothing from it: it saw every rank's sum and the "
           "exact total. It is trusted with both, and added the noise.";
  const std::string side = mode.sites == 2 ? "site" : "rank";
  if (mode.distributed)
    return nobody_between + "But each of the two " + side +
           "s can take its own part off the released total: what is left is the other " + side +
           "'s sum, with no noise but that which the other added.";
  return nobody_between +
         "But the masks hid nothing from the coordinator: it saw the exact total, which minus the sum of its "
         "own " +
         side + " is the other " + side + "'s own. It is trusted with both, and added the noise.";
}

}  // namespace

std::string describe(const AggregationMode& mode, const std::optional<Guarantee>& promised) {
  if (!mode.masked) {
    return "A single coordinator added the noise. It saw the exact sum over all records, and the machines "
           "between it and the ranks saw partial sums: they are trusted with them.";
  }
  if (mode.ranks <= 1) {
    return "Masks were asked for, but there was one rank: they hid nothing. It saw the exact sum over all "
           "records and " +
           std::string(mode.distributed ? "drew all of the noise itself" : "added the noise") +
           ": it is trusted with both.";
  }
  const std::string keys = mode.signed_keys ? "keys signed by the sites of the roster"
                                            : "keys not signed: this protects against those who watch the "
                                              "ranks' messages, not against those who change them";
  const std::string masks =
      fmt::format("The {} ranks' sums were masked ({}): {}", mode.ranks, keys, what_masks_hid(mode));
  // What any site learns in either mode.
  const std::string own =
      mode.sites == 1 || (mode.sites == 0 && mode.ranks == 2) ? ""
      : mode.sites == 0
          ? " A site with several ranks knows what each of them knows: unsigned keys do not say whose a rank "
            "is."
          : fmt::format(
                " {} sites take part, none with more than {} of the ranks; a site knows its own ranks' "
                "sums.",
                mode.sites, mode.largest_site);
  if (!mode.distributed && one_or_two(mode)) return masks + own;
  if (!mode.distributed) {
    return masks + own +
           " The coordinator saw the exact total and added the noise to it: it is trusted with the total, "
           "and with what follows from it: minus the sums of its own site that is the sum of all others, "
           "whatever the masks hide of each of them.";
  }
  const std::string against =
      mode.colluding == 0
          ? against_one_rank(mode, promised)
          : fmt::format(
                "It holds against whoever sees the release, and against any {} of the ranks that pool all "
                "they know, the coordinator counted among them.",
                mode.colluding);
  return masks + own +
         " Every rank added a share of the noise to its own sum, so that nobody saw the exact total. " +
         against +
         " This supposes that all ranks keep to the protocol and, against the ranks, that the cryptography "
         "holds.";
}

void require_valid(const AggregationMode& mode) {
  settings::Problems problems;
  problems.unless(mode.ranks >= 1, fmt::format("{} ranks take part, and it must be at least 1", mode.ranks));
  problems.unless(mode.masked || !mode.distributed,
                  "distributed noise needs secure aggregation: without masks the ranks' shares are seen one "
                  "by one, and each is less than the full noise; set privacy.secure_aggregation = true");
  problems.unless(mode.masked || !mode.signed_keys,
                  "site keys are given, but nothing is masked: set privacy.secure_aggregation = true");
  problems.unless(!mode.distributed || (mode.colluding >= 0 && mode.colluding < mode.ranks),
                  fmt::format("{} of {} ranks may collude, but at least one must be honest: "
                              "privacy.colluding_ranks is a number from 0 to {}",
                              mode.colluding, mode.ranks, mode.ranks - 1));
  problems.unless(mode.distributed || mode.colluding == 0,
                  fmt::format("{} ranks may collude, which only distributed noise provides for: set "
                              "privacy.distributed_noise = true, or leave it out",
                              mode.colluding));
  const bool known = mode.sites > 0;
  problems.unless(mode.signed_keys == known && known == (mode.largest_site > 0) && mode.sites >= 0 &&
                      mode.largest_site - std::int64_t{1} <= std::int64_t{mode.ranks} - mode.sites &&
                      (!known || mode.sites * std::int64_t{mode.largest_site} >= mode.ranks),
                  fmt::format("{} sites that hold {} ranks, one of them {}, cannot be", mode.sites,
                              mode.ranks, mode.largest_site));
  problems.unless(
      !mode.distributed || mode.ranks <= 1 || mode.largest_site <= mode.colluding,
      fmt::format("a site of the roster holds {} of the ranks and knows all that they know, and "
                  "noise is planned for {} that collude: set privacy.colluding_ranks to {} or more{}",
                  mode.largest_site, mode.colluding, mode.largest_site,
                  mode.largest_site > 1 ? ", or give the site fewer ranks" : ""));
  problems.throw_if_any("the aggregation settings are wrong", settings::Problems::kNotReleased);
}

}  // namespace muffle::privacy
