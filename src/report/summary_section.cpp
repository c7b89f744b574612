#include <fmt/format.h>

#include <algorithm>

#include "class_means.hpp"
#include "guarantee.hpp"
#include "judgement.hpp"
#include "rules.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostRulesNamed = 4;

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
  if (v.vouched() && !v.signature && !v.trusted && v.parties.empty())
    out.emplace_back(
        "Nobody signed the release: the ledger proves that what it spends was charged, not who drew its "
        "noise.");
  if (!v.repeated())
    out.emplace_back("What its later rounds count was not chosen again: it might carry data.");
  return out;
}

/// Of the synthetic rows: what the schema says must hold, and what they were changed for it.
void judge_rules(const PublicMaterial& m, std::vector<std::string>& good, std::vector<std::string>& bad) {
  for (const std::string& rule : m.moving_rules)
    bad.push_back(fmt::format("The model does not know a rule of the schema: {}.", rule));
  const auto& schema = m.artifact().schema;
  if (!m.samples || !schema.table || m.samples->breaks.empty()) return;
  const std::vector<std::string> rules = rules_of(*schema.table);
  if (m.samples->breaks_any > 0) {
    for (std::size_t k = 0; k < rules.size(); ++k) {
      if (m.samples->breaks[k] > 0)
        bad.push_back(fmt::format("{} of {} synthetic rows break a rule of the schema: {}.",
                                  m.samples->breaks[k], m.samples->size(), rules[k]));
    }
    return;
  }
  std::string named;
  for (std::size_t k = 0; k < std::min(rules.size(), kMostRulesNamed); ++k)
    named += (k > 0 ? "; " : "") + rules[k];
  if (rules.size() > kMostRulesNamed) named += fmt::format("; and {} more", rules.size() - kMostRulesNamed);
  good.push_back(
      fmt::format("None of {} synthetic rows breaks a rule of the schema: {}.", m.samples->size(), named));
}

/// Of the synthetic rows: those in which completed years are negative, as of people born after their
/// admission.
void judge_years(const PublicMaterial& m, std::vector<std::string>& bad) {
  if (!m.samples) return;
  for (std::size_t j = 0; j < m.samples->columns.size(); ++j) {
    const Column& column = m.samples->columns[j];
    if (!column.follows || !column.schema->derived ||
        column.schema->derived->unit != schema::Derivation::Unit::kYears)
      continue;
    const auto& columns = m.artifact().schema.table->columns;
    const std::string &later = columns[column.schema->derived->later].name,
                      &earlier = columns[column.schema->derived->earlier].name;
    const auto negative = std::count_if(m.samples->values[j].begin(), m.samples->values[j].end(),
                                        [](double years) { return years < 0; });
    if (negative > 0)
      bad.push_back(fmt::format(
          "In {} of {} synthetic rows '{}' is negative: '{}' lies before '{}'. If that cannot be, a rule of "
          "the schema ('{}' <= '{}') keeps their order in every row.",
          negative, m.samples->size(), column.name, later, earlier, earlier, later));
  }
}

void say(const PublicMaterial& m, std::vector<std::string> good, std::vector<std::string> bad, Page& page) {
  std::vector<std::string> open = unsettled(m), first;
  judge_epsilon(m, first, open);
  bad.insert(bad.begin(), open.begin(), open.end());
  good.insert(good.begin(), first.begin(), first.end());
  judge_rules(m, good, bad);
  judge_years(m, bad);
  if (m.artifact().is_private) {
    quality_by_noise(m, good, bad);
    judge_classes_by_noise(m, good, bad);
  }
  bad.emplace_back(
      m.artifact().schema.table
          ? "Whatever few records have is not kept: rare values, outliers, small groups and what joins three "
            "columns or more may be missing or invented."
          : "Whatever few records have is not kept: outliers and small groups may be missing or invented.");
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

void facts(const PublicMaterial& m, Page& page) {
  const release::Artifact& a = m.artifact();
  if (!m.about.empty()) page.paragraph(m.about);
  page.paragraph(what_it_is(m));
  if (!a.is_private) {
    page.paragraph(
        "NOT PRIVATE: the release has seeded test noise, or none, and carries no guarantee at all. Show this "
        "to nobody who may not see the records.");
    return;
  }
  page.table(promises(m));
  page.paragraph(who_saw_what(a));
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

}  // namespace

void public_summary(const PublicMaterial& m, Page& page) {
  facts(m, page);
  say(m, {}, {}, page);
}

void private_summary(const PublicMaterial& m, const PrivateMaterial& real, Page& page) {
  page.paragraph(
      "This report has real records beside the synthetic ones. What somebody chooses by it is not covered by "
      "the guarantee either.");
  facts(m, page);
  std::vector<std::string> good, bad;
  if (real.scores) judge_scores(*real.scores, good, bad);
  const schema::Schema& schema = m.artifact().schema;
  if (m.samples && !schema.table) judge_classifiers(real.metrics, schema.classes, good, bad);
  const auto labels = [](const Column& c) { return c.is_label && c.categories.size() > 1; };
  if (m.samples && schema.table && std::ranges::any_of(m.samples->columns, labels))
    judge_table_classifiers(real.metrics, good, bad);
  judge_disclosure(real.disclosure, m.mu() ? std::optional(most_area(*m.mu())) : std::nullopt, good, bad);
  say(m, std::move(good), std::move(bad), page);
}

}  // namespace muffle::report
