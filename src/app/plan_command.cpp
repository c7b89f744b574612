#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/process.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/stepped.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "muffle/release/plan_json.hpp"

namespace muffle::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxRanks = 1'000'000;

/// What a job will need.
struct JobPlan {
  std::optional<double> records;  ///< m, or the guess of it
  std::vector<release::MapForecast> maps;
  std::map<std::string, std::string> sizes;  ///< sizes_for() the guess
  std::optional<release::RowsForecast> rows;
  std::optional<double> count_noise;  ///< counts, or the moments' traces: standard deviation in records
  release::Cost release;
  train::Cost train;  ///< of the model that is made of the release
  std::vector<std::string> warnings;
};

/// What rooms by themselves cannot see, and what release::doubts() says.
std::vector<std::string> warnings(const Config& c, const JobPlan& plan) {
  std::vector<std::string> out;
  if (!plan.records) {
    out.push_back(
        "m is private under add/remove-one adjacency: give data.expected_records, or --records, with a "
        "public guess of it to see signal and noise");
  }
  if (std::string unguided = without_a_guess(c); !unguided.empty()) out.push_back(std::move(unguided));
  for (std::string& doubt : release::doubts(c.plan, plan.maps, plan.count_noise, plan.records))
    out.push_back(std::move(doubt));
  if (c.privacy.adjacency == privacy::Adjacency::kReplaceOne && c.release_counts &&
      !c.sample.by_counts(released_schema(c), true) && label_as_column(c.plan).empty())
    out.push_back(
        "class counts are released, but samples do not use them: sample.labels = \"released-counts\" does");
  return out;
}

/// The keys that would follow from the noise were m public and `records`, or from the guess, with their
/// values.
std::map<std::string, std::string> sizes_for(const Config& config, std::uint64_t records) {
  Config told = config;
  release::choose_sizes(told.features, released_schema(told), told.privacy, told.release_counts, records);
  const std::map<std::string, std::string> before = flatten(config);
  std::map<std::string, std::string> sizes = flatten(told);
  std::erase_if(sizes, [&](const auto& key) { return before.at(key.first) == key.second; });
  if (goes_by_guess(config, records)) sizes["data.expected_records"] = std::to_string(records);
  return sizes;
}

/// @param guess  of m, where the configuration has none.
JobPlan plan_job(const Config& config, int ranks, int threads, std::optional<std::uint64_t> guess) {
  JobPlan plan;
  const release::ReleasePlan& release = config.plan;
  if (config.data.records > 0) plan.records = static_cast<double>(config.data.records);
  if (config.data.expected_records > 0) plan.records = static_cast<double>(config.data.expected_records);
  if (guess) {
    plan.records = static_cast<double>(*guess);
    plan.sizes = sizes_for(config, *guess);
  }
  const privacy::AggregationMode mode = config.aggregation.mode(ranks);
  plan.maps = release::forecast(release, mode, plan.records);
  plan.rows = release::rows_forecast(release, mode);
  plan.count_noise = release::count_noise(release, mode);
  plan.release = release::cost(release, ranks, static_cast<std::uint64_t>(threads), plan.records);
  plan.train = train::cost(release, config.model.chosen(), config.train, static_cast<std::uint64_t>(ranks));
  plan.warnings = warnings(config, plan);
  return plan;
}

/// "12.3 MB": decimal units.
template <class Number>
std::string bytes_text(Number count) {
  auto bytes = static_cast<double>(count);
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) bytes /= 1000, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

/// The dates that are released as something else, for people.
std::vector<std::string> differences(const release::ReleasePlan& plan) {
  std::vector<std::string> out;
  if (!plan.schema.table) return out;
  const std::vector<schema::Column>& columns = plan.schema.table->columns;
  for (const schema::Column& column : columns) {
    if (column.time_of && !columns[*column.time_of].since)
      out.push_back(fmt::format("'{}' is released as a day and a time of day",
                                printable(columns[*column.time_of].name)));
    if (!column.since) continue;
    out.push_back(fmt::format("'{}' is released as how {} later it is than '{}'{}{}", printable(column.name),
                              column.counts_days() ? "many days" : "much",
                              printable(columns[*column.since].name),
                              column.counts_days() ? ", and a time of day" : "",
                              column.dates ? ", for the constraint between them" : ""));
  }
  return out;
}

Json or_null(const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); }

