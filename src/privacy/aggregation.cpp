#include "muffle/privacy/aggregation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string_view>

#include "muffle/core/error.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/core/text.hpp"

namespace muffle::privacy {

Summed one_of(const AggregationMode& mode) {
  return std::visit(
      [](const auto& m) -> Summed {
        if constexpr (std::is_same_v<std::decay_t<decltype(m)>, Combined>) {
          throw InvariantError("several releases were taken for one: this is a bug in muffle.");
        } else {
          return m;
        }
      },
      mode);
}

int Apart::opened(std::size_t round) const {
  const std::size_t before = stood_in_before.size();
  if (round <= before) return parties.holders - stood_in_before[round - 1];
  return round == before + 1 ? parties.holders - stood_in : parties.holders;
}

Apart apart_of(const RoundParties& parties, int sealed, std::vector<int> missing) {
  Apart out{parties, sealed, missing.back()};
  missing.pop_back();
  if (parties.missing_holders > 0) out.stood_in_before = std::move(missing);
  return out;
}

AggregationMode mode_of(const Summed& summed) {
  return std::visit([](const auto& m) { return AggregationMode(m); }, summed);
}

int ranks_of(const AggregationMode& mode) {
  if (const Combined* several = combined(mode)) return static_cast<int>(several->parts.size());
  if (const Apart* round = apart(mode)) return round->sealed;
  if (const auto* shares = distributed(mode)) return shares->ranks;
  if (const auto* masked = std::get_if<Masked>(&mode)) return masked->ranks;
  return std::get<SingleCoordinator>(mode).ranks;
}

bool is_masked(const AggregationMode& mode) {
  return !std::holds_alternative<SingleCoordinator>(mode) && combined(mode) == nullptr;
}

std::optional<SignedSites> sites_of(const AggregationMode& mode) {
  if (const auto* masked = std::get_if<Masked>(&mode)) return masked->sites;
  if (const auto* shares = distributed(mode)) return shares->sites;
  return std::nullopt;
}

namespace {

std::string_view name(const SingleCoordinator&) { return "single coordinator"; }
std::string_view name(const Masked&) { return "masked"; }
std::string_view name(const DistributedNoise&) { return "distributed noise"; }
std::string_view name(const Apart&) { return "apart"; }
std::string_view name(const Combined&) { return "combined"; }

/// With t = 0: what is left of the noise against a rank that takes off its own of P shares.
std::string against_one_rank(int ranks, const std::optional<Guarantee>& promised) {
  const std::string holds =
      "It holds against whoever sees the release and holds no share; a single rank, the coordinator among "
      "them, that subtracts its own share sees less than the full noise";
  if (!promised) return holds + ".";
  const double left = std::sqrt(1.0 - 1.0 / ranks) * (1 - 1e-12) * promised->noise_multiplier;
  const auto epsilon = epsilon_to_tell(divide_up(1.0, left), promised->delta);
  return fmt::format("{}: a noise multiplier of {} where {} is stated, that is {} at delta {} (rounded).",
                     holds, rounded_down_text(left, 6), rounded_down_text(promised->noise_multiplier, 6),
                     epsilon ? "epsilon " + rounded_up_text(*epsilon, 4) : "no epsilon up to 100",
                     exact_text(promised->delta));
}

/// Masks hide a site's part of a total from others only where two more sites have theirs in it. Sites count,
/// not ranks; without a roster, which alone says whose a rank is, two ranks are the two sides.
template <class Mode>
bool one_or_two(const Mode& mode) {
  return (mode.sites && mode.sites->count <= 2) || mode.ranks == 2;
}

/// All ranks are one site's.
template <class Mode>
bool of_one_site(const Mode& mode) {
  return mode.sites && mode.sites->count == 1;
}

constexpr char kNobodyBetween[] = "no machine between them saw a sum. ";
constexpr char kOneSiteSaw[] =
    "But all ranks are one site's, and the masks hid nothing from it: it saw every rank's sum and the exact "
    "total. It is trusted with both, and added the noise.";

/// Where one_or_two() and not of_one_site().
template <class Mode>
std::string side(const Mode& mode) {
  return mode.sites && mode.sites->count == 2 ? "site" : "rank";
}

/// @param two_sides  what is left where there are two sides
template <class Mode>
std::string masks(const Mode& mode, const std::string& two_sides) {
  const std::string keys = mode.sites ? "keys signed by the sites of the roster"
                                      : "keys not signed: this protects against those who watch the ranks' "
                                        "messages, not against those who change them";
  const std::string hid =
      !one_or_two(mode) ? "no rank, no machine between them and not the coordinator saw another rank's sum."
                        : kNobodyBetween + (of_one_site(mode) ? std::string(kOneSiteSaw) : two_sides);
  // What any site learns in either mode.
  const std::string own =
      of_one_site(mode) || (!mode.sites && mode.ranks == 2) ? ""
      : !mode.sites ? " A site with several ranks knows what each of them knows: unsigned keys do not say "
                      "whose a rank is."
                    : fmt::format(
                          " {} sites take part, none with more than {} of the ranks; a site knows "
                          "its own ranks' sums.",
                          mode.sites->count, mode.sites->largest);
  return fmt::format("The {} ranks' sums were masked ({}): {}{}", mode.ranks, keys, hid, own);
}

std::string one_rank(const std::string& noise) {
  return "Masks were asked for, but there was one rank: they hid nothing. It saw the exact sum over all "
         "records and " +
         noise + ": it is trusted with both.";
}

std::string text(const SingleCoordinator&, const std::optional<Guarantee>&) {
  return "A single coordinator added the noise. It saw the exact sum over all records, and the machines "
         "between it and the ranks saw partial sums: they are trusted with them.";
}

std::string text(const Masked& mode, const std::optional<Guarantee>&) {
  if (mode.ranks <= 1) return one_rank("added the noise");
  const std::string out =
      masks(mode,
            "But the masks hid nothing from the coordinator: it saw the exact total, which minus the sum of "
            "its own " +
                side(mode) + " is the other " + side(mode) +
                "'s own. It is trusted with both, and added the noise.");
  if (one_or_two(mode)) return out;
  return out +
         " The coordinator saw the exact total and added the noise to it: it is trusted with the total, "
         "and with what follows from it: minus the sums of its own site that is the sum of all others, "
         "whatever the masks hide of each of them.";
}

std::string text(const DistributedNoise& mode, const std::optional<Guarantee>& promised) {
  if (mode.ranks <= 1) return one_rank("drew all of the noise itself");
  const std::string against =
      mode.colluding == 0
          ? against_one_rank(mode.ranks, promised)
          : fmt::format(
                "It holds against whoever sees the release, and against any {} of the ranks that pool all "
                "they know, the coordinator counted among them.",
                mode.colluding);
  return masks(mode, "But each of the two " + side(mode) +
                         "s can take its own part off the released total: what is left is the other " +
                         side(mode) + "'s sum, with no noise but that which the other added.") +
         " Every rank added a share of the noise to its own sum, so that nobody saw the exact total. " +
         against +
         " This supposes that all ranks keep to the protocol and, against the ranks, that the cryptography "
         "holds.";
}

/// "epsilon 2.16 at delta 1e-05", of a noise multiplier that is so many times smaller than was promised.
std::string with_less_noise(double times, const Guarantee& promised) {
  const auto epsilon =
      epsilon_to_tell(divide_up(times * (1 + 1e-12), promised.noise_multiplier), promised.delta);
  return fmt::format("{} at delta {} (rounded)",
                     epsilon ? "epsilon " + rounded_up_text(*epsilon, 4) : "no epsilon up to 100",
                     exact_text(promised.delta));
}

/// "1 of them was", or of several rounds "in round 1 1 of them, in round 3 2 of them were"; empty: nobody
/// was.
std::string missing_in_words(const Apart& mode) {
  if (mode.stood_in_before.empty())
    return mode.stood_in == 0
               ? ""
               : fmt::format("{} of them {}", mode.stood_in, mode.stood_in == 1 ? "was" : "were");
  std::vector<std::string> rounds;
  for (std::size_t round = 1; round <= mode.stood_in_before.size() + 1; ++round) {
    if (const int missing = mode.parties.holders - mode.opened(round); missing > 0)
      rounds.push_back(fmt::format("{} of them in round {}", missing, round));
  }
  return rounds.empty() ? "" : fmt::format("{} were", fmt::join(rounds, ", "));
}

std::string text(const Apart& mode, const std::optional<Guarantee>& promised) {
  const RoundParties& p = mode.parties;
  const std::string missing = missing_in_words(mode);
  const std::string stood_in =
      missing.empty() ? "" : fmt::format(" ({} missing, and others stood in)", missing);
  const std::string alone =
      promised ? fmt::format(", which is {}", with_less_noise(std::sqrt(p.expected - p.colluding), *promised))
               : "";
  return fmt::format(
      "The sums of {} of {} invited institutions came together in signed messages, each under its own share "
      "of the noise and a mask for each of {} key holders, who opened the total together{}: nobody, the "
      "coordinator included, saw a sum without its noise. The promise holds against whoever sees all "
      "messages, and against any {} of these sites and any {} of the key holders that pool all they know, "
      "the "
      "coordinator with them. This supposes that the cryptography holds, and that an honest key holder "
      "opened one total with a key. If everybody else betrays a site, and the cryptography breaks, its own "
      "share "
      "protects it still: mu is then at most sqrt({}) times the promised one{}.",
      mode.sealed, p.sites, p.holders, stood_in, p.colluding, p.colluding_holders, p.expected - p.colluding,
      alone);
}

std::string text(const Combined& mode, const std::optional<Guarantee>& promised) {
  std::string out = fmt::format(
      "{} releases of different sites, each with noise of its own, were added up afterwards, from what was "
      "public already.",
      mode.parts.size());
  for (std::size_t i = 0; i < mode.parts.size(); ++i)
    out += fmt::format(" Of release {}: {}", i + 1, describe(mode_of(mode.parts[i]), promised));
  return out;
}

void check(const std::optional<SignedSites>& sites, int ranks, settings::Problems& problems) {
  if (!sites) return;
  problems.unless(sites->count >= 1 && sites->largest >= 1 &&
                      sites->largest - std::int64_t{1} <= std::int64_t{ranks} - sites->count &&
                      sites->count * std::int64_t{sites->largest} >= ranks,
                  fmt::format("{} sites that hold {} ranks, one of them {}, cannot be", sites->count, ranks,
                              sites->largest));
}

void check(const DistributedNoise& mode, settings::Problems& problems) {
  problems.unless(mode.colluding >= 0 && mode.colluding < mode.ranks,
                  fmt::format("{} of {} ranks may collude, but at least one must be honest: "
                              "privacy.colluding_ranks is a number from 0 to {}",
                              mode.colluding, mode.ranks, mode.ranks - 1));
  const int largest = mode.sites ? mode.sites->largest : 0;
  problems.unless(
      mode.ranks <= 1 || largest <= mode.colluding,
      fmt::format("a site of the roster holds {} of the ranks and knows all that they know, and "
                  "noise is planned for {} that collude: set privacy.colluding_ranks to {} or "
                  "more{}",
                  largest, mode.colluding, largest, largest > 1 ? ", or give the site fewer ranks" : ""));
}

}  // namespace

std::string name_of(const AggregationMode& mode) {
  return std::visit([](const auto& m) { return std::string(name(m)); }, mode);
}

std::string describe(const AggregationMode& mode, const std::optional<Guarantee>& promised) {
  return std::visit([&](const auto& m) { return text(m, promised); }, mode);
}

void require_valid(const AggregationMode& mode) {
  settings::Problems problems;
  const int ranks = ranks_of(mode);
  problems.unless(ranks >= 1, fmt::format("{} ranks take part, and it must be at least 1", ranks));
  check(sites_of(mode), ranks, problems);
  if (const DistributedNoise* shares = distributed(mode)) check(*shares, problems);
  if (const Apart* round = apart(mode)) {
    require_valid(round->parties);
    problems.unless(round->sealed >= round->parties.least && round->sealed <= round->parties.sites,
                    fmt::format("{} contributions count, and it must be {} to {}", round->sealed,
                                round->parties.least, round->parties.sites));
    std::vector<int> stood_in = round->stood_in_before;
    stood_in.push_back(round->stood_in);
    for (const int missing : stood_in)
      problems.unless(missing >= 0 && missing <= round->parties.missing_holders,
                      fmt::format("others stood in for {} key holders, and {} may be missing", missing,
                                  round->parties.missing_holders));
  }
  if (const Combined* several = combined(mode)) {
    problems.unless(several->parts.size() >= 2,
                    fmt::format("{} releases are combined, and it must be 2 or more", several->parts.size()));
    for (const Summed& part : several->parts) problems.check("", [&] { require_valid(mode_of(part)); });
  }
  problems.throw_if_any("the aggregation settings are wrong", settings::Problems::kNotReleased);
}

}  // namespace muffle::privacy
