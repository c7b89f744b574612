#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr double kGood = 0.03;  ///< of a single column, below held-out rows
constexpr double kWay = 0.75;   ///< of the way from independent columns to held-out rows

/// All that can be promised of a line.
std::string drawn_not_copied(const release::Artifact& a) {
  return std::string("Lines are drawn from the model, not copied; one may equal a real one. ") +
         (a.is_private ? "What it can tell of a person is bounded by epsilon alone."
                       : "Nothing bounds what it can tell of a person.");
}

std::string what_it_is(const PublicMaterial& m) {
  const release::Artifact& a = m.artifact();
  const std::string records =
      a.adjacency == privacy::Adjacency::kReplaceOne ? fmt::format("{} real records", a.records)
      : m.records ? fmt::format("real records, about {:.0f} by the release's noisy count", *m.records)
                  : "real records, of a number that is private";
  std::string out = fmt::format("Sums over {} were released once, with {} noise. ", records,
                                a.is_private ? "random" : "seeded test");
  if (m.samples)
    return out + fmt::format("From these noisy sums alone {} synthetic records were made. {}",
                             m.samples->in_file, drawn_not_copied(a));
  if (m.model) return out + "A model was made from these noisy sums alone.";
  return out + "Nothing was made from them yet that this report was given.";
}

/// What was not shown of the release, or is wrong with it.
std::vector<std::string> unsettled(const PublicMaterial& m) {
  const release::Verification& v = m.verification;
  std::vector<std::string> out;
  if (!m.artifact().is_private)
    out.emplace_back(
        "There is no guarantee: whoever has the seed takes the noise off. Samples and model are as private "
        "as the records.");
  for (const release::Check& check : v.checks) {
    if (check.outcome == release::Check::Outcome::kFail)
      out.push_back(fmt::format("The check '{}' FAILED: {}", check.name, check.detail));
  }
  if (!v.vouched())
    out.push_back(fmt::format(
        "Nobody vouches for the release here: {}. That its noise was drawn as it says, no file can prove. "
        "`muffle verify --require-signature KEY.pub` asks for the signature of one who is known.",
        v.signature ? "whoever signed it was not checked" : "it is not signed"));
  if (!v.repeated())
    out.emplace_back("What its later rounds count was not chosen again: it might carry data.");
  return out;
}

void say(const PublicMaterial& m, std::vector<std::string> good, std::vector<std::string> bad, Page& page) {
  const std::vector<std::string> open = unsettled(m);
  bad.insert(bad.begin(), open.begin(), open.end());
  if (m.artifact().is_private) quality_by_noise(m, good, bad);
  bad.emplace_back(
      "Whatever few records have is not kept: rare values, outliers, small groups and what joins three "
      "columns or more may be missing or invented.");
  if (m.model && !m.model->counts_released && m.artifact().schema.classes > 1 && !m.artifact().schema.table)
    bad.emplace_back("How frequent the classes are was not released: samples have them equally often.");
  page.heading("What is good");
  if (good.empty()) {
    page.paragraph("Nothing that could be shown here.");
  } else {
    page.list(good);
  }
  page.heading("What is not");
  page.list(bad);
}

/// Whether a person has no more records than it says.
std::string on_whose_word(const release::Artifact& a) {
  const auto person = a.schema.table ? a.schema.table->person() : std::nullopt;
  if (!person) return ": promised by those who made it, not checked";
  return fmt::format("; of whom the column '{}' names, others do not count",
                     a.schema.table->columns[*person].name);
}

/// What holds of a person with more records than were promised: the promise holds of each change of so many,
/// and mu adds up over such steps (Dong, Roth & Su, JRSS B 2022, group privacy). Rounded up.
std::string of_more_records(const release::Artifact& a, const privacy::Guarantee& promise) {
  if (a.schema.table && a.schema.table->person()) return {};  // the others do not count
  const double mu = divide_up(1.0, promise.noise_multiplier);
  std::string out;
  for (const std::uint64_t records : {2, 5, 10}) {
    if (records <= a.max_records_per_person) continue;
    const std::uint64_t steps = (records + a.max_records_per_person - 1) / a.max_records_per_person;
    const double of_all = multiply_up(mu, static_cast<double>(steps));
    const auto epsilon = privacy::epsilon_to_tell(of_all, a.noise.delta);
    out += fmt::format("{}{} records: {}", out.empty() ? "" : "; ", records,
                       epsilon ? fmt::format("epsilon {:.2f}", std::ceil(100 * *epsilon) / 100)
                               : fmt::format("epsilon beyond {:.0f}", privacy::kMaxEpsilon));
  }
  return out.empty() ? out : out + fmt::format(", at delta {}", exact_text(a.noise.delta));
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
      {"who is protected", fmt::format("one person, with {} record{} at most{}", a.max_records_per_person,
                                       a.max_records_per_person == 1 ? "" : "s", on_whose_word(a))});
  if (const std::string more = promise ? of_more_records(a, *promise) : ""; !more.empty())
    table.rows.push_back({"of somebody with more", more});
  table.rows.push_back({"against", a.adjacency == privacy::Adjacency::kReplaceOne
                                       ? "their records having been any others (replace-one)"
                                       : "their records having been there at all (add/remove-one)"});
  table.rows.push_back({"signature", m.verification.signature ? fmt::format("claims to be '{}', unchecked",
                                                                            m.verification.signature->signer)
                                                              : "nobody signed it"});
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

