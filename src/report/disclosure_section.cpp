#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "charts.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kDistanceBins = 30;

std::string with_interval(const Interval& i) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", i.value, i.low, i.high);
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted.empty() ? 0.0
                        : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void distances(const Disclosure& d, Page& page) {
  page.heading("Distance to the nearest record: novelty, no guarantee");
  page.paragraph(
      "How far synthetic records are from the nearest record of the release, and from the nearest of as many "
      "that it never saw. If the "
      "release favours nobody the two are alike. That they are alike proves nothing: what protects is the "
      "noise.");
  TextTable table{{"distance", "nearest 1 %", "nearest 5 %", "median", "equal in all values"}, {}};
  const auto row = [&](const char* name, const std::vector<double>& all, const std::string& copies) {
    table.rows.push_back({name, fmt::format("{:.4f}", at_share(all, 0.01)),
                          fmt::format("{:.4f}", at_share(all, 0.05)),
                          fmt::format("{:.4f}", at_share(all, 0.5)), copies});
  };
  row("synthetic to the release's records", d.to_members, std::to_string(d.copies_of_members));
  row("synthetic to held-out records", d.to_held_out, std::to_string(d.copies_of_held_out));
  row("held-out to the release's records", d.held_out_to_members,
      fmt::format("{} of {}", d.held_out_in_release, d.others));
  page.table(table);
  const Interval& nearer = d.nearer_to_members;
  page.paragraph(fmt::format(
      "Share of synthetic records that are nearer to a record of the release than to a held-out one: {}. If "
      "the release favours nobody it is 0.5{}",
      with_interval(nearer),
      nearer.low > 0.5
          ? ", and this is more than chance explains in 39 of 40 cases: look for records that the "
            "model repeats, or held-out ones of another kind."
      : nearer.high < 0.5 ? ", and this is less than chance explains in 39 of 40 cases: the held-out records "
                            "are easier to come near to than the release's, so they are not of the same kind."
                          : ", which the interval holds: nothing was found."));
  page.note(fmt::format(
      "{} synthetic records against {} and {} real ones. Distance: the mean over columns of how far "
      "values stand apart among held-out ones; "
      "1 for other categories. The interval minds that many synthetic records may have one nearest "
      "record.",
      d.to_members.size(), d.compared, d.compared));
  const double top = std::max({1e-9, d.to_members.back(), d.to_held_out.back(),
                               d.held_out_to_members.empty() ? 0.0 : d.held_out_to_members.back()});
  BarChart chart;
  chart.title = "Distance to the nearest record";
  chart.description =
      "Bars: synthetic records to the release's records. Lines: to held-out records, and held-out ones to "
      "the release's.";
  const auto shares = [&](const std::vector<double>& all) {
    std::vector<double> out(kDistanceBins, 0.0);
    for (const double x : all)
      out[std::min(kDistanceBins - 1,
                   static_cast<std::size_t>(x / top * static_cast<double>(kDistanceBins)))] +=
          1.0 / static_cast<double>(all.size());
    return out;
  };
  for (std::size_t b = 0; b < kDistanceBins; ++b)
    chart.labels.push_back(
        fmt::format("{:.3f}", top * (static_cast<double>(b) + 0.5) / static_cast<double>(kDistanceBins)));
  chart.bars = shares(d.to_members);
  chart.held_out = shares(d.to_held_out);
  if (!d.held_out_to_members.empty()) chart.real = shares(d.held_out_to_members);
  page.figure(
      bar_chart(chart),
      "Bars: synthetic records to the release's records. Broken line: synthetic records to held-out records. "
      "Full line: held-out records to the release's records, as real people lie.");
}

void membership(const PublicMaterial& m, const Disclosure& d, Page& page) {
  page.heading("Who was in the data?");
  page.paragraph(
      "An attacker has a person's whole record and the synthetic records, and guesses whether it was in the "
      "release. Tried on records "
      "that were, and on held-out ones that were not; no model is trained beside.");
  if (d.attacks.empty())
    page.paragraph(fmt::format(
        "Too few to say: an attack needs {} records of the release and twice as many held-out ones.",
        kFewestCandidates));
  if (not_comparable(d))
    page.paragraph(
        "Held-out records are not comparable: they equal the release's own, or are nearer to the synthetic "
        "ones than the release's own are. They are of another time or place, or the two were mixed up; "
        "chance alone says so in one report of 80. Nothing here says anything of members.");
  TextTable table{
      {"guessed as a member is a record that is", "area under the curve", "members found at 1 % false ones"},
      {}};
  for (const Attack& a : d.attacks)
    table.rows.push_back({a.how, with_interval(a.area), with_interval(a.found)});
  if (const auto mu = m.mu())
    table.rows.push_back({"what the guarantee lets the best of all attackers reach",
                          fmt::format("{:.3f}", most_area(*mu)),
                          fmt::format("{:.3f}", most_found_at(*mu, kFalseShare))});
  table.rows.push_back({"guesses by a coin", "0.500", fmt::format("{:.3f}", kFalseShare)});
  page.table(table);
  page.note(fmt::format(
      "{} members, {} others, {} synthetic records; in brackets intervals all of which hold in 95 of 100 "
      "cases. One that holds 0.5 says that this attack found nothing, not that "
      "none could. If the held-out records are of another time or place than the release's, the "
      "attack tells that, and nothing of members.",
      d.members, d.others, d.samples));
}

void inference(const PublicMaterial& m, const Disclosure& d, Page& page) {
  if (d.inferences.empty()) return;
  page.heading("What can be guessed of a person?");
  page.paragraph(
      "An attacker knows all of a record but one column, and guesses that by the synthetic records nearest "
      "to it. What holds of people who are not in the release, too, is learnt of everybody, and is what "
      "such data are for; only what is guessed better of the release's own people would be a leak.");
  TextTable table{
      {"column", "people in the release", "held-out people", "difference", "the most frequent value"}, {}};
  for (const Inference& i : d.inferences) {
    table.rows.push_back({m.samples->columns[i.column].name, with_interval(i.of_members),
                          with_interval(i.of_held_out), with_interval(i.apart),
                          fmt::format("{:.3f}", i.by_majority)});
  }
  page.table(table);
  page.note(
      "Share of right guesses, with intervals of 95 %; of the differences all together hold in 95 of 100 "
      "cases. One whose interval holds 0 says that nothing was found.");
}

}  // namespace

bool not_comparable(const Disclosure& d) {
  // Rows of few values equal one another by chance: as often as the release's own do.
  const auto share = [](std::size_t k, std::size_t n) {
    return n > 0 ? static_cast<double>(k) / static_cast<double>(n) : 0.0;
  };
  const double by_chance = share(d.repeated_in_release, d.members);
  return share(d.held_out_in_release, d.others) > (1 + by_chance) / 2 ||
         std::any_of(d.attacks.begin(), d.attacks.end(), [](const Attack& a) { return a.area.high < 0.5; });
}

void private_disclosure(const PublicMaterial& m, const PrivateMaterial& real, Page& page) {
  if (!real.disclosure) {
    page.paragraph(
        "Nothing is held out (data.test_features), so there is nobody to compare the release's people with: "
        "no attack was tried.");
    return;
  }
  page.paragraph(
      "None of this is the guarantee: that is epsilon, and holds against attacks that nobody has thought of "
      "yet. It looks for mistakes. Not tried: somebody with several records, and several columns guessed at "
      "once.");
  distances(*real.disclosure, page);
  membership(m, *real.disclosure, page);
  inference(m, *real.disclosure, page);
}

}  // namespace muffle::report
