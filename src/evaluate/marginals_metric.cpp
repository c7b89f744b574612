#include <fmt/format.h>

#include <algorithm>

#include "marginals.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "muffle/evaluate/metric.hpp"
#include "raw_distances.hpp"
#include "rounded.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kMostListed = 500;  ///< pairs of columns in metrics.json
constexpr std::size_t kMostWorst = 5;     ///< columns and pairs in the table for people

double mean_of(const std::vector<SetDistance>& all) {
  double sum = 0;
  for (const SetDistance& d : all) sum += d.tvd;
  return all.empty() ? 0.0 : sum / static_cast<double>(all.size());
}

/// How near the joint laws of columns come to the real records', by total variation.
class MarginalsMetric final : public Metric {
 public:
  std::string_view kind() const override { return "marginals"; }
  std::unique_ptr<Metric> clone() const override { return std::make_unique<MarginalsMetric>(*this); }

  void declare(settings::Keys& keys) override {
    keys.sizes("marginals", sizes_, "of tables: how many columns are compared at a time");
    keys.count(
        "marginal_sets", sets_, 0, 1'000'000,
        "of so many sets of columns of each size, drawn by marginal_seed; all where there are no more, "
        "and with 0");
    keys.count("marginal_seed", seed_, 0, INT64_MAX, "public seed of these sets");
  }

  std::vector<data::DataSpec> real_records(const data::DataSpec& test,
                                           const data::DataSpec& train) const override {
    if (test.features.empty()) return {train};
    return {train, test};
  }
  bool needs_held_out() const override { return false; }
  bool reads_own_records() const override { return true; }

  void problems(const data::Settings& data, settings::Problems& p) const override {
    p.unless(data.schema.table != nullptr,
             "evaluate.metrics has \"marginals\", which compares the columns of tables: set data.schema");
    p.unless(
        !data.features.empty(),
        "evaluate.metrics has \"marginals\", which compares with the real records, and data.features names "
        "no file");
    p.unless(
        data.shards != data::ShardRule::kPerRank,
        "evaluate.metrics has \"marginals\", which reads all real records in one process, and with one file "
        "a rank (data.shards = \"per-rank\") no process may read them all: leave it out");
    p.unless(std::all_of(sizes_.begin(), sizes_.end(), [](std::size_t s) { return s <= kMostSize; }),
             fmt::format("evaluate.marginals has a number above {}", kMostSize));
  }

  void sample_problems(const schema::Schema& schema, std::uint64_t, settings::Problems& p) const override {
    p.unless(schema.table != nullptr,
             "evaluate.metrics has \"marginals\", which compares the columns of tables: set data.schema");
  }

  Outcome score(const Subject& subject) const override {
    if (!subject.train.schema.table)
      throw ConfigError("\"marginals\" compares the columns of tables: set data.schema.");
    data::DataSpec samples = data::written_records(subject.samples, subject.train);
    samples.schema = subject.train.schema;
    const std::vector<std::string> names = names_of_columns(samples.schema);
    const Fineness fine = fineness_of_own(subject);
    const bool held_out = !subject.test.features.empty();
    Outcome out;
    out.table = fmt::format("{:24} {:>12}{} {:>8}\n", "total variation", "synthetic",
                            held_out ? fmt::format(" {:>12}", "real test") : "", "sets");
    std::vector<std::size_t> sizes = sizes_;
    for (const std::size_t size : {2, 1}) {  // columns and pairs are always compared
      if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.insert(sizes.begin(), size);
    }
    std::string worst;
    for (const std::size_t size : sizes) {
      std::size_t left_out = 0;
      const auto sets = sets_of(samples.schema, size, left_out);
      if (sets.empty()) continue;
      const std::vector<SetDistance> distances =
          total_variation(subject.train, samples, sets, subject.heartbeat);
      nlohmann::json& json = out.json["marginals"][std::to_string(size)];
      json = {{"mean_tvd", fine.share(mean_of(distances))}, {"sets", sets.size()}, {"seed", seed_}};
      if (left_out > 0) json["sets_with_too_many_cells"] = left_out;
      std::string beside;
      if (held_out) {
        const double real = mean_of(total_variation(subject.train, subject.test, sets, subject.heartbeat));
        json["mean_tvd_of_real_test"] = fine.share(real);
        beside = fmt::format(" {:12.{}f}", real, fine.decimals);
      }
      out.table +=
          fmt::format("{:24} {:12.{}f}{} {:8}\n", size == 1 ? "columns" : fmt::format("{}-way", size),
                      mean_of(distances), fine.decimals, beside, sets.size());
      if (size <= 2) worst += list(distances, names, size, fine, out.json["marginals"]);
    }
    out.table += numbers(subject, samples, names, fine, out.json["marginals"]);
    out.table += worst;
    return out;
  }

 private:
  static constexpr std::size_t kMostSize = 8;

