#include "table_classifiers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>

#include "accuracy_by_records.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/data/format.hpp"
#include "side_by_side.hpp"
#include "table_classifier.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kTestRows = 1000;  ///< at a time

/// One classifier to be trained and tested.
struct TableContestant {
  const TableClassifierKind* kind;
  const Rows* rows;
  std::unique_ptr<TableClassifier> classifier;
  std::vector<double> scores;  ///< test records x C
};

/// What classifiers read of them.
Rows rows_of(const LabelledRecords& records, const Features& features, const schema::Schema& schema) {
  Rows rows{&features, schema.classes, {}, {}};
  const std::size_t dims = schema.dims();
  rows.values.reserve(records.size() * features.columns().size());
  for (std::size_t i = 0; i < records.size(); ++i)
    rows.add(std::span(records.x).subspan(i * dims, dims), static_cast<std::int32_t>(records.y[i]));
  return rows;
}

/// The first so many rows, for each of the sizes, without those in which some class has none: what
/// classifiers make of that differs from one to the next.
std::vector<Rows> first_of(const Rows& rows, const std::vector<std::size_t>& sizes,
                           std::vector<std::string>& notes) {
  std::vector<Rows> out;
  for (const std::size_t size : sizes_within(sizes, rows.size(), notes)) {
    Rows part = rows.first(size);
    std::vector<bool> there(rows.classes);
    for (const std::int32_t label : part.y) there[static_cast<std::size_t>(label)] = true;
    if (std::ranges::all_of(there, [](bool has) { return has; })) {
      out.push_back(std::move(part));
    } else {
      notes.push_back(
          fmt::format("evaluate.train_sizes: {} is left out, as the first {} synthetic records lack a class",
                      size, size));
      spdlog::info("evaluate: {}", notes.back());
    }
  }
  return out;
}

/// @param show_progress  false where its times would tell a private number of records
void train_table_classifiers(std::vector<TableContestant>& contestants, const Subject& subject,
                             std::uint64_t seed, bool show_progress) {
  std::vector<TableContestant*> order;
  for (TableContestant& c : contestants) order.push_back(&c);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->kind->cost > b->kind->cost; });
  Progress progress("evaluate: training classifiers", order.size(), "classifiers",
                    show_progress && spdlog::should_log(spdlog::level::info));
  std::atomic<std::uint64_t> done = 0;
  std::vector<std::function<void(const Heartbeat&)>> trainings;
  for (TableContestant* c : order) {
    trainings.emplace_back([c, seed, &done](const Heartbeat& heartbeat) {
      c->classifier = c->kind->train(*c->rows, seed, heartbeat);
      ++done;
    });
  }
  run_side_by_side(trainings, subject.threads, [&] {
    beat(subject.heartbeat);
    progress.update(done);
  });
  progress.update(done);
}

/// One pass over the test records for all contestants. @returns their labels.
std::vector<std::int32_t> score_test_records(data::RecordSource& test, const Features& features,
                                             const Subject& subject,
                                             std::vector<TableContestant>& contestants) {
  const schema::Schema& schema = subject.test.schema;
  std::vector<std::int32_t> truth;
  Rows rows{&features, schema.classes, {}, {}};
  data::Batch batch;
  for (test.next(kTestRows, batch); batch.n > 0; test.next(kTestRows, batch)) {
    beat(subject.heartbeat);
    rows.clear();
    for (std::size_t i = 0; i < batch.n; ++i) {
      if (batch.y[i] == schema::kNoClass) continue;
      rows.add(std::span(batch.x).subspan(i * schema.dims(), schema.dims()), batch.y[i]);
    }
    truth.insert(truth.end(), rows.y.begin(), rows.y.end());
    for (TableContestant& c : contestants) {
      const std::size_t before = c.scores.size();
      c.scores.resize(before + rows.size() * rows.classes);
      c.classifier->score(rows, std::span(c.scores).subspan(before));
    }
  }
  return truth;
}

/// @param scores  n x C
bool predicts_one_class(std::span<const double> scores, std::size_t classes) {
  const auto predicted = [&](std::size_t i) {
    const auto own = scores.subspan(i * classes, classes);
    return std::max_element(own.begin(), own.end()) - own.begin();
  };
  for (std::size_t i = 1; i < scores.size() / classes; ++i) {
    if (predicted(i) != predicted(0)) return false;
  }
  return true;
}

