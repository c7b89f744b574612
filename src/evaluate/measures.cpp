#include "measures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/evaluate/evaluate.hpp"

namespace muffle::evaluate {

Ranking rank_scores(std::span<const double> scores, std::span<const bool> positive) {
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
  const auto positives = static_cast<double>(std::count(positive.begin(), positive.end(), true));
  const double negatives = static_cast<double>(scores.size()) - positives;
  require(positives > 0 && negatives > 0, "a ranking needs positives and negatives");
  Ranking out;
  double hits = 0.0, misses = 0.0, precision = 1.0;
  for (std::size_t i = 0; i < order.size();) {
    const double hits_before = hits, misses_before = misses, precision_before = precision;
    for (const double score = scores[order[i]]; i < order.size() && scores[order[i]] == score; ++i)
      (positive[order[i]] ? hits : misses) += 1.0;
    precision = hits / (hits + misses);
    const double recall_gained = (hits - hits_before) / positives;
    out.roc_auc += 0.5 * (hits + hits_before) * (misses - misses_before) / (positives * negatives);
    out.average_precision += recall_gained * precision;
    out.pr_trapezoids += 0.5 * recall_gained * (precision + precision_before);
  }
  return out;
}

std::span<const MeasureName> measure_names() {
  static constexpr std::array<MeasureName, 7> kNames{{{"accuracy", &Measures::accuracy},
                                                      {"macro_f1", &Measures::macro_f1},
                                                      {"weighted_f1", &Measures::weighted_f1},
                                                      {"roc_auc", &Measures::roc_auc},
                                                      {"pr_auc", &Measures::pr_auc},
                                                      {"roc_auc_hard", &Measures::roc_auc_hard},
                                                      {"pr_auc_hard", &Measures::pr_auc_hard}}};
  return kNames;
}

Measures measure(std::span<const std::int32_t> truth, std::span<const double> scores, std::size_t classes) {
  const std::size_t n = truth.size();
  require(classes >= 2 && scores.size() == n * classes, "a score for every class of every record");
  ConfusionMatrix confusion(classes);
  std::vector<std::size_t> predicted(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<const double> row = scores.subspan(i * classes, classes);
    require(std::all_of(row.begin(), row.end(), [](double s) { return std::isfinite(s); }),
            "a classifier gave a score that is not finite");
    predicted[i] = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    confusion.add(static_cast<std::size_t>(truth[i]), predicted[i]);
  }
  Measures out{.accuracy = confusion.accuracy(),
               .macro_f1 = confusion.macro_f1(),
               .weighted_f1 = confusion.weighted_f1()};
  const std::size_t first = classes == 2 ? 1 : 0;
  const double share = 1.0 / static_cast<double>(classes - first);
  std::vector<double> score(n), hard(n);
  const auto positive = std::make_unique<bool[]>(n);
  for (std::size_t c = first; c < classes; ++c) {
    for (std::size_t i = 0; i < n; ++i) {
      score[i] = scores[i * classes + c];
      hard[i] = predicted[i] == c ? 1.0 : 0.0;
      positive[i] = static_cast<std::size_t>(truth[i]) == c;
    }
    const Ranking soft = rank_scores(score, {positive.get(), n});
    const Ranking labels = rank_scores(hard, {positive.get(), n});
    out.roc_auc += share * soft.roc_auc;
    out.pr_auc += share * soft.average_precision;
    out.roc_auc_hard += share * labels.roc_auc;
    out.pr_auc_hard += share * labels.pr_trapezoids;
  }
  return out;
}

}  // namespace muffle::evaluate
