#include <fmt/format.h>

#include "labelled_records.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "rounded.hpp"

namespace muffle::evaluate {
namespace {

nlohmann::json to_json(const std::vector<Score>& scores, const Fineness& fine) {
  nlohmann::json out = nlohmann::json::object();
  for (const Score& s : scores)
    out[s.name] = {{"accuracy", fine.share(s.accuracy)}, {"macro_f1", fine.share(s.macro_f1)}};
  return out;
}

std::string table_of(const ClassifierReport& report, const Fineness& of_own) {
  std::string table = fmt::format("{:22} {:>10} {:>10}", "trained on synthetic", "accuracy", "macro F1");
  if (!report.real.empty()) table += fmt::format(" {:>14} {:>10}", "real: accuracy", "macro F1");
  table += "\n";
  for (const Score& s : report.synthetic) {
    table += fmt::format("{:22} {:10.4f} {:10.4f}", s.name, s.accuracy, s.macro_f1);
    for (const Score& r : report.real) {
      if (r.name == s.name)
        table +=
            fmt::format(" {:14.{}f} {:10.{}f}", r.accuracy, of_own.decimals, r.macro_f1, of_own.decimals);
    }
    table += "\n";
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

  Outcome score(const Subject& subject) const override {
    const ClassifierReport report = evaluate_classifiers(subject, spec_);
    Outcome out;
    const Fineness of_own = fineness_of_own(subject);
    out.table = table_of(report, of_own);
    out.json["classifiers"] = to_json(report.synthetic, {});
    if (!report.real.empty()) out.json["classifiers_trained_on_real"] = to_json(report.real, of_own);
    if (!report.notes.empty()) out.json["notes"] = report.notes;
    return out;
  }

 private:
  EvaluateSpec spec_;
};

}  // namespace

std::unique_ptr<Metric> make_classifiers_metric() { return std::make_unique<ClassifiersMetric>(); }

}  // namespace muffle::evaluate
