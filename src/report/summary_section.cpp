#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr double kGood = 0.03, kBad = 0.10;  ///< of noise, total variation of a column
constexpr std::size_t kMostNamed = 6;

std::string names_of(const PublicMaterial& m, const std::vector<ColumnDistance>& some) {
  std::string out;
  for (std::size_t k = 0; k < std::min(some.size(), kMostNamed); ++k)
    out += (k > 0 ? ", " : "") + m.samples->columns[some[k].column].name;
  if (some.size() > kMostNamed) out += fmt::format(" and {} more", some.size() - kMostNamed);
  return out;
}

std::string what_it_is(const PublicMaterial& m) {
  const release::Artifact& a = m.artifact();
  const std::string records =
      a.adjacency == privacy::Adjacency::kReplaceOne ? fmt::format("{} real records", a.records)
      : m.records ? fmt::format("real records, about {:.0f} by the release's noisy count", *m.records)
                  : "real records, of a number that is private";
  std::string out = fmt::format("Sums over {} were released once, with random noise. ", records);
  if (m.samples)
    return out +
           fmt::format(
               "From these noisy sums alone {} synthetic records were made: no line of them is a person's.",
               m.samples->in_file);
  if (m.model) return out + "A model was made from these noisy sums alone.";
  return out + "Nothing was made from them yet that this report was given.";
}

/// What the noise does to columns, in words.
void quality_by_noise(const PublicMaterial& m, std::vector<std::string>& good,
                      std::vector<std::string>& bad) {
  std::vector<ColumnDistance> all = released_distances(m), fine, noisy, off;
  for (const ColumnDistance& d : all) {
    if (d.by_noise <= kGood) fine.push_back(d);
    if (d.by_noise >= kBad) noisy.push_back(d);
    if (d.distance > kGood + 3 * d.by_noise) off.push_back(d);
  }
  if (!fine.empty())
    good.push_back(fmt::format("In {} of {} columns noise displaces less than {:.0f} % of the records.",
                               fine.size(), all.size(), 100 * kGood));
  const auto worst = [](auto field) {
    return [field](const auto& x, const auto& y) { return x.*field > y.*field; };
  };
  std::sort(noisy.begin(), noisy.end(), worst(&ColumnDistance::by_noise));
  std::sort(off.begin(), off.end(), worst(&ColumnDistance::distance));
  if (!noisy.empty())
    bad.push_back(
        fmt::format("In {} of {} columns the release's own noise displaces {:.0f} % of the records or more, "
                    "seen in bins as fine as those drawn: {}. "
                    "The model smooths it, which is a guess.",
                    noisy.size(), all.size(), 100 * kBad, names_of(m, noisy)));
  if (!off.empty())
    bad.push_back(
        fmt::format("Synthetic records depart from the release by more than its noise explains in: {}.",
                    names_of(m, off)));
  if (all.size() >= 1 && off.empty())
    good.push_back(
        "In every column the synthetic records are as near to the release as its noise lets anybody tell.");
}

void say(const PublicMaterial& m, std::vector<std::string> good, std::vector<std::string> bad, Page& page) {
  quality_by_noise(m, good, bad);
  bad.emplace_back(
      "Whatever few records have is not kept: rare values, outliers, small groups and what joins three "
      "columns or more may be missing or invented.");
  if (m.model && !m.model->counts_released && m.artifact().schema.classes > 1 && !m.artifact().schema.table)
    bad.emplace_back("How frequent the classes are was not released: samples have them equally often.");
  page.heading("What is good");
  if (good.empty())
    good.emplace_back(
        "The guarantee holds. How close samples come to the data cannot be told from public files alone "
        "here.");
  page.list(good);
  page.heading("What is not");
  page.list(bad);
}