  /// Means over the numbers.
  static RawDistance mean_distance(const std::vector<RawDistance>& all) {
    RawDistance out;
    for (const RawDistance& d : all) out.ks += d.ks, out.wasserstein += d.wasserstein;
    out.ks /= static_cast<double>(all.size());
    out.wasserstein /= static_cast<double>(all.size());
    return out;
  }

  /// Numbers on their raw values, which no bins hide: lines for people, and into the JSON. Empty: there are
  /// none.
  static std::string numbers(const Subject& subject, const data::DataSpec& samples,
                             const std::vector<std::string>& names, const Fineness& fine,
                             nlohmann::json& json) {
    std::vector<RawDistance> all = raw_distances(subject.train, samples, subject.heartbeat);
    if (all.empty()) return {};
    const RawDistance mean = mean_distance(all);
    nlohmann::json& own = json["numbers"];
    own = {{"mean_ks", fine.share(mean.ks)}, {"mean_wasserstein", fine.share(mean.wasserstein)}};
    std::string beside, beside_area;
    if (!subject.test.features.empty()) {
      const RawDistance real = mean_distance(raw_distances(subject.train, subject.test, subject.heartbeat));
      own["mean_ks_of_real_test"] = fine.share(real.ks);
      own["mean_wasserstein_of_real_test"] = fine.share(real.wasserstein);
      beside = fmt::format(" {:12.{}f}", real.ks, fine.decimals);
      beside_area = fmt::format(" {:12.{}f}", real.wasserstein, fine.decimals);
    }
    for (RawDistance& d : all) d.ks = fine.share(d.ks), d.wasserstein = fine.share(d.wasserstein);
    for (const RawDistance& d : all)
      own["columns"][names[d.column]] = {{"ks", d.ks}, {"wasserstein", d.wasserstein}};
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.ks > b.ks; });
    std::string worst = "farthest numbers:";
    for (std::size_t i = 0; i < std::min(all.size(), kMostWorst); ++i)
      worst +=
          fmt::format("{} {} {:.{}f}", i == 0 ? "" : ",", names[all[i].column], all[i].ks, fine.decimals);
    return fmt::format("{:24} {:12.{}f}{} {:8}\n{:24} {:12.{}f}{} {:8}\n{}\n", "KS of raw numbers", mean.ks,
                       fine.decimals, beside, all.size(), "Wasserstein of them", mean.wasserstein,
                       fine.decimals, beside_area, all.size(), worst);
  }

  static std::vector<std::string> names_of_columns(const schema::Schema& schema) {
    std::vector<std::string> names;
    for (const std::size_t j : schema.table->features()) names.push_back(schema.table->columns[j].name);
    if (const auto label = schema.table->label()) names.push_back(schema.table->columns[*label].name);
    return names;
  }

  std::vector<std::vector<std::size_t>> sets_of(const schema::Schema& schema, std::size_t size,
                                                std::size_t& left_out) const {
    const std::vector<std::size_t> codes = codes_of_columns(schema);
    auto sets = column_sets(codes.size(), size, size <= 2 ? 0 : sets_, seed_);
    const std::size_t all = sets.size();
    std::erase_if(sets,
                  [&](const auto& set) { return cells_of(set, codes) > static_cast<double>(kMostCells); });
    left_out = all - sets.size();
    return sets;
  }

  /// Every column or pair into the JSON; the worst of them as lines for people.
  static std::string list(std::vector<SetDistance> all, const std::vector<std::string>& names,
                          std::size_t size, const Fineness& fine, nlohmann::json& json) {
    const auto name = [&](const SetDistance& d) {
      return size == 1 ? names[d.columns[0]] : names[d.columns[0]] + " x " + names[d.columns[1]];
    };
    // Rounded first, so that their order says no more than the numbers.
    for (SetDistance& d : all) d.tvd = fine.share(d.tvd);
    std::stable_sort(all.begin(), all.end(),
                     [](const SetDistance& a, const SetDistance& b) { return a.tvd > b.tvd; });
    nlohmann::json& listed = json[size == 1 ? "columns" : "pairs"];
    for (std::size_t i = 0; i < std::min(all.size(), kMostListed); ++i) listed[name(all[i])] = all[i].tvd;
    std::string lines = size == 1 ? "farthest columns:" : "farthest pairs:";
    for (std::size_t i = 0; i < std::min(all.size(), kMostWorst); ++i)
      lines += fmt::format("{} {} {:.{}f}", i == 0 ? "" : ",", name(all[i]), all[i].tvd, fine.decimals);
    return lines + "\n";
  }

  std::vector<std::size_t> sizes_{2, 3, 4};
  std::uint64_t sets_ = 5000;
  std::uint64_t seed_ = 1;
};

}  // namespace

std::unique_ptr<Metric> make_marginals_metric() { return std::make_unique<MarginalsMetric>(); }

}  // namespace muffle::evaluate
