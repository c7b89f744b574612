#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "devices.hpp"
#include "muffle/app/commands.hpp"
#include "muffle/comm/messages.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/job/release.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "muffle/release/table_files.hpp"
#include "muffle/release/transaction.hpp"
#include "place_of_data.hpp"
#include "run_folder.hpp"

namespace muffle::app {
namespace {

std::string name_of_data(const Config& config) {
  if (!config.data.generate.empty()) return "generated-" + config.data.generate;
  return "unnamed-" + place_of_data(config).substr(0, 16);
}

/// The record files that settings name, whose texts are written as TOML has them.
std::string named_file(const std::map<std::string, std::string>& settings, const std::string& key) {
  const auto text = [&](const std::string& of) {
    const auto at = settings.find(of);
    const bool quoted = at != settings.end() && at->second.size() >= 2 && at->second.front() == '"';
    return quoted ? at->second.substr(1, at->second.size() - 2) : std::string();
  };
  return text(key).empty() ? "" : real_path(std::filesystem::path(text("data.dir")) / text(key)).string();
}

/// What of this configuration is otherwise in the release that lies in its run folder, by what the folder
/// says of itself.
std::string other_settings(const Context& context, const release::Artifact& there) {
  const std::shared_ptr<const schema::Table>& table = context.config.plan.schema.table;
  std::vector<std::string> out;
  if (table && there.schema.table && schema::table_hash(*table) != schema::table_hash(*there.schema.table))
    out.emplace_back("the columns that data.schema describes");
  const auto file = context.out / kConfigFile;
  if (!is_there(file, "the settings of the run folder", "Nothing was charged or drawn."))
    return fmt::format("{}", fmt::join(out, "; "));
  std::map<std::string, std::string> before, now = flatten(context.config);
  try {
    before = settings_in(file.string());
  } catch (const ConfigError&) {  // somebody's text; what it meant nobody knows
    return fmt::format("{}", fmt::join(out, "; "));
  }
  for (const char* key : {"data.features", "data.labels"}) {
    const std::string was = named_file(before, key), is = named_file(now, key);
    if (was != is) out.push_back(fmt::format("{}: '{}' there, '{}' here", key, was, is));
  }
  Config config = context.config;
  std::set<std::string> of_release;
  for (const settings::Key& key : keys_of(config)) {
    if (key.stage == Stage::kRelease && !names_records(key.name)) of_release.insert(key.name);
  }
  for (const auto& [key, value] : before) {
    if (key.starts_with("map.")) of_release.insert(key);
  }
  for (const std::string& key : of_release) {
    const auto shown = [&](std::map<std::string, std::string>& settings) {
      return settings.contains(key) ? settings[key] : "nothing";
    };
    if (shown(before) != shown(now))
      out.push_back(fmt::format("{}: {} there, {} here", key, shown(before), shown(now)));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

/// This job's release as the ledger sees it. privacy.ledger and data.id have defaults:
/// ledger-<data set>.jsonl in the folder that holds the run folder, so that runs beside one another share it;
/// the data set's name is made from the record file's path. Waits for the ledger's lock up to half of
/// runtime.deadline_s, so that the other ranks, which wait for root, outlast it.
release::ReleaseOrder release_order(const Context& context, const std::string& hash) {
  const auto& settings = context.config.ledger;
  const std::filesystem::path out = real_path(context.out);
  release::ReleaseOrder order;
  order.file = real_path(out / kReleaseFile);
  order.statement_json = out / kPrivacyJson;
  order.statement_text = out / kPrivacyText;
  order.config_hash = hash;
  order.what_differs = [&context](const release::Artifact& there) { return other_settings(context, there); };
  order.data_id = settings.data_id.empty() ? name_of_data(context.config) : settings.data_id;
  order.ledger = settings.file.empty() ? out.parent_path() / ("ledger-" + order.data_id + ".jsonl")
                                       : std::filesystem::path(settings.file);
  if (settings.data_id.empty()) order.left_open += "data.id, ";
  if (settings.file.empty()) order.left_open += "privacy.ledger, ";
  if (settings.budget_epsilon)
    order.budget = privacy::Budget::from_epsilon(*settings.budget_epsilon, settings.budget_delta);
  order.lock_deadline =
      std::chrono::milliseconds(static_cast<long long>(context.config.runtime.deadline_s * 500));
  order.signing_key = context.config.signing_key;
  order.secure_noise = !context.insecure_seed && !context.no_noise;
  return order;
}

/// Whether records were clamped is private: this line is there whatever they hold.
void say_where_misfits_are(const Context& context) {
  if (context.config.data.schema.on_error != schema::OnError::kClamp) return;
  spdlog::info(
      "release: data.on_error = \"clamp\": what did not fit was clamped or counts as nothing; whether there "
      "was any stands in the private logs alone ({}). `muffle check --config FILE` tells it beforehand",
      (context.out / "logs").string());
}

/// Their times are rounded when the verb ends.
void note_files(Context& context, const release::ReleaseOrder& order) {
  const WatchedStep step("looking for", order.ledger);
  std::error_code none;
  std::filesystem::path ledger = std::filesystem::weakly_canonical(order.ledger, none);
  if (ledger.empty()) ledger = order.ledger;
  context.writes.insert(context.writes.end(), {ledger, ledger.string() + ".lock"});
  if (!order.signing_key.empty()) context.reads.emplace_back(order.signing_key);
}

void say_outlook(const Config& config) {
  if (const std::string label = label_as_column(config.plan); !label.empty())
    spdlog::info("the label '{}' is counted like any other column (data.label_as)", printable(label));
  if (const std::string unguided = without_a_guess(config); !unguided.empty())
    spdlog::warn("release: {}", unguided);
  if (config.data.records == 0) return;
  for (const release::MapForecast& map :
       release::forecast(config.plan, {}, static_cast<double>(config.data.records))) {
    if (!map.outlook.empty()) spdlog::info("map {}: {}", map.name, map.outlook);
  }
}

/// @param hash  release_hash(), root's
job::ReleaseJob release_job(Context& context, const std::string& hash) {
  const Config& c = context.config;
  job::ReleaseJob job;
  job.plan = c.plan;
  job.aggregation = c.aggregation;
  job.config_hash = hash;
  job.muffle_version = MUFFLE_VERSION;
  job.file = context.out / kReleaseFile;
  job.insecure_seed = context.insecure_seed;
  job.no_noise = context.no_noise;
  job.dry_run = context.dry_run;
  job.threads = context.threads;
  job.order = [&context, hash, asked = false]() mutable {  // more than once
    release::ReleaseOrder order = release_order(context, hash);
    if (!std::exchange(asked, true)) {
      say_outlook(context.config);
      note_files(context, order);
    }
    return order;
  };
  job.find_records = [&context] {
    data::DataSpec records = prepare_records(context);
    records.schema = context.config.plan.schema;
    return records;
  };
  job.make_embedder = [&context](const release::ReleasePlan& plan) {
    return make_embedder_on_devices(context.comm, context.config, plan);
  };
  job.next_map = pair_graph::map_of_next_round;
  job.note_settings = [&context] { record_settings(context, Stage::kRelease); };
  return job;
}

/// Before anything is charged: what cannot be exported afterwards is refused. On root.
void check_export(Context& context) {
  const auto& maps = context.config.plan.maps;
  if (std::none_of(maps.begin(), maps.end(), [](const auto& map) { return map.map->tables(); }))
    throw ConfigError(
        fmt::format("--export-tables: the release holds no tables of counts; a feature map with kind = "
                    "{} does. Nothing was charged or drawn.",
                    features::tables_maps()));
  ensure_writable_folder(context.export_tables);
  release::require_place_for_tables(context.export_tables);
  context.writes.push_back(watched::canonical(context.export_tables));  // it may be a link
}

/// On root.
void export_tables(const Context& context, const std::filesystem::path& file) {
  release::write_tables(release::parse_artifact(read_file(file), file.string()), context.export_tables);
  spdlog::info("release: its tables are in {}", context.export_tables.string());
}

}  // namespace

void release(Context& context) {
  const auto on_root = [&](const std::string& doing, const auto& work) {
    if (context.export_tables.empty()) return;
    comm::agree(context.comm, doing, true, [&] {
      if (context.comm.is_root()) work();
    });
  };
  on_root("preparing the export of tables", [&] { check_export(context); });
  const auto together = job::make_together(context.comm);
  std::string hash;
  comm::agree(context.comm, "looking where the records lie", true, [&] {
    if (context.comm.is_root()) hash = release_hash(context.config);
  });
  const job::ReleaseJob job = release_job(context, comm::broadcast_text(context.comm, hash));
  const auto heartbeat = [&](std::string_view doing) { context.comm.check_peers(doing); };
  const auto done = [&] {
    if (context.comm.is_root() && !context.dry_run) say_where_misfits_are(context);
  };
  bool kept = false;
  try {
    kept = job::release(*together, heartbeat, job);
  } catch (...) {
    done();  // what ended it may be what did not fit
    throw;
  }
  done();
  if (context.dry_run) return;
  if (kept) end_stage(context, Stage::kRelease, "release", job.file, [&] { return job.secure_noise(); });
  on_root("exporting the tables", [&] { export_tables(context, job.file); });
}

}  // namespace muffle::app