std::string as_json(const JobPlan& p, const Config& c, int ranks, int threads) {
  Json maps = Json::array();
  for (const release::MapForecast& b : p.maps) {
    const auto known = [&p](double v) { return p.records ? Json(v) : Json(nullptr); };
    maps.push_back({{"name", b.name},
                    {"features", b.features},
                    {"norm", b.norm},
                    {"weight", b.weight},
                    {"signal_most", known(b.signal_most)},
                    {"noise_per_number", known(b.noise_per_number)},
                    {"noise_per_class", known(b.noise_per_class)},
                    {"noise_norm", known(b.noise_norm)},
                    {"signal_to_noise_most", known(b.signal_to_noise_most)},
                    {"kernel_where_equal", known(b.kernel_where_equal)},
                    {"outlook", b.outlook},
                    {"drowned", b.drowned}});
  }
  const Json memory = {{"release", p.release.memory},
                       {"release_root", p.release.root},
                       {"fit_root", p.train.fit_root},
                       {"train", p.train.memory}};
  const Json out = {{"format", "muffle-plan"},
                    {"version", 1},
                    {"ranks", ranks},
                    {"threads", threads},
                    {"epsilon", c.plan.noise.epsilon},
                    {"delta", c.plan.noise.delta},
                    {"noise_multiplier", c.plan.noise.noise_multiplier},
                    {"adjacency", privacy::to_string(c.privacy.adjacency)},
                    {"max_records_per_person", c.plan.max_records_per_person},
                    {"sensitivity", c.plan.noise.sensitivity.value},
                    {"sensitivity_derivation", c.plan.noise.sensitivity.derivation},
                    {"sigma", c.plan.noise.sigma},
                    {"records", or_null(p.records)},
                    {"released_values", c.plan.size()},
                    {"plan_sha256", release::plan_hash(c.plan)},
                    {"round_shares", pair_graph::shares_of_rounds(c.plan)},
                    {"maps", maps},
                    {"differences", differences(c.plan)},
                    {"label_as_column", label_as_column(c.plan)},
                    {"rows_of_a_person", p.rows ? Json{{"column", p.rows->column},
                                                       {"most", p.rows->most},
                                                       {"noise", p.rows->noise},
                                                       {"noise_of_others", p.rows->for_others}}
                                                : Json(nullptr)},
                    {"sizes", p.sizes},
                    {"count_noise", or_null(p.count_noise)},
                    {"generator_parameters", p.train.parameters},
                    {"memory_bytes", memory},
                    {"wire_bytes",
                     {{"release", p.release.wire},
                      {"release_all_ranks", p.release.wire_all},
                      {"step", p.train.step_wire},
                      {"step_embedding", p.train.step_embedding},
                      {"step_batch_norm", p.train.step_batch_norm},
                      {"step_gradients", p.train.step_gradients},
                      {"step_sent_per_rank", p.train.step_sent}}},
                    {"embed_flops", or_null(p.release.flops)},
                    {"step_embed_flops", p.train.step_flops},
                    {"warnings", p.warnings}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_text(const JobPlan& p, const Config& c, int ranks, int threads) {
  std::string out = fmt::format("Plan for {} rank{} of {} thread{}; no record was read.\n", ranks,
                                ranks == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
  out += fmt::format(
      "\nprivacy\n  ({}, {})-DP, {}, at most {} record{} a person\n  sigma {:.10g} = noise multiplier "
      "{:.10g} x sensitivity {:.10g}\n",
      exact_text(c.plan.noise.epsilon), exact_text(c.plan.noise.delta),
      privacy::to_string(c.privacy.adjacency), c.plan.max_records_per_person,
      c.plan.max_records_per_person == 1 ? "" : "s", c.plan.noise.sigma, c.plan.noise.noise_multiplier,
      c.plan.noise.sensitivity.value);
  const auto is_step = [&](std::size_t b) { return c.plan.maps[b].map->steps() != nullptr; };
  bool chosen = false;  // what some later round counts, and so how many numbers it has
  bool stepped = false;
  for (std::size_t b = 0; b < c.plan.maps.size(); ++b) {
    chosen |= c.plan.maps[b].round > 1 && !is_step(b);
    stepped |= is_step(b);
  }
  out += fmt::format("  {}{} numbers are released\n", chosen ? "about " : "", c.plan.size());
  out += fmt::format("  the release plan is {}\n", release::plan_hash(c.plan));
  if (const std::size_t rounds = c.plan.rounds(); stepped || rounds > privacy::kMostRoundsOfCounts)
    out += fmt::format("  in {} rounds, charged together before the first\n", rounds);
  else if (rounds > 1)
    out += fmt::format("  in {} rounds, with {:.2f} of mu^2 each, charged together before the first\n",
                       rounds, fmt::join(pair_graph::shares_of_rounds(c.plan), ", "));
  if (const auto counted = differences(c.plan); !counted.empty())
    out += fmt::format("\ndates\n  {}\n", fmt::join(counted, "\n  "));
  if (const std::string label = label_as_column(c.plan); !label.empty())
    out +=
        fmt::format("\nlabel\n  '{}' is counted like any other column, not class by class (data.label_as)\n",
                    printable(label));
  if (p.rows)
    out += fmt::format(
        "\npeople\n  how many of them ('{}') have 1, 2, .. {} rows is released: noise of {:.3g} in each "
        "number of those who have at least so many, and {:.1f} % more of it in all else\n",
        printable(p.rows->column), p.rows->most, p.rows->noise, 100 * (p.rows->for_others - 1));
  if (p.records) {
    out += fmt::format("\nsignal and noise of the mean embedding, {:.0f} records\n", *p.records);
    for (std::size_t i = 0; i < p.maps.size(); ++i) {
      const release::MapForecast& b = p.maps[i];
      if (is_step(i) && c.plan.maps[i].round > c.plan.maps[i].map->steps()->first_round())
        continue;  // like its first round's
      out += fmt::format(
          "  map {} ({} features, norm at most {})\n"
          "    noise            {:.3g} a number, {:.3g} a class, {:.3g} in all\n"
          "    signal           at most {:.3g} a class (balanced classes)\n"
          "    signal-to-noise  at most {:.3g}; equal if the kernel of two records of a class is {:.3g} on "
          "average\n",
          b.name, b.features, exact_text(b.norm), b.noise_per_number, b.noise_per_class, b.noise_norm,
          b.signal_most, b.signal_to_noise_most, b.kernel_where_equal);
      if (!b.outlook.empty()) out += fmt::format("    outlook          {}\n", b.outlook);
    }
    if (!p.sizes.empty()) {
      out += "  with that many records better:";
      for (const auto& [key, value] : p.sizes) out += fmt::format(" --set {}={}", key, value);
      out += "\n";
    }
  } else {
    out += "\nsignal and noise of the mean embedding, outlook\n";
    out += "  m is private, so they are left out: give --records M, a public guess of it\n";
  }
  if (p.count_noise) out += fmt::format("  class counts       +- {:.3g} records\n", *p.count_noise);
  const bool trains = p.train.parameters > 0;
  out += fmt::format("\nmemory per rank (large arrays)\n  release  {}, the coordinator {}\n",
                     bytes_text(p.release.memory), bytes_text(p.release.root));
  if (p.train.fit_root > 0)
    out += fmt::format("  fit      the coordinator alone, {}\n", bytes_text(p.train.fit_root));
  if (trains) out += fmt::format("  train    {}\n", bytes_text(p.train.memory));
  out += fmt::format(
      "\non the wire\n  release  8 B x {} numbers = {} from each rank but the coordinator, {} in all\n",
      c.plan.size(), bytes_text(p.release.wire), bytes_text(p.release.wire_all));
  if (trains) {
    out += fmt::format(
        "  step     {} all-reduced (embedding {}, batch norms {}, gradients {}): a rank sends {} (ring)\n"
        "  training {} a rank over {} steps\n",
        bytes_text(p.train.step_wire), bytes_text(p.train.step_embedding),
        bytes_text(p.train.step_batch_norm), bytes_text(p.train.step_gradients),
        bytes_text(p.train.step_sent), bytes_text(p.train.training_sent), c.train.steps);
  }
  out += "\narithmetic of the embedding (matrix products)\n";
  if (p.release.flops)
    out += fmt::format("  release  {:.3g} flops, {:.3g} a rank\n", *p.release.flops, *p.release.flops_each);
  if (trains)
    out += fmt::format("  step     {:.3g} flops, {:.3g} a rank; the generator has {} parameters\n",
                       p.train.step_flops, p.train.step_flops_each, p.train.parameters);
  if (!p.warnings.empty()) out += "\n";
  for (const std::string& warning : p.warnings) out += "WARNING " + warning + ".\n";
  return out;
}

}  // namespace

std::string plan(const ConfigSources& sources, const PlanCommand& command) {
  if (command.ranks < 1 || command.ranks > kMaxRanks)
    throw UsageError(fmt::format("--ranks is {}, not a number from 1 to {}.", command.ranks, kMaxRanks));
  if (command.records && *command.records == 0) throw UsageError("--records is 0: guess at least 1.");
  const Config config = load_config(sources, {.release = true, .train = true});
  if (command.records && config.privacy.adjacency == privacy::Adjacency::kReplaceOne &&
      *command.records != config.data.records)
    throw UsageError(
        "under replace-one adjacency m is data.records: set that (--set data.records=...), not --records.");
  const int threads =
      config.runtime.threads > 0 ? static_cast<int>(config.runtime.threads) : owned_cores(core_facts(), 1);
  const JobPlan job = plan_job(config, command.ranks, threads, command.records);
  return command.format == "json" ? as_json(job, config, command.ranks, threads)
                                  : as_text(job, config, command.ranks, threads);
}

}  // namespace muffle::app
