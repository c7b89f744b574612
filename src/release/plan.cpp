#include "muffle/release/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/stepped.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/privacy/site_noise.hpp"

namespace muffle::release {
namespace {

/// Nothing public bounds the number of records under add/remove-one: sums have room for as many as this.
constexpr std::uint64_t kMostPrivateRecords = (std::uint64_t{1} << 30) - 1;

/// Whoever trains deals all records to their minibatches once, to count them: a minute's work.
constexpr std::uint64_t kMostDealt = std::uint64_t{1} << 32;

std::uint64_t most_records(const ReleasePlan& plan) {
  return plan.adjacency == privacy::Adjacency::kReplaceOne ? plan.records : kMostPrivateRecords;
}

void check_maps(const ReleasePlan& plan) {
  if (plan.maps.empty())
    throw ConfigError("there is no feature map, so nothing would be released: write a section [map.NAME]");
  if (plan.maps.size() > kMostMaps)
    throw ConfigError(fmt::format(
        "there are {} feature maps, each round's by itself, and a release holds {}: use fewer maps or rounds",
        plan.maps.size(), kMostMaps));
  std::size_t proxies = 0, matched = 0;
  for (std::size_t b = 0; b < plan.maps.size(); ++b) {
    const features::NamedMap& map = plan.maps[b];
    if (!features::is_map_name(map.name))
      throw ConfigError(
          fmt::format("\"{}\" is no name of a feature map: use 1 to 32 lower-case letters, digits and '-', a "
                      "letter first",
                      map.name));
    ++(map.role == features::MapRole::kProxy ? proxies : matched);
    if (!map.labelled && !map.map->steps() && !map.is_plain(plan.lattice))
      throw ConfigError(fmt::format(
          "map.{}: labelled = false is of maps that networks are trained on; maps of kind \"{}\" are "
          "of each class",
          map.name, map.map->kind()));
    if (const std::string wrong = plan.minibatches_problem(b); !wrong.empty())
      throw ConfigError(fmt::format("map.{}: {}", map.name, wrong));
    if (map.labelled && map.map->steps())
      throw ConfigError(
          fmt::format("map.{}: maps of kind \"{}\" are of all classes together", map.name, map.map->kind()));
    try {
      map.map->require_no_overflow(most_records(plan), plan.lattice);
    } catch (const ConfigError& e) {
      throw ConfigError(fmt::format("map.{}: {}{}", map.name, e.what(),
                                    plan.adjacency == privacy::Adjacency::kReplaceOne
                                        ? ""
                                        : " (under add-remove-one nothing public bounds the number of "
                                          "records: sums have room for 2^30)"));
    }
  }
  for (std::size_t b = 1; b < plan.maps.size(); ++b) {
    if (plan.maps[b].name == plan.maps[b - 1].name)
      throw ConfigError(fmt::format("two feature maps are named \"{}\"", plan.maps[b].name));
  }
  if (proxies > 1) throw ConfigError("more than one map has role = \"proxy\": models are compared by one");
  if (proxies > 0 && matched == 0)
    throw ConfigError(
        "the only map has role = \"proxy\": there is nothing that a generator could be made from");
}

}  // namespace

std::string ReleasePlan::minibatches_problem(std::size_t b) const {
  using features::Minibatches;
  const features::NamedMap& map = maps.at(b);
  const Minibatches& m = map.minibatches;
  if (!m) return {};
  if (adjacency != privacy::Adjacency::kReplaceOne)
    return "minibatches are by records' places, and under add-remove-one a record that comes or goes would "
           "move the others to other places: set privacy.adjacency = \"replace-one\", or minibatches = 0";
  if (map.role == features::MapRole::kProxy || map.round > 1 || !map.is_plain(lattice))
    return fmt::format(
        "minibatches are of maps that networks are trained on, and a map of kind \"{}\"{} is of all records: "
        "set minibatches = 0",
        map.map->kind(), map.role == features::MapRole::kProxy ? " with role = \"proxy\"" : "");
  if (m.batches > Minibatches::kMostBatches || m.epochs < 1 || m.epochs > Minibatches::kMostEpochs ||
      map.rows(classes()) > Minibatches::kMostRows)
    return fmt::format(
        "{} minibatches in each of {} epochs are too many: with {} rows each, at most {} in all", m.batches,
        m.epochs, map.labelled ? classes() : 1, Minibatches::kMostRows);
  if (records > kMostDealt / m.epochs)
    return fmt::format("{} records in {} epochs are more than {} to be dealt: use fewer epochs", records,
                       m.epochs, kMostDealt);
  if (m.batches > records)
    return fmt::format("there are more minibatches ({}) than records ({})", m.batches, records);
  return {};
}

std::size_t ReleasePlan::offset(std::size_t b) const {
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < b; ++i) numbers += rows(i) * features(i);
  return numbers;
}