void facts(const PublicMaterial& m, Page& page) {
  const release::Artifact& a = m.artifact();
  page.paragraph(what_it_is(m));
  if (!a.is_private) {
    page.paragraph(
        "NOT PRIVATE: the release has seeded test noise and carries no guarantee at all. Show this to nobody "
        "who may not see the records.");
    return;
  }
  const auto promise = release::promise_of(a);
  TextTable table{{}, {}};
  if (promise)
    table.rows.push_back({"the promise", fmt::format("epsilon {} at delta {}", exact_text(promise->epsilon),
                                                     exact_text(a.noise.delta))});
  table.rows.push_back(
      {"who is protected", fmt::format("one person, with {} record{} at most", a.max_records_per_person,
                                       a.max_records_per_person == 1 ? "" : "s")});
  table.rows.push_back({"against", a.adjacency == privacy::Adjacency::kReplaceOne
                                       ? "their records having been any others (replace-one)"
                                       : "their records having been there at all (add/remove-one)"});
  table.rows.push_back(
      {"signature", m.verification.signature ? m.verification.signature->signer : "nobody signed it"});
  page.table(table);
  // The statement's own first words, up to its formulas.
  const std::string statement =
      release::privacy_statement_text(a, m.verification.ledger ? &*m.verification.ledger : nullptr);
  std::string paragraph;
  const std::string_view text = std::string_view(statement).substr(0, statement.find("\nThe formulas"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.empty()) {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
      continue;
    }
    if (paragraph.starts_with("What epsilon says") || paragraph.starts_with("What was spent"))
      page.paragraph(paragraph);
    paragraph.clear();
  }
}

std::string with_interval(const Interval& i, int digits) {
  return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", i.value, digits, i.low, digits, i.high, digits);
}

}  // namespace

void public_summary(const PublicMaterial& m, Page& page) {
  facts(m, page);
  say(m, {}, {}, page);
}

void private_summary(const PublicMaterial& m, const PrivateMaterial& real, Page& page) {
  page.paragraph(
      "This report has real rows beside the synthetic ones. It is for those who may see the records, and "
      "nobody else: it is not "
      "covered by the guarantee, and neither is a choice that is made by it.");
  facts(m, page);
  std::vector<std::string> good, bad;
  if (real.scores) {
    const TableScores& s = *real.scores;
    const std::string pairs = fmt::format(
        "Pairs of columns: {:.3f} of 1{}; independent columns with the same margins reach {:.3f}.", s.pairs,
        s.held_out_pairs ? fmt::format(", where other real rows reach {:.3f}", *s.held_out_pairs) : "",
        s.independent_pairs);
    (s.pairs > s.independent_pairs ? good : bad)
        .push_back(pairs +
                   (s.pairs > s.independent_pairs ? "" : " The model's pairs are no better than none."));
    good.push_back(fmt::format(
        "Single columns: {:.3f} of 1{}.", s.shapes,
        s.held_out_shapes ? fmt::format(", where other real rows reach {:.3f}", *s.held_out_shapes) : ""));
  }
  if (real.disclosure) {
    const Interval& area = real.disclosure->attacks.back().area;
    const bool found = area.low > 0.5;
    (found ? bad : good)
        .push_back(
            fmt::format("An attack that guesses who was in the data has an area under its curve of {}: {}.",
                        with_interval(area, 3),
                        found ? "better than a coin, so look at the section on disclosure"
                              : "not to be told from a coin's, 0.5"));
  } else {
    bad.emplace_back(
        "Nothing is held out (data.test_features), so nothing can be said of disclosure, nor of how good "
        "real rows would be.");
  }
  say(m, std::move(good), std::move(bad), page);
}

void public_use(const PublicMaterial& m, Page& page) {
  const release::Artifact& a = m.artifact();
  page.heading("How to cite it");
  const auto promise = release::promise_of(a);
  std::string cite =
      a.is_private && promise
          ? fmt::format(
                "Synthetic data by muffle {}, ({}, {})-differentially private ({} adjacency, at most {} "
                "record(s) a person).",
                a.muffle_version, exact_text(promise->epsilon), exact_text(a.noise.delta),
                a.adjacency == privacy::Adjacency::kReplaceOne ? "replace-one" : "add/remove-one",
                a.max_records_per_person)
          : fmt::format("Made by muffle {} with seeded test noise: NOT PRIVATE.", a.muffle_version);
  cite += fmt::format("\nRelease SHA-256 {}", m.release_hash);
  if (m.model) cite += fmt::format("\nModel SHA-256 {}", m.model_hash);
  page.lines(cite);
  page.heading("What it must not be used for");
  page.list(
      {"To decide about a person: no synthetic record is anybody's, and one that looks like somebody's says "
       "nothing of them.",
       "To look for people in it, or to join it with other data so as to find them.",
       "To tell how frequent rare things are, to look for outliers, or to count small groups.",
       "As the only ground of a finding: whatever matters is to be confirmed on the real data, by those who "
       "may.",
       "To tune or choose the release, the model or the samples by scores on the real records and then "
       "publish them under the same guarantee: "
       "such choices cost privacy that nobody has accounted for."});
  page.note(
      "Confidence intervals and p-values that are computed from synthetic records as if they were real ones "
      "are too narrow: they know nothing of the noise.");
}

}  // namespace muffle::report
