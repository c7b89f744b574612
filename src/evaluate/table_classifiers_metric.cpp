#include <fmt/format.h>

#include <algorithm>

#include "accuracy_by_records.hpp"
#include "rounded.hpp"
#include "table_classifiers.hpp"

namespace muffle::evaluate {
namespace {

FoundTable::Row row_of(const std::string& name, const Measures& measures, const char* under,
                       const Fineness& fine) {
  FoundTable::Row row{name, {}};
  for (const MeasureName& measure : measure_names())
    row.cells.push_back(fine.share_cell(measures.*measure.field, {under, name, measure.name}));
  return row;
}

/// By name, and "mean" over all.
FoundTable table_of(const char* title, const std::vector<TableScore>& scores, const char* under,
                    const Fineness& fine) {
  FoundTable table{title, {}, {}};
  for (const MeasureName& measure : measure_names()) table.columns.emplace_back(measure.name);
  for (const TableScore& s : scores) table.rows.push_back(row_of(s.name, s.measures, under, fine));
  table.rows.push_back(row_of("mean", mean_of(scores), under, fine));
  return table;
}

/// Which classifiers say the same of every record: a mean over all of them hides that.
std::string collapsed(const std::vector<TableScore>& scores, const char* trained_on) {
  std::string names;
  for (const TableScore& s : scores) {
    if (s.predicts_one_class) names += (names.empty() ? "" : ", ") + s.name;
  }
  return names.empty()
             ? names
             : fmt::format("Trained on {} records, these predict one class only, whatever the record: {}.",
                           trained_on, names);
}

/// Which hardly tell classes apart, though they predict several: accuracy hides that where one class is most
/// of the records.
std::string near_a_coin(const std::vector<TableScore>& scores, const char* trained_on) {
  constexpr double kCoin = 0.5, kNear = 0.55;
  std::string names;
  for (const TableScore& s : scores) {
    if (!s.predicts_one_class && s.measures.roc_auc_hard <= kNear)
      names += (names.empty() ? "" : ", ") + s.name;
  }
  return names.empty() ? names
                       : fmt::format(
                             "Trained on {} records, these hardly tell the classes apart (roc_auc_hard "
                             "of {} or less; {} is a coin's): {}.",
                             trained_on, kNear, kCoin, names);
}

/// The papers' twelve classifiers of tables, trained on synthetic records and tested on real ones.
class TableClassifiersMetric final : public Metric {
 public:
  std::string_view kind() const override { return "table-classifiers"; }
  std::unique_ptr<Metric> clone() const override { return std::make_unique<TableClassifiersMetric>(*this); }

  void declare(settings::Keys& keys) override {
    constexpr std::int64_t kMany = std::int64_t{1} << 46;
    keys.names("table_classifiers", spec_.classifiers, table_classifier_names(),
               "of metric \"table-classifiers\": trained on synthetic, tested on real");
    keys.flag("also_real", spec_.training.also_real,
              "the same classifiers trained on real records beside them");
    keys.sizes("train_sizes", spec_.train_sizes,
               "each once more on the first so many synthetic records, such as [1000, 10000]: accuracy by "
               "their number");
    keys.count("train_limit", spec_.training.train_limit, 0, kMany,
               "only the first so many training records; 0: all");
    keys.count("seed", spec_.seed, 0, INT64_MAX, "seed of the classifiers");
  }

  std::vector<data::DataSpec> real_records(const data::DataSpec& test,
                                           const data::DataSpec& train) const override {
    std::vector<data::DataSpec> real{test};
    if (spec_.training.also_real) real.push_back(train);
    return real;
  }

  bool reads_own_records() const override { return spec_.training.also_real; }
  void leave_out_own() override { spec_.training.also_real = false; }

  void problems(const data::Settings& data, settings::Problems& p) const override {
    training_problems("table-classifiers", spec_.training, data, p);
    p.unless(!spec_.classifiers.empty(), "evaluate.table_classifiers is empty: name at least one");
  }

  void sample_problems(const schema::Schema& schema, std::uint64_t count,
                       settings::Problems& p) const override {
    p.unless(count >= schema.classes,
             "sample.count is below the number of classes: a classifier needs a record of every class");
  }

  Findings score(const Subject& subject) const override {
    const TableClassifierReport report = evaluate_table_classifiers(subject, spec_);
    Findings out;
    out.tables.push_back(table_of("trained on synthetic", report.synthetic, "table_classifiers", {}));
    if (!report.real.empty())
      out.tables.push_back(table_of("trained on real", report.real, "table_classifiers_trained_on_real",
                                    fineness_of_own(subject)));
    std::vector<std::string> names;
    for (const TableScore& s : report.synthetic) names.push_back(s.name);
    add_accuracies("table_classifiers", names, report.of_sizes, out);
    for (const std::string& note : report.notes) out.sentences.push_back(note + ".");
    for (std::string said :
         {collapsed(report.synthetic, "synthetic"), near_a_coin(report.synthetic, "synthetic"),
          far_below_commonest(report.synthetic, report.commonest_f1, "synthetic"),
          far_below_real(report.synthetic, report.real), collapsed(report.real, "real"),
          near_a_coin(report.real, "real"), far_below_commonest(report.real, report.commonest_f1, "real")}) {
      if (!said.empty()) out.sentences.push_back(std::move(said));
    }
    return out;
  }

 private:
  TableClassifiersSpec spec_;
};

/// Of weighted F1.
constexpr double kFar = 0.1;

}  // namespace

std::string far_below_commonest(const std::vector<TableScore>& scores, double commonest_f1,
                                const char* trained_on) {
  std::string names;
  for (const TableScore& s : scores) {
    if (s.measures.weighted_f1 < commonest_f1 - kFar) names += (names.empty() ? "" : ", ") + s.name;
  }
  return names.empty() ? names
                       : fmt::format(
                             "Trained on {} records, these lie more than {} of weighted_f1 below whoever "
                             "names the commonest class for every record: {}.",
                             trained_on, kFar, names);
}

std::string far_below_real(const std::vector<TableScore>& synthetic, const std::vector<TableScore>& real) {
  std::string names;
  for (const TableScore& s : synthetic) {
    const auto twin = std::ranges::find(real, s.name, &TableScore::name);
    if (twin == real.end() || s.measures.weighted_f1 > twin->measures.weighted_f1 - kFar) continue;
    names += names.empty() ? "" : ", ";
    names += s.name;
  }
  return names.empty() ? names
                       : fmt::format(
                             "Trained on synthetic records, these lie more than {} of weighted_f1 below the "
                             "same ones trained on real records: {}.",
                             kFar, names);
}

std::unique_ptr<Metric> make_table_classifiers_metric() { return std::make_unique<TableClassifiersMetric>(); }

}  // namespace muffle::evaluate
