#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/evaluate/classifiers.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "muffle/evaluate/scores.hpp"
#include "muffle/synth/scoped_threads.hpp"
#include "training_sets.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kTestBatch = 1000;

struct Contestant {
  std::string name;
  bool on_real;
  Classifier classifier;
  ConfusionMatrix confusion;
};

/// The kinds to train, in the order asked for, without those that cannot look at such records.
std::vector<ClassifierKind> applicable_kinds(const EvaluateSpec& spec, const data::Schema& schema,
                                             std::vector<std::string>& notes) {
  if (spec.classifiers.empty()) {
    throw ConfigError("evaluate.classifiers is empty: name at least one of logistic_regression, mlp, cnn.");
  }
  std::vector<ClassifierKind> kinds;
  for (const std::string& name : spec.classifiers) {
    const ClassifierKind kind = classifier_kind(name);
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      throw ConfigError("evaluate.classifiers names " + name + " twice.");
    }
    kinds.push_back(kind);
  }
  std::erase_if(kinds, [&](ClassifierKind kind) {
    if (classifier_applies(kind, schema)) return false;
    notes.push_back(classifier_name(kind) + " is left out: it needs images of at least 3 x 3 pixels");
    spdlog::info("evaluate: {}", notes.back());
    return true;
  });
  return kinds;
}

void train_all(const std::vector<ClassifierKind>& kinds, const TrainingSet& set, bool on_real,
               const data::Schema& schema, std::uint64_t seed, std::vector<Contestant>& out) {
  for (const ClassifierKind kind : kinds) {
    const std::string name = classifier_name(kind);
    const std::string title = fmt::format("evaluate: {} on {} records", name, on_real ? "real" : "synthetic");
    const bool show = spdlog::should_log(spdlog::level::info);
    out.push_back({name, on_real, train_classifier(kind, set, schema, seed, show ? title : ""),
                   ConfusionMatrix(schema.classes)});
  }
}

/// One pass over the test records for all contestants; memory is one batch.
void test_all(data::RecordSource& test, const data::DataSpec& spec, std::vector<Contestant>& contestants) {
  data::Batch batch;
  const auto dims = static_cast<std::int64_t>(spec.schema.dims());
  std::uint64_t tested = 0;
  for (test.next(kTestBatch, batch); batch.n > 0; test.next(kTestBatch, batch)) {
    const auto n = static_cast<std::int64_t>(batch.n);
    const torch::Tensor x = torch::from_blob(batch.x.data(), {n, dims}, torch::kFloat32);
    for (Contestant& c : contestants) {
      const torch::Tensor predicted = c.classifier.predict(x).contiguous();
      for (std::size_t i = 0; i < batch.n; ++i) {
        if (batch.y[i] == data::Batch::kNoClass) continue;
        c.confusion.add(static_cast<std::size_t>(batch.y[i]),
                        static_cast<std::size_t>(predicted.data_ptr<std::int64_t>()[i]));
      }
    }
    tested += static_cast<std::uint64_t>(std::count_if(
        batch.y.begin(), batch.y.end(), [](std::int32_t y) { return y != data::Batch::kNoClass; }));
  }
  if (tested == 0) {
    throw DataError("'" + data::resolve_path(spec, spec.features, 0) +
                    "' has no labelled record to test a classifier on: name the right test files.");
  }
}

}  // namespace

ClassifierReport evaluate_classifiers(const std::filesystem::path& synthetic, const data::DataSpec& test,
                                      const data::DataSpec& real_train, const EvaluateSpec& spec,
                                      int threads) {
  ClassifierReport report;
  const data::Schema& schema = test.schema;
  const auto kinds = applicable_kinds(spec, schema, report.notes);
  if (schema.classes < 2) {
    throw DataError("classifiers need records of at least two classes, the schema has " +
                    std::to_string(schema.classes) + ": evaluate something else, or name the label files.");
  }
  const auto test_source = data::open_shard(test, 0, 1);  // its headers are checked before minutes are spent
  const synth::ScopedThreads scoped_threads(threads);
  std::vector<Contestant> contestants;
  train_all(kinds, read_synthetic(synthetic, schema, spec.train_limit), false, schema, spec.seed,
            contestants);
  if (spec.also_real) {
    if (real_train.schema.shape != schema.shape || real_train.schema.classes != schema.classes) {
      throw DataError(
          "the real training data's schema differs from the test data's: give both the same one.");
    }
    train_all(kinds, read_real(real_train, spec.train_limit), true, schema, spec.seed, contestants);
  }
  test_all(*test_source, test, contestants);
  for (const Contestant& c : contestants) {
    (c.on_real ? report.real : report.synthetic)
        .push_back({c.name, c.confusion.accuracy(), c.confusion.macro_f1()});
  }
  return report;
}

}  // namespace muffle::evaluate
