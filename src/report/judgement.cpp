#include "judgement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr double kGood = 0.03;                   ///< of a single column, below held-out rows
constexpr double kWay = 0.75;                    ///< of the way from independent columns to held-out rows
constexpr double kCoin = 0.5, kNearCoin = 0.55;  ///< areas under the ROC curve

/// A number of metrics.json. None: it is not there.
std::optional<double> number_at(const nlohmann::json& metrics, const char* under, const std::string& name,
                                const char* measure) {
  const auto at = nlohmann::json::json_pointer() / under / name / measure;
  if (!metrics.is_object() || !metrics.contains(at) || !metrics.at(at).is_number()) return std::nullopt;
  return metrics.at(at).get<double>();
}

std::string with_interval(const Interval& i, int digits) {
  return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", i.value, digits, i.low, digits, i.high, digits);
}

}  // namespace

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

void judge_disclosure(const std::optional<Disclosure>& d, std::optional<double> most,
                      std::vector<std::string>& good, std::vector<std::string>& bad) {
  if (!d) {
    bad.emplace_back(
        "Nothing is held out (data.test_features), so nothing can be said of disclosure, nor of how good "
        "real records would be.");
    return;
  }
  if (not_comparable(*d)) {
    bad.emplace_back(
        "Held-out records are not comparable with the release's (chance alone says so in one report of "
        "80), so the attacks say nothing of disclosure.");
    return;
  }
  if (d->attacks.empty()) {
    bad.push_back(
        fmt::format("Too few records to say anything of disclosure: attacks need {} of the release and twice "
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
          "its curve of {}, and finds {} of members at 1 % false ones: {}.{}",
          d->attacks.size(), with_interval(worst.area, 3), with_interval(worst.found, 3),
          found ? "better than a coin, which chance alone does in one report of 40 at most, so look at the "
                  "section on disclosure"
                : "not to be told from a coin's, 0.5 and 0.01",
          most ? fmt::format(" The best of all attackers may reach an area of {:.3f}: that is what the "
                             "guarantee allows.",
                             *most)
               : ""));
  std::vector<std::size_t> guessed;
  for (const Inference& i : d->inferences) {
    if (i.apart.low > 0) guessed.push_back(i.column);
  }
  if (!guessed.empty())
    bad.push_back(
        fmt::format("Of {} columns that were guessed from the others {} {} guessed better of the release's "
                    "own people than of "
                    "held-out ones. Chance alone does that in one report of 40.",
                    d->inferences.size(), guessed.size(), guessed.size() == 1 ? "is" : "are"));
}

void judge_classifiers(const nlohmann::json& metrics, std::size_t classes, std::vector<std::string>& good,
                       std::vector<std::string>& bad) {
  if (classes < 2) return;
  const auto accuracy = [&](const char* under, const std::string& name) {
    return number_at(metrics, under, name, "accuracy");
  };
  std::string best;
  const auto tried = metrics.is_object() ? metrics.find("classifiers") : metrics.end();
  if (metrics.is_object() && tried != metrics.end() && tried->is_object()) {
    for (const auto& [name, score] : tried->items()) {
      const auto own = accuracy("classifiers", name);
      if (own && (best.empty() || *own > *accuracy("classifiers", best))) best = name;
    }
  }
  if (best.empty()) {
    bad.emplace_back(
        "What can be learnt from the synthetic records nobody has measured: `muffle evaluate` with "
        "\"classifiers\" does.");
    return;
  }
  const double made = *accuracy("classifiers", best), chance = 1 / static_cast<double>(classes);
  const std::string says = fmt::format(
      "A classifier ({}) that learns from the synthetic records finds the class of {:.1f} % of the held-out "
      "real ones, where guessing finds {:.1f} %",
      best, 100 * made, 100 * chance);
  const auto real = accuracy("classifiers_trained_on_real", best);
  if (!real) {
    bad.push_back(says + "; how many after learning from real ones was not measured (evaluate.also_real).");
  } else {
    const double way = *real > chance ? (made - chance) / (*real - chance) : 0.0;
    (way >= kWay ? good : bad)
        .push_back(fmt::format(
            "{}, and learning from real ones {:.1f} %: {:.0f} % of the way (good from {:.0f} % on).", says,
            100 * *real, 100 * std::clamp(way, 0.0, 1.0), 100 * kWay));
  }
}

void judge_table_classifiers(const nlohmann::json& metrics, std::vector<std::string>& good,
                             std::vector<std::string>& bad) {
  constexpr const char *kMade = "table_classifiers", *kReal = "table_classifiers_trained_on_real";
  const auto made = number_at(metrics, kMade, "mean", "roc_auc");
  if (!made) {
    bad.emplace_back(
        "What can be learnt from the synthetic rows nobody has measured: `muffle evaluate` with "
        "\"table-classifiers\" does.");
    return;
  }
  const std::string says = fmt::format(
      "Classifiers that learn from the synthetic rows tell the held-out real ones' label by a mean area "
      "under the ROC curve of {:.3f}, where guessing has {}",
      *made, kCoin);
  const auto real = number_at(metrics, kReal, "mean", "roc_auc");
  if (!real) {
    bad.push_back(says + "; how well after learning from real ones was not measured (evaluate.also_real).");
  } else {
    const double way = *real > kCoin ? (*made - kCoin) / (*real - kCoin) : 0.0;
    (way >= kWay ? good : bad)
        .push_back(fmt::format(
            "{}, and learning from real ones {:.3f}: {:.0f} % of the way (good from {:.0f} % on).", says,
            *real, 100 * std::clamp(way, 0.0, 1.0), 100 * kWay));
  }
  std::string lost;
  for (const auto& [name, score] : metrics.at(kMade).items()) {
    const auto by_made = number_at(metrics, kMade, name, "roc_auc_hard"),
               by_real = number_at(metrics, kReal, name, "roc_auc_hard");
    if (name != "mean" && by_made.value_or(1.0) <= kNearCoin && by_real.value_or(1.0) > kNearCoin)
      lost += (lost.empty() ? "" : ", ") + name;
  }
  if (!lost.empty())
    bad.push_back(fmt::format(
        "By the class that they name, these classifiers hardly tell the label once they learn from synthetic "
        "rows (roc_auc_hard of {} or less; {} is a coin's): {}.",
        kNearCoin, kCoin, lost));
}

}  // namespace muffle::report
