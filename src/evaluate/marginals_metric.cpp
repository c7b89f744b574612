#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "marginals.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "muffle/data/people.hpp"
#include "muffle/evaluate/metric.hpp"
#include "noise_alone.hpp"
#include "number_findings.hpp"
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

  Findings score(const Subject& subject) const override {
    if (!subject.train.schema.table)
      throw ConfigError("\"marginals\" compares the columns of tables: set data.schema.");
    data::DataSpec samples = data::written_records(subject.samples, subject.train);
    samples.schema = subject.train.schema;
    const std::vector<std::string> names = names_of_columns(*samples.schema.table);
    const Fineness fine = fineness_of_own(subject);
    const bool held_out = !subject.test.features.empty();
    Findings out;
    FoundTable means{"total variation", {"synthetic"}, {}};
    if (held_out) means.columns.emplace_back("real test");
    means.columns.emplace_back("sets");
    const std::optional<NoiseAlone> noise = noise_alone(subject.release);
    if (noise) means.columns.emplace_back("noise alone");
    std::vector<std::size_t> sizes = sizes_;
    for (const std::size_t size : {2, 1}) {  // columns and pairs are always compared
      if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.insert(sizes.begin(), size);
    }
    std::vector<FoundTable> farthest;
    for (const std::size_t size : sizes) {
      std::size_t left_out = 0;
      const auto sets = sets_of(samples.schema, size, left_out);
      if (sets.empty()) continue;
      const std::vector<SetDistance> distances =
          total_variation(subject.train, samples, sets, subject.heartbeat);
      const std::string under = std::to_string(size);
      nlohmann::json& facts = out.facts["marginals"][under] = {{"seed", seed_}};
      if (left_out > 0) facts["sets_with_too_many_cells"] = left_out;
      FoundTable::Row row{size == 1 ? "columns" : fmt::format("{}-way", size), {}};
      row.cells.push_back(fine.share_cell(mean_of(distances), {"marginals", under, "mean_tvd"}));
      if (held_out)
        row.cells.push_back(
            fine.share_cell(mean_of(total_variation(subject.train, subject.test, sets, subject.heartbeat)),
                            {"marginals", under, "mean_tvd_of_real_test"}));
      row.cells.push_back(count_cell(sets.size(), {"marginals", under, "sets"}));
      if (noise && size == 1) add_mean(tvd_of_columns(*noise), "mean_tvd", row);
      if (noise && size == 2) add_mean(noise->pairs, "mean_tvd_of_pairs", row);
      means.rows.push_back(std::move(row));
      if (size <= 2) farthest.push_back(list(distances, names, size, fine, noise ? &*noise : nullptr));
    }
    FoundTable people = people_by_rows(subject, samples, fine, means);
    out.tables.push_back(std::move(means));
    if (!people.rows.empty()) out.tables.push_back(std::move(people));
    numbers(subject, samples, fine, noise ? &*noise : nullptr, out);
    add_number_findings(subject, samples, fine, out);
    out.tables.insert(out.tables.end(), farthest.begin(), farthest.end());
    if (noise) {
      out.sentences.emplace_back(
          "Of noise alone: what the release's noise does to the counts of a column or pair, before the model "
          "smooths them; of a mean, over those that it counts. Of a pair that is counted in many cells it is "
          "more than the model lets through.");
    }
    return out;
  }

 private:
  static constexpr std::size_t kMostSize = 8;
  inline static const std::map<std::string, double> kNone;

  /// Of `key`, which may be in none of the release's tables. Public, so told to all digits.
  template <typename Key>
  static Cell cell_of(const std::map<Key, double>& noise, const Key& key, std::vector<std::string> at) {
    const auto found = noise.find(key);
    return found == noise.end() ? Cell{nullptr, "-", {}}
                                : Fineness().share_cell(found->second, std::move(at));
  }
  /// Of numbers whose bins are learned in the groups that they are compared in.
  static std::map<std::string, double> tvd_of_columns(const NoiseAlone& noise) {
    std::map<std::string, double> out = noise.columns;
    for (const auto& [name, number] : noise.numbers) out[name] = number.tvd;
    return out;
  }
  static std::map<std::string, double> of_numbers(const NoiseAlone& noise,
                                                  double NoiseAlone::Number::*field) {
    std::map<std::string, double> out;
    for (const auto& [name, number] : noise.numbers) out[name] = number.*field;
    return out;
  }
  /// Of what the release tells.
  template <typename Key>
  static void add_mean(const std::map<Key, double>& noise, const std::string& field, FoundTable::Row& row) {
    if (noise.empty()) return;
    double sum = 0;
    for (const auto& [name, one] : noise) sum += one;
    row.cells.push_back(
        Fineness().share_cell(sum / static_cast<double>(noise.size()), {"marginals", "noise_alone", field}));
  }

  /// How many people have how many rows, where the schema says that it is released: their shares, and their
  /// total variation as a row of `means`. No rows: it is not released.
  static FoundTable people_by_rows(const Subject& subject, const data::DataSpec& samples,
                                   const Fineness& fine, FoundTable& means) {
    FoundTable out{"people with so many rows", {"real", "synthetic"}, {}, kMostWorst};
    const schema::Table& table = *subject.train.schema.table;
    const auto person = table.person();
    const std::size_t most = person ? table.columns[*person].rows : 0;
    if (most == 0) return out;
    std::vector<std::vector<double>> laws;
    const auto read = [&](data::DataSpec spec) {
      spec.heartbeat = subject.heartbeat;
      laws.push_back(data::shares_of_people(data::people_by_records(std::move(spec), most)));
    };
    read(subject.train);
    read(samples);
    if (!subject.test.features.empty()) {
      read(subject.test);
      out.columns.emplace_back("real test");
    }
    FoundTable::Row distance{"rows of a person", {}};
    for (std::size_t l = 1; l < laws.size(); ++l) {
      double sum = 0;
      for (std::size_t k = 0; k < most; ++k) sum += std::fabs(laws[l][k] - laws[0][k]);
      distance.cells.push_back(
          fine.share_cell(sum / 2, {"marginals", "people", l == 1 ? "tvd" : "tvd_of_real_test"}));
    }
    means.rows.push_back(std::move(distance));
    constexpr const char* kOf[] = {"real", "synthetic", "real_test"};
    for (std::size_t k = 0; k < most; ++k) {
      FoundTable::Row row{k + 1 < most ? std::to_string(k + 1) : fmt::format("{} or more", most), {}};
      for (std::size_t l = 0; l < laws.size(); ++l)
        row.cells.push_back(
            fine.share_cell(laws[l][k], {"marginals", "people", kOf[l], std::to_string(k + 1)}));
      out.rows.push_back(std::move(row));
    }
    return out;
  }

  /// Means over the numbers; of the errors of their means whatever the sign.
  static RawDistance mean_distance(const std::vector<RawDistance>& all) {
    RawDistance out;
    for (const RawDistance& d : all) {
      out.ks += d.ks;
      out.wasserstein += d.wasserstein;
      out.mean_error += std::fabs(d.mean_error);
    }
    out.mean_error /= static_cast<double>(all.size());
    out.ks /= static_cast<double>(all.size());
    out.wasserstein /= static_cast<double>(all.size());
    return out;
  }

  /// Numbers on their raw values, which no bins hide: their means, and each of them, the farthest first.
  static void numbers(const Subject& subject, const data::DataSpec& samples, const Fineness& fine,
                      const NoiseAlone* noise, Findings& out) {
    std::vector<RawDistance> all = raw_distances(subject.train, samples, subject.heartbeat);
    if (all.empty()) return;
    const RawDistance mean = mean_distance(all);
    FoundTable::Row ks{"KS of raw numbers", {}}, area{"Wasserstein of them", {}},
        error{"errors of their means, in sd", {}};
    const auto add = [&](const RawDistance& d, const std::string& of) {
      ks.cells.push_back(fine.share_cell(d.ks, {"marginals", "numbers", "mean_ks" + of}));
      area.cells.push_back(fine.share_cell(d.wasserstein, {"marginals", "numbers", "mean_wasserstein" + of}));
      error.cells.push_back(
          fine.share_cell(d.mean_error, {"marginals", "numbers", "mean_error_of_means" + of}));
    };
    add(mean, "");
    if (!subject.test.features.empty())
      add(mean_distance(raw_distances(subject.train, subject.test, subject.heartbeat)), "_of_real_test");
    for (FoundTable::Row* row : {&ks, &area, &error}) {
      row->cells.push_back(count_cell(all.size()));
      if (noise != nullptr && row == &ks)
        add_mean(of_numbers(*noise, &NoiseAlone::Number::ks), "mean_ks", *row);
      if (noise != nullptr && row == &area)
        add_mean(of_numbers(*noise, &NoiseAlone::Number::wasserstein), "mean_wasserstein", *row);
      out.tables.front().rows.push_back(std::move(*row));
    }
    for (RawDistance& d : all) d.ks = fine.share(d.ks);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.ks > b.ks; });
    FoundTable table{"farthest numbers", {"KS", "Wasserstein", "error of the mean, in sd"}, {}, kMostWorst};
    const bool learned = noise != nullptr && !noise->numbers.empty();
    if (learned) table.columns.insert(table.columns.end(), {"KS of noise alone", "Wasserstein of it"});
    const auto ks_of_noise = learned ? of_numbers(*noise, &NoiseAlone::Number::ks) : kNone,
               area_of_noise = learned ? of_numbers(*noise, &NoiseAlone::Number::wasserstein) : kNone;
    for (const RawDistance& d : all) {
      const std::string& name = d.column;
      table.rows.push_back(
          {name,
           {fine.share_cell(d.ks, {"marginals", "numbers", "columns", name, "ks"}),
            fine.share_cell(d.wasserstein, {"marginals", "numbers", "columns", name, "wasserstein"}),
            fine.share_cell(d.mean_error, {"marginals", "numbers", "columns", name, "error_of_mean"})}});
      if (!learned) continue;
      table.rows.back().cells.push_back(
          cell_of(ks_of_noise, name, {"marginals", "numbers", "columns", name, "ks_of_noise_alone"}));
      table.rows.back().cells.push_back(cell_of(
          area_of_noise, name, {"marginals", "numbers", "columns", name, "wasserstein_of_noise_alone"}));
    }
    out.tables.push_back(std::move(table));
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

  /// Every column, or the farthest pairs.
  static FoundTable list(std::vector<SetDistance> all, const std::vector<std::string>& names,
                         std::size_t size, const Fineness& fine, const NoiseAlone* noise) {
    // Rounded first, so that their order says no more than the numbers.
    for (SetDistance& d : all) d.tvd = fine.share(d.tvd);
    std::stable_sort(all.begin(), all.end(),
                     [](const SetDistance& a, const SetDistance& b) { return a.tvd > b.tvd; });
    FoundTable table{size == 1 ? "farthest columns" : "farthest pairs", {"total variation"}, {}, kMostWorst};
    if (noise != nullptr) table.columns.emplace_back("of noise alone");
    const std::map<std::string, double> of_columns = noise != nullptr ? tvd_of_columns(*noise) : kNone;
    for (std::size_t i = 0; i < std::min(all.size(), kMostListed); ++i) {
      const auto& columns = all[i].columns;
      const std::string name = size == 1 ? names[columns[0]] : names[columns[0]] + " x " + names[columns[1]];
      table.rows.push_back(
          {name, {fine.share_cell(all[i].tvd, {"marginals", size == 1 ? "columns" : "pairs", name})}});
      if (noise == nullptr) continue;
      const std::string under = size == 1 ? "columns" : "pairs";
      table.rows.back().cells.push_back(
          size == 1 ? cell_of(of_columns, name, {"marginals", "noise_alone", under, name})
                    : cell_of(noise->pairs, std::pair(names[columns[0]], names[columns[1]]),
                              {"marginals", "noise_alone", under, name}));
    }
    return table;
  }

  std::vector<std::size_t> sizes_{2, 3, 4};
  std::uint64_t sets_ = 5000;
  std::uint64_t seed_ = 1;
};

}  // namespace

std::unique_ptr<Metric> make_marginals_metric() { return std::make_unique<MarginalsMetric>(); }

}  // namespace muffle::evaluate
