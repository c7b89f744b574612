#include <fmt/format.h>

#include "accuracy_by_records.hpp"
#include "labelled_records.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "rounded.hpp"

namespace muffle::evaluate {
namespace {

FoundTable table_of(const ClassifierReport& report, const Fineness& of_own) {
  FoundTable table{"trained on synthetic", {"accuracy", "macro F1"}, {}};
  if (!report.real.empty()) table.columns.insert(table.columns.end(), {"real: accuracy", "real: macro F1"});
  const auto add = [](FoundTable::Row& row, const Score& s, const char* under, const Fineness& fine) {
    row.cells.push_back(fine.share_cell(s.accuracy, {under, s.name, "accuracy"}));
    row.cells.push_back(fine.share_cell(s.macro_f1, {under, s.name, "macro_f1"}));
  };
  for (const Score& s : report.synthetic) {
    FoundTable::Row& row = table.rows.emplace_back();
    row.name = s.name;
    add(row, s, "classifiers", {});
    for (const Score& r : report.real) {
      if (r.name == s.name) add(row, r, "classifiers_trained_on_real", of_own);
    }
  }
  return table;
}

/// Classifiers trained on synthetic records and tested on real ones.
class ClassifiersMetric final : public Metric {
 public:
  std::string_view kind() const override { return "classifiers"; }
  std::unique_ptr<Metric> clone() const override { return std::make_unique<ClassifiersMetric>(*this); }

  void declare(settings::Keys& keys) override {
    constexpr std::int64_t kMany = std::int64_t{1} << 46;
    keys.names("classifiers", spec_.classifiers, classifier_names(), "trained on synthetic, tested on real");
    keys.flag("also_real", spec_.also_real, "the same classifiers trained on real records beside them");
    keys.sizes("train_sizes", spec_.train_sizes,
               "each once more on the first so many synthetic records, such as [1000, 10000]: accuracy by "
               "their number");
    keys.count("epochs", spec_.epochs, 0, 10000,
               "passes over the training records; 0: each classifier's own");
    keys.count("train_limit", spec_.train_limit, 0, kMany, "only the first so many training records; 0: all");
    keys.count("seed", spec_.seed, 0, INT64_MAX, "seed of the classifiers");
  }

  std::vector<data::DataSpec> real_records(const data::DataSpec& test,
                                           const data::DataSpec& train) const override {
    std::vector<data::DataSpec> real{test};
    if (spec_.also_real) real.push_back(train);
    return real;
  }

  bool reads_own_records() const override { return spec_.also_real; }
  void leave_out_own() override { spec_.also_real = false; }

  void problems(const data::Settings& data, settings::Problems& p) const override {
    training_problems("classifiers", {spec_.also_real, spec_.train_limit}, data, p);
    p.unless(!spec_.classifiers.empty(), "evaluate.classifiers is empty: name at least one");
  }

  void sample_problems(const schema::Schema& schema, std::uint64_t count,
                       settings::Problems& p) const override {
    p.unless(count >= schema.classes,
             "sample.count is below data.classes: a classifier needs a record of every class");
  }

  Findings score(const Subject& subject) const override {
    const ClassifierReport report = evaluate_classifiers(subject, spec_);
    Findings out;
    out.tables.push_back(table_of(report, fineness_of_own(subject)));
    std::vector<std::string> names;
    for (const Score& s : report.synthetic) names.push_back(s.name);
    add_accuracies("classifiers", names, report.of_sizes, out);
    if (!report.notes.empty()) out.facts["notes"] = report.notes;
    return out;
  }

 private:
  EvaluateSpec spec_;
};

}  // namespace

std::unique_ptr<Metric> make_classifiers_metric() { return std::make_unique<ClassifiersMetric>(); }

}  // namespace muffle::evaluate
