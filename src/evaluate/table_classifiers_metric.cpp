#include <fmt/format.h>

#include "rounded.hpp"
#include "table_classifiers.hpp"

namespace muffle::evaluate {
namespace {

nlohmann::json json_of(const Measures& measures, const Fineness& fine) {
  nlohmann::json out = nlohmann::json::object();
  for (const MeasureName& measure : measure_names()) out[measure.name] = fine.share(measures.*measure.field);
  return out;
}

/// By name, and "mean" over all.
nlohmann::json json_of(const std::vector<TableScore>& scores, const Fineness& fine) {
  nlohmann::json out = nlohmann::json::object();
  for (const TableScore& s : scores) out[s.name] = json_of(s.measures, fine);
  out["mean"] = json_of(mean_of(scores), fine);
  return out;
}

std::string line_of(const std::string& name, const Measures& measures, const Fineness& fine) {
  std::string line = fmt::format("{:22}", name);
  for (const MeasureName& measure : measure_names())
    line += fmt::format(" {:12.{}f}", measures.*measure.field, fine.decimals);
  return line;
}

std::string table_of(const char* title, const std::vector<TableScore>& scores, const Fineness& fine) {
  std::string table = fmt::format("{:22}", title);
  for (const MeasureName& measure : measure_names()) table += fmt::format(" {:>12}", measure.name);
  table += "\n";
  for (const TableScore& s : scores) table += line_of(s.name, s.measures, fine) + "\n";
  return table + line_of("mean", mean_of(scores), fine) + "\n";
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

  Outcome score(const Subject& subject) const override {
    const TableClassifierReport report = evaluate_table_classifiers(subject, spec_);
    Outcome out;
    out.json["table_classifiers"] = json_of(report.synthetic, {});
    out.table = table_of("trained on synthetic", report.synthetic, {});
    if (!report.real.empty()) {
      const Fineness of_own = fineness_of_own(subject);
      out.json["table_classifiers_trained_on_real"] = json_of(report.real, of_own);
      out.table += table_of("trained on real", report.real, of_own);
    }
    return out;
  }

 private:
  TableClassifiersSpec spec_;
};

}  // namespace

std::unique_ptr<Metric> make_table_classifiers_metric() { return std::make_unique<TableClassifiersMetric>(); }

}  // namespace muffle::evaluate