void judge_scores(const TableScores& s, std::vector<std::string>& good, std::vector<std::string>& bad) {
  std::string pairs = fmt::format(
      "Pairs of columns: {:.3f} of 1; independent columns with the same margins reach "
      "{:.3f}",
      s.pairs, s.independent_pairs);
  if (s.all.empty()) {
  } else if (s.pairs <= s.independent_pairs) {
    bad.push_back(pairs + ". The model's pairs are no better than none.");
  } else if (!s.held_out_pairs) {
    bad.push_back(pairs + ". Without held-out rows nobody can say how much of what there is that is.");
  } else if (*s.held_out_pairs <= s.independent_pairs) {
    bad.push_back(
        fmt::format("{}, and other real rows {:.3f}: too few rows, or too little in pairs, to judge by.",
                    pairs, *s.held_out_pairs));
  } else {
    const double way = (s.pairs - s.independent_pairs) / (*s.held_out_pairs - s.independent_pairs);
    (way >= kWay ? good : bad)
        .push_back(fmt::format("{}, and other real rows {:.3f}: {:.0f} % of the way (good from {:.0f} % on).",
                               pairs, *s.held_out_pairs, 100 * std::min(way, 1.0), 100 * kWay));
  }
  const double ceiling = s.held_out_shapes.value_or(1.0);
  (s.shapes >= ceiling - kGood ? good : bad)
      .push_back(fmt::format(
          "Single columns: {:.3f} of 1{} (good up to {} below).", s.shapes,
          s.held_out_shapes ? fmt::format(", where other real rows reach {:.3f}", ceiling) : "", kGood));
}

/// By the attack that finds most.
void judge_disclosure(const std::optional<Disclosure>& d, std::vector<std::string>& good,
                      std::vector<std::string>& bad) {
  if (!d) {
    bad.emplace_back(
        "Nothing is held out (data.test_features), so nothing can be said of disclosure, nor of how good "
        "real rows would be.");
    return;
  }
  if (not_comparable(*d)) {
    bad.emplace_back(
        "Held-out rows are not comparable with the release's (chance alone says so of an attack once in "
        "40 times), so the attacks say nothing of disclosure.");
    return;
  }
  if (d->attacks.empty()) {
    bad.push_back(
        fmt::format("Too few rows to say anything of disclosure: attacks need {} of the release and twice "
                    "as many held-out ones.",
                    kFewestCandidates));
    return;
  }
  const Attack& worst =
      *std::max_element(d->attacks.begin(), d->attacks.end(),
                        [](const auto& a, const auto& b) { return a.area.low < b.area.low; });
  const bool found = worst.area.low > 0.5 || worst.found.low > kFalseShare;
  (found ? bad : good)
      .push_back(fmt::format(
          "Of {} attacks that guess who was in the data the one that finds most has an area under "
          "its curve of {}, and finds {} of members at 1 % false ones: {}.",
          d->attacks.size(), with_interval(worst.area, 3), with_interval(worst.found, 3),
          found ? "better than a coin, so look at the section on disclosure"
                : "not to be told from a coin's, 0.5 and 0.01"));
  std::vector<std::size_t> guessed;
  for (const Inference& i : d->inferences) {
    if (difference(i).low > 0) guessed.push_back(i.column);
  }
  if (!guessed.empty())
    bad.push_back(
        fmt::format("Of {} columns that were guessed from the others {} {} guessed better of the release's "
                    "own people than of "
                    "held-out ones. Chance alone does that to one column in 40.",
                    d->inferences.size(), guessed.size(), guessed.size() == 1 ? "is" : "are"));
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
  if (real.scores) judge_scores(*real.scores, good, bad);
  judge_disclosure(real.disclosure, good, bad);
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
                "record{} a person).",
                a.muffle_version, exact_text(promise->epsilon), exact_text(a.noise.delta),
                a.adjacency == privacy::Adjacency::kReplaceOne ? "replace-one" : "add/remove-one",
                a.max_records_per_person, a.max_records_per_person == 1 ? "" : "s")
          : fmt::format("Made by muffle {} with seeded test noise: NOT PRIVATE.", a.muffle_version);
  cite += fmt::format("\nRelease SHA-256 {}", m.release_hash);
  if (m.model) cite += fmt::format("\nModel SHA-256 {}", m.model_hash);
  page.lines(cite);
  page.heading("What it must not be used for");
  page.list(
      {"To decide about a person. " + drawn_not_copied(a),
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