/// Which classes the test records have is private: the public text is one for all data.
void require_tested_classes(const std::vector<std::int32_t>& truth, const Subject& subject) {
  std::vector<std::size_t> missing;
  for (std::size_t c = 0; c < subject.test.schema.classes; ++c) {
    if (std::find(truth.begin(), truth.end(), static_cast<std::int32_t>(c)) == truth.end())
      missing.push_back(c);
  }
  if (missing.empty()) return;
  const std::string name = fmt::format("'{}'", data::resolve_path(subject.test, subject.test.features, 0));
  throw DataError(
      fmt::format("{} lacks test records of some class, without which there is no ROC or "
                  "precision-recall curve: name the right test files, or look at the log of the "
                  "rank that read them.",
                  name),
      LocalDetail{fmt::format("{} has no record of the classes {}", name, fmt::join(missing, ", "))});
}

}  // namespace

std::span<const TableClassifierKind> table_classifier_kinds() {
  static constexpr std::array<TableClassifierKind, 12> kKinds{
      {{"logistic_regression", 2, train_logistic_regression},
       {"linear_svm", 3, train_linear_svm},
       {"mlp", 100, train_mlp},
       {"gaussian_nb", 1, train_gaussian_nb},
       {"bernoulli_nb", 1, train_bernoulli_nb},
       {"lda", 1, train_lda},
       {"decision_tree", 2, train_decision_tree},
       {"random_forest", 40, train_random_forest},
       {"bagging", 20, train_bagging},
       {"gradient_boosting", 10, train_gradient_boosting},
       {"adaboost", 60, train_adaboost},  // of images; of tables it is done soon wherever it begins
       {"xgboost", 15, train_xgboost}}};
  return kKinds;
}

std::vector<std::string> table_classifier_names() { return names_of(table_classifier_kinds()); }

Measures mean_of(const std::vector<TableScore>& scores) {
  Measures mean;
  for (const MeasureName& measure : measure_names()) {
    for (const TableScore& s : scores)
      mean.*measure.field += s.measures.*measure.field / static_cast<double>(scores.size());
  }
  return mean;
}

TableClassifierReport evaluate_table_classifiers(const Subject& subject, const TableClassifiersSpec& spec) {
  const schema::Schema& schema = subject.test.schema;
  if (schema.classes < 2) {
    throw DataError("classifiers need records of at least two classes, the schema has " +
                    std::to_string(schema.classes) + ": evaluate something else, or name the labels.");
  }
  if (spec.classifiers.empty()) throw ConfigError("evaluate.table_classifiers is empty: name at least one.");
  const auto test = data::open_shard(subject.test, 0, 1);  // its headers are checked before minutes are spent
  const Features features(schema);
  const Rows samples = rows_of(
      read_samples(subject.samples, schema, spec.training.train_limit, subject.heartbeat, subject.train),
      features, schema);
  Rows real{&features, schema.classes, {}, {}};
  if (spec.training.also_real) {
    require(subject.train.schema.shape == schema.shape && subject.train.schema.classes == schema.classes,
            "training and test records have one schema");
    real = rows_of(read_real_records(subject.train, spec.training.train_limit, subject.heartbeat), features,
                   schema);
  }
  TableClassifierReport report;
  const std::vector<Rows> parts = first_of(samples, spec.train_sizes, report.notes);
  std::vector<const Rows*> sets{&samples};
  if (spec.training.also_real) sets.push_back(&real);
  for (const Rows& part : parts) {
    sets.push_back(&part);
    report.of_sizes.push_back({part.size(), {}});
  }
  std::vector<TableContestant> contestants;
  for (const Rows* set : sets) {
    for (const std::string& name : spec.classifiers)
      contestants.push_back(
          {&find_kind(table_classifier_kinds(), name, "classifier of tables"), set, {}, {}});
  }
  train_table_classifiers(contestants, subject, spec.seed,
                          !spec.training.also_real || subject.train.records > 0);
  const std::vector<std::int32_t> truth = score_test_records(*test, features, subject, contestants);
  require_tested_classes(truth, subject);
  std::vector<std::size_t> tested(schema.classes);
  for (const std::int32_t label : truth) ++tested[static_cast<std::size_t>(label)];
  const double share =
      static_cast<double>(*std::ranges::max_element(tested)) / static_cast<double>(truth.size());
  report.commonest_f1 = share * 2 * share / (1 + share);  // its precision is the share, its recall 1
  for (const TableContestant& c : contestants) {
    beat(subject.heartbeat);
    const Measures measures = measure(truth, c.scores, schema.classes);
    if (c.rows == &samples || c.rows == &real) {
      (c.rows == &real ? report.real : report.synthetic)
          .push_back({std::string(c.kind->name), measures, predicts_one_class(c.scores, schema.classes)});
    } else {
      report.of_sizes[static_cast<std::size_t>(c.rows - parts.data())].accuracies.push_back(
          measures.accuracy);
    }
  }
  return report;
}

}  // namespace muffle::evaluate