std::uint64_t ReleasePlan::counts_units() const {
  // The upper end keeps m counts below 2^63 with the m that require_no_overflow() admits.
  if (!(counts_weight > 0 && counts_weight <= 1)) {
    throw ConfigError(
        fmt::format("the counts' weight is {}; it must be above 0 and at most 1", exact_text(counts_weight)));
  }
  return static_cast<std::uint64_t>(std::floor(std::ldexp(counts_weight, lattice.bits)));
}

std::vector<features::CoordinatePart> ReleasePlan::coordinates() const {
  std::vector<features::CoordinatePart> parts;
  for (std::size_t b = 0; b < maps.size(); ++b) parts.push_back({maps[b].coordinates(lattice), rows(b)});
  // A count of lambda's units stands for lambda.
  if (counts) parts.push_back({{{classes(), std::ldexp(1.0, lattice.bits)}}, 1});
  return parts;
}

privacy::SensitivityInput ReleasePlan::sensitivity_input() const {
  privacy::SensitivityInput input;
  for (const features::NamedMap& map : maps) input.blocks.push_back(map.bound());
  input.adjacency = adjacency;
  input.counts = counts;
  input.counts_weight = counts ? counts_weight : 0.0;
  input.max_records_per_person = max_records_per_person;
  return input;
}

std::size_t ReleasePlan::rounds() const {
  std::size_t last = 1;
  for (const features::NamedMap& map : maps) last = std::max(last, map.round);
  return last;
}

ReleasePlan ReleasePlan::of_round(std::size_t round) const {
  ReleasePlan out = *this;
  out.maps.clear();
  out.noise.parts.clear();
  for (std::size_t b = 0; b < maps.size(); ++b) {
    if (maps[b].round != round) continue;
    out.maps.push_back(maps[b]);
    out.noise.parts.push_back(noise.parts[b]);
  }
  out.counts = counts && round == 1;
  if (out.counts) out.noise.parts.push_back(noise.parts.back());
  return out;
}

void ReleasePlan::go_on_with(std::size_t b, std::shared_ptr<const features::FeatureMap> other) {
  features::NamedMap& map = maps.at(b);
  require(other != nullptr && other->kind() == map.map->kind(),
          "a later round is of another kind of map than was planned: this is a bug in muffle.");
  other->require_no_overflow(most_records(*this), lattice);
  const features::BlockBound before = map.bound();
  map.map = std::move(other);
  const features::BlockBound after = map.bound();
  require(before.norm == after.norm && before.nonnegative_kernel == after.nonnegative_kernel,
          "a later round has another bound than was planned: this is a bug in muffle.");
  noise.parts = privacy::drawn_parts(noise.sigma, coordinates());
}

void ReleasePlan::count_in(std::size_t b, std::vector<features::CountTable> tables) {
  const features::TableFeatures* const now = maps.at(b).map->tables();
  require(now != nullptr, "a map without tables was to count others: this is a bug in muffle.");
  go_on_with(b, now->counting(std::move(tables)));
}

std::optional<std::size_t> ReleasePlan::second_moments() const {
  for (std::size_t b = 0; b < maps.size(); ++b) {
    if (maps[b].role == features::MapRole::kMatch && maps[b].map->second_moments()) return b;
  }
  return std::nullopt;
}

std::optional<std::size_t> ReleasePlan::proxy() const {
  for (std::size_t b = 0; b < maps.size(); ++b) {
    if (maps[b].role == features::MapRole::kProxy) return b;
  }
  return std::nullopt;
}

bool ReleasePlan::tells_counts() const {
  return counts ||
         std::any_of(maps.begin(), maps.end(), [&](const auto& m) { return m.map->counts_inside(lattice); });
}

