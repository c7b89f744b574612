#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "accuracy_by_records.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/heartbeat.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/evaluate/classifiers.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "muffle/synth/sampler.hpp"
#include "side_by_side.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kTestBatch = 1000;

/// One classifier to be trained and tested.
struct Contestant {
  Contestant(const ClassifierKind& its_kind, const TrainingPlan& its_plan, const TrainingSet& its_set,
             std::size_t classes)
      : kind(&its_kind), plan(its_plan), set(&its_set), confusion(classes) {}

  const ClassifierKind* kind;
  TrainingPlan plan;
  const TrainingSet* set;
  Classifier classifier;
  ConfusionMatrix confusion;
};

/// The kinds to train, in the order asked for, without those that cannot look at such records.
std::vector<const ClassifierKind*> applicable_kinds(const EvaluateSpec& spec, const schema::Schema& schema,
                                                    std::vector<std::string>& notes) {
  if (spec.classifiers.empty()) {
    throw ConfigError("evaluate.classifiers is empty: name at least one.");
  }
  std::vector<const ClassifierKind*> kinds;
  for (const std::string& name : spec.classifiers) {
    const ClassifierKind* kind = &classifier_kind(name);
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      throw ConfigError("evaluate.classifiers names " + name + " twice.");
    }
    kinds.push_back(kind);
  }
  std::erase_if(kinds, [&](const ClassifierKind* kind) {
    if (kind->applies(schema)) return false;
    notes.push_back(fmt::format("{} is left out: it needs {}", kind->name, kind->needs));
    spdlog::info("evaluate: {}", notes.back());
    return true;
  });
  return kinds;
}

/// One classifier, one thread: the results then do not depend on how many threads there are, and small
/// batches lose nothing to threads that wait for each other. The costliest kinds begin.
/// @param show_progress  false where the steps would tell a private number of records
void train_all(std::vector<Contestant>& contestants, const Subject& subject, std::uint64_t seed,
               bool show_progress) {
  std::vector<Contestant*> order;
  for (Contestant& c : contestants) order.push_back(&c);
  std::stable_sort(order.begin(), order.end(), [](const Contestant* a, const Contestant* b) {
    return a->kind->stream > b->kind->stream;
  });
  std::uint64_t steps = 0, done = 0;
  for (const Contestant& c : contestants)
    steps += training_steps(c.plan, static_cast<std::uint64_t>(c.set->x.size(0)));
  Progress progress("evaluate: training classifiers", steps, "steps",
                    show_progress && spdlog::should_log(spdlog::level::info));
  std::vector<std::function<void(const Heartbeat&)>> trainings;
  for (Contestant* c : order) {
    trainings.emplace_back([&subject, seed, c](const Heartbeat& heartbeat) {
      c->classifier = train_classifier(*c->kind, c->plan, *c->set, subject.test.schema, seed, heartbeat);
    });
  }
  run_side_by_side(trainings, subject.threads, [&] {
    beat(subject.heartbeat);
    progress.update(++done);
  });
}

/// One pass over the test records for all contestants; memory is one batch.
void test_all(data::RecordSource& test, const Subject& subject, std::vector<Contestant>& contestants) {
  data::Batch batch;
  const auto dims = static_cast<std::int64_t>(subject.test.schema.dims());
  std::uint64_t tested = 0;
  for (test.next(kTestBatch, batch); batch.n > 0; test.next(kTestBatch, batch)) {
    beat(subject.heartbeat);
    const auto n = static_cast<std::int64_t>(batch.n);
    const torch::Tensor x = torch::from_blob(batch.x.data(), {n, dims}, torch::kFloat32);
    for (Contestant& c : contestants) {
      const torch::Tensor predicted = c.classifier.predict(x).contiguous();
      for (std::size_t i = 0; i < batch.n; ++i) {
        if (batch.y[i] == schema::kNoClass) continue;
        c.confusion.add(static_cast<std::size_t>(batch.y[i]),
                        static_cast<std::size_t>(predicted.data_ptr<std::int64_t>()[i]));
      }
    }
    for (const std::int32_t y : batch.y) tested += y != schema::kNoClass ? 1 : 0;
  }
  if (tested == 0) {
    throw DataError("'" + data::resolve_path(subject.test, subject.test.features, 0) +
                    "' has no labelled record to test a classifier on: name the right test files.");
  }
}

}  // namespace

ClassifierReport evaluate_classifiers(const Subject& subject, const EvaluateSpec& spec) {
  ClassifierReport report;
  const data::DataSpec& real_train = subject.train;
  const schema::Schema& schema = subject.test.schema;
  const auto kinds = applicable_kinds(spec, schema, report.notes);
  if (schema.classes < 2) {
    throw DataError("classifiers need records of at least two classes, the schema has " +
                    std::to_string(schema.classes) + ": evaluate something else, or name the label files.");
  }
  const auto test_source =
      data::open_shard(subject.test, 0, 1);  // its headers are checked before minutes are spent
  std::vector<TrainingSet> sets{read_synthetic(subject.samples, schema, spec.train_limit, subject.heartbeat)};
  if (spec.also_real) {
    if (real_train.schema.shape != schema.shape || real_train.schema.classes != schema.classes) {
      throw DataError(
          "the real training data's schema differs from the test data's: give both the same one.");
    }
    sets.push_back(read_real(real_train, spec.train_limit, subject.heartbeat));
  }
  const TrainingSet& samples = sets.front();
  std::vector<TrainingSet> parts;
  for (const std::size_t size :
       sizes_within(spec.train_sizes, static_cast<std::size_t>(samples.x.size(0)), report.notes)) {
    const auto n = static_cast<std::int64_t>(size);
    parts.push_back({samples.x.slice(0, 0, n), samples.y.slice(0, 0, n)});
  }
  std::vector<const TrainingSet*> all;
  for (const auto* some : {&sets, &parts}) {
    for (const TrainingSet& set : *some) all.push_back(&set);
  }
  std::vector<Contestant> contestants;
  for (const TrainingSet* set : all) {
    for (const ClassifierKind* kind : kinds)
      contestants.emplace_back(*kind, plan_of(*kind, spec.epochs), *set, schema.classes);
  }
  const synth::ScopedThreads one_thread_each(1);
  // Without a public number of records (add/remove-one) the steps of those trained on them stay unsaid.
  const bool show_progress = !spec.also_real || real_train.records > 0;
  named_step("evaluate.train");
  train_all(contestants, subject, spec.seed, show_progress);
  test_all(*test_source, subject, contestants);
  for (const TrainingSet& part : parts)
    report.of_sizes.push_back({static_cast<std::size_t>(part.x.size(0)), {}});
  for (const Contestant& c : contestants) {
    const Score score{std::string(c.kind->name), c.confusion.accuracy(), c.confusion.macro_f1()};
    if (c.set == &samples) {
      report.synthetic.push_back(score);
    } else if (c.set == &sets.back()) {
      report.real.push_back(score);
    } else {
      report.of_sizes[static_cast<std::size_t>(c.set - parts.data())].accuracies.push_back(score.accuracy);
    }
  }
  return report;
}

}  // namespace muffle::evaluate