void choose_sizes(features::MapsSettings& maps, const schema::Schema& schema,
                  const privacy::PrivacySpec& privacy, bool counts, std::uint64_t records) {
  if (records == 0 || schema.classes == 0) return;
  double sigma = 0.0;  // does not depend on how many numbers get it
  try {
    sigma = make_plan({schema, maps.lattice, maps.resolved(schema), privacy, counts, records}).noise.sigma;
  } catch (const ConfigError&) {
    return;
  }
  const double each = static_cast<double>(schema.classes) / static_cast<double>(records);
  for (auto& [name, settings] : maps.maps)
    settings.map->choose_sizes(
        schema, sigma / settings.weight * (settings.labelled ? each : 1.0 / static_cast<double>(records)));
}

ReleasePlan make_plan(ReleaseSettings settings) {
  ReleasePlan plan;
  plan.schema = std::move(settings.schema);
  plan.lattice = settings.lattice;
  plan.maps = std::move(settings.maps);
  std::sort(plan.maps.begin(), plan.maps.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  plan.counts = settings.counts;
  plan.adjacency = settings.privacy.adjacency;
  plan.records = plan.adjacency == privacy::Adjacency::kReplaceOne ? settings.records : 0;
  plan.max_records_per_person = settings.privacy.records_of_a_person();
  check_maps(plan);
  if (plan.counts) features::require_no_overflow(most_records(plan), plan.lattice);
  plan.noise = privacy::plan_noise(settings.privacy, plan.sensitivity_input(), plan.coordinates());
  return plan;
}

double carried_sigma(const ReleasePlan& plan, const privacy::AggregationMode& mode, std::size_t part,
                     std::size_t run) {
  if (const privacy::Apart* round = privacy::apart(mode))
    return privacy::SiteNoisePlan(plan.noise, round->parties)
        .total_sigma(round->sealed, round->opened(plan.round_of(part)), part, run);
  if (const privacy::Combined* several = privacy::combined(mode)) {
    double squares = 0.0;
    for (const privacy::Summed& summed : several->parts) {
      const double sigma = carried_sigma(plan, privacy::mode_of(summed), part, run);
      squares += sigma * sigma;
    }
    return std::sqrt(squares);
  }
  const privacy::DistributedNoise* apart = privacy::distributed(mode);
  if (apart == nullptr) return static_cast<double>(plan.noise.parts.at(part).runs.at(run).sigma_lattice);
  const auto shares = privacy::plan_distributed_noise(plan.noise, apart->ranks, apart->colluding);
  return shares.total_sigma(shares.shares.at(part).runs.at(run));
}

std::optional<std::size_t> out_of_range(
    const ReleasePlan& plan, std::span<const std::int64_t> values,
    const std::function<double(std::size_t part, std::size_t run)>& carried) {
  const bool replace = plan.adjacency == privacy::Adjacency::kReplaceOne;
  std::size_t next = 0;
  for (std::size_t p = 0; p < plan.noise.parts.size(); ++p) {
    const privacy::NoisePart& part = plan.noise.parts[p];
    const double norm = p < plan.maps.size() ? plan.maps[p].bound().norm : plan.counts_weight;
    std::vector<double> limits;
    for (std::size_t r = 0; r < part.runs.size(); ++r) {
      const double sum =
          replace ? static_cast<double>(plan.records) * norm * part.runs[r].unit * (1 + 1e-12) : 0x1p62;
      limits.push_back(sum + 100.0 * carried(p, r));
    }
    for (std::uint64_t i = 0; i < part.repeat; ++i) {
      for (std::size_t r = 0; r < part.runs.size(); ++r) {
        for (const std::size_t end = next + part.runs[r].count; next < end; ++next) {
          if (!(std::fabs(static_cast<double>(values[next])) <= limits[r])) return next;
        }
      }
    }
  }
  return std::nullopt;
}

std::vector<MapForecast> forecast(const ReleasePlan& plan, const privacy::AggregationMode& mode,
                                  std::optional<double> records) {
  std::vector<MapForecast> out;
  for (std::size_t b = 0; b < plan.maps.size(); ++b) {
    const features::NamedMap& map = plan.maps[b];
    // Of minibatches: those of one epoch, in each of which a record is once.
    const auto classes =
        static_cast<double>(plan.rows(b)) / static_cast<double>(map.minibatches ? map.minibatches.epochs : 1);
    out.push_back({map.name, plan.features(b), map.bound().norm, map.weight});
    MapForecast& f = out.back();
    if (!records) continue;
    f.signal_most = bounds::weighted(map.map->bound(), map.weight).norm / classes;
    f.noise_per_number = carried_sigma(plan, mode, b, 0) / plan.noise.parts[b].runs.front().unit / *records;
    f.noise_per_class = f.noise_per_number * std::sqrt(static_cast<double>(f.features));
    f.noise_norm = f.noise_per_class * std::sqrt(static_cast<double>(plan.rows(b)));
    f.signal_to_noise_most = f.signal_most / f.noise_per_class;
    f.kernel_where_equal = 1.0 / (f.signal_to_noise_most * f.signal_to_noise_most);
    const double noise = f.noise_per_number / map.weight * classes;
    const features::SteppedFeatures* const steps = map.map->steps();
    if (steps && map.round > steps->first_round()) continue;  // its first round's is of all
    if (!steps && map.round > 1) {
      f.outlook =
          fmt::format("round {}: what it counts is chosen from the noisy numbers before it", map.round);
      // Where bins are learned, the map counts what is to be expected of it until then.
      if (const features::TableFeatures* own = map.map->tables();
          own && own->counted().learns() && map.round == 2)
        f.outlook += "; were all values equally frequent, " + map.map->outlook(noise, *records / classes);
      continue;
    }
    f.outlook = map.map->outlook(noise, *records / classes);
    if (map.map->tables()) f.drowned = map.map->tables()->drowned(noise);
  }
  return out;
}

std::optional<RowsForecast> rows_forecast(const ReleasePlan& plan, const privacy::AggregationMode& mode) {
  const auto person = plan.schema.table ? plan.schema.table->counted_person() : std::nullopt;
  if (!person) return std::nullopt;
  const schema::Column& column = plan.schema.table->columns[*person];
  RowsForecast out{column.name, column.rows};
  double precision = 0;
  for (std::size_t b = 0; b < plan.maps.size(); ++b) {
    const features::TableFeatures* const own = plan.maps[b].map->tables();
    if (own == nullptr) continue;
    const features::CountTables& all = own->counted();
    const std::vector<std::int64_t> units = all.units(plan.lattice);
    for (std::size_t t = 0; t < all.tables.size(); ++t) {
      if (!all.counts_rows(all.tables[t])) continue;
      const double sigma = carried_sigma(plan, mode, b, 0) / static_cast<double>(units[t]);
      precision += 1.0 / (sigma * sigma * static_cast<double>(plan.rows(b)));
      const double squares = all.sum_of_squares(), weight = all.tables[t].weight;
      out.for_others = std::max(out.for_others, std::sqrt(squares / (squares - weight * weight)));
    }
  }
  if (!(precision > 0)) return std::nullopt;
  out.noise = 1.0 / std::sqrt(precision);
  return out;
}

std::optional<double> count_noise(const ReleasePlan& plan, const privacy::AggregationMode& mode) {
  const std::size_t maps = plan.maps.size();
  if (plan.counts) return carried_sigma(plan, mode, maps, 0) / static_cast<double>(plan.counts_units());
  for (std::size_t b = 0; b < maps; ++b) {
    if (const auto inside = plan.maps[b].map->counts_inside(plan.lattice))
      return std::sqrt(static_cast<double>(inside->numbers)) * carried_sigma(plan, mode, b, 0) /
             inside->scale;
  }
  return std::nullopt;
}

Cost cost(const ReleasePlan& plan, int ranks, std::uint64_t threads, std::optional<double> records) {
  const std::uint64_t numbers = plan.size();
  // Each thread's sums and the shard's.
  Cost out;
  out.memory = 8 * numbers * (threads + 1);
  out.wire = 8 * numbers;
  out.wire_all = static_cast<double>(out.wire) * (ranks - 1);
  // The shard's sums and the reduced ones, the noise, the released numbers and the file's bytes.
  out.root = 8 * numbers * 5;
  double flops_per_record = 0.0;
  for (const features::NamedMap& map : plan.maps) {
    const features::MapCost each = map.map->cost();
    flops_per_record +=
        each.flops_per_record * static_cast<double>(map.minibatches ? map.minibatches.epochs : 1);
    out.memory += each.bytes + threads * each.bytes_per_thread;
    out.root += 4 * static_cast<std::uint64_t>(map.map->numbers_in_map());
  }
  out.root = std::max(out.memory, out.root);
  if (records) {
    out.flops = *records * flops_per_record;
    out.flops_each = *out.flops / ranks;
  }
  return out;
}

}  // namespace muffle::release
