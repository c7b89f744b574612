#include "site_sums.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/log.hpp"
#include "muffle/core/process.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/table.hpp"
#include "muffle/site/own_networks.hpp"

namespace muffle::app {
namespace {

std::string classes_in_words(const schema::Schema& schema) {
  if (schema.class_names.empty()) return "none";
  return printable(fmt::format("{}", fmt::join(schema.class_names, ", ")));
}

/// The records of a site's own settings, read by the round's plan.
data::DataSpec records_for(const PartyConfig& config, const release::ReleasePlan& plan) {
  data::DataSpec spec = config.config.data;
  if (spec.schema.table &&
      (!plan.schema.table || schema::table_hash(*spec.schema.table) !=
                                 schema::table_hash(schema::as_described(*plan.schema.table))))
    throw ConfigError(fmt::format(
        "data.schema in {} is not the schema of the round's plan: compare them (`muffle schema hash`, "
        "`muffle site show`), and settle with the coordinator which is right. No record was read.",
        party_file(config.folder, true).string()));
  const bool named_here = !spec.schema.class_names.empty();
  if (named_here && (plan.schema.class_names.empty() || !schema::class_names_agree(spec.schema, plan.schema)))
    throw ConfigError(
        fmt::format("data.class_names in {} is not that of the round's plan ({}): classes would be mixed up. "
                    "Leave it out "
                    "to go by the plan's, or settle with the coordinator which is right. No record was read.",
                    party_file(config.folder, true).string(), classes_in_words(plan.schema)));
  spec.schema = plan.schema;
  spec.schema.on_error = schema::OnError::kClamp;  // no proposal says otherwise (release::read_proposal)
  spec.records = 0;
  if (plan.schema.table && plan.schema.table->person()) spec.records_per_person = plan.max_records_per_person;
  // A person's records are bounded over all that the site has, and a rank sees its own files alone.
  if (spec.records_per_person > 0 && spec.shards == data::ShardRule::kPerRank)
    throw ConfigError(
        "the round bounds the records of a person, and each rank of this site has files of its own "
        "(data.shards = \"per-rank\"), which one person may be in several of: give all ranks the same files. "
        "No record was read.");
  if (config.config.party->parts > 1) spec.shards = data::ShardRule::kContiguous;
  return spec;
}

/// The plan, with where this rank's own files of its networks lie.
release::ReleasePlan with_own_networks(const PartyConfig& config, release::ReleasePlan plan) {
  const site::OwnNetworks own = site::find_networks(plan.maps, config.config.party->networks);
  if (const std::string lacking = site::lacking_networks(plan.maps, own); !lacking.empty())
    throw ConfigError(lacking + ". No record was read.");
  features::find_assets(plan.maps, own.files);
  return plan;
}

/// What all ranks of the site's job go by; the rest of its settings is root's alone.
std::map<std::string, std::string> settings_of_ranks(const PartyConfig& config) {
  std::map<std::string, std::string> out = flatten(config.config);
  std::erase_if(out, [](const auto& setting) {
    const std::string section = setting.first.substr(0, setting.first.find('.'));
    return section != "data" && section != "features" && section != "runtime" && section != "site";
  });
  return out;
}

}  // namespace

PartyConfig settings_of_job(comm::HostComm& comm, const std::filesystem::path& folder) {
  PartyConfig config;
  comm::agree(comm, "reading the site's settings", true, [&] { config = load_party(folder, true); });
  comm::require_same_settings(comm, settings_of_ranks(config), names_own_files);
  return config;
}

round::OwnSums sum_part(const SiteMachine& machine, const std::filesystem::path& folder,
                        const release::ReleasePlan& plan) {
  comm::HostComm& comm = machine.comm;
  const PartyConfig config = settings_of_job(comm, folder);
  const Config::Party& party = *config.config.party;
  data::DataSpec spec;
  comm::agree(comm, "opening the logs", true, [&] {
    set_up_logging({comm.rank(), comm.host(), config.folder / "logs", 0});
  });
  release::ReleasePlan here;
  comm::agree(comm, "reading the round's plan", true, [&] {
    spec = records_for(config, plan);
    here = with_own_networks(config, plan);
  });
  // Ranks that read the same files must count the same records of a person.
  if (spec.records_per_person > 0 && spec.shards != data::ShardRule::kPerRank)
    spec.person_key = comm::broadcast_text(comm, comm.is_root() ? data::new_person_key() : "");
  spec.heartbeat = [&] { comm.check_peers("opening the records"); };
  const std::int64_t asked = config.config.runtime.threads;
  const int threads = asked > 0 ? static_cast<int>(asked) : machine.cores;
  set_compute_threads(threads);
  const embed::Embedder embedder = machine.make_embedder(config.config, std::move(here));
  std::optional<round::OwnSums> own;
  comm::agree(comm, "embedding the records", false, [&] {
    const auto source =
        data::open_shard(spec, party.part * comm.size() + comm.rank(), party.parts * comm.size());
    const std::uint64_t records =
        plan.adjacency == privacy::Adjacency::kReplaceOne ? source->shard_size() : 0;
    own.emplace(
        round::OwnSums{embed::embed_shard(embedder, *source, threads,
                                          [&](std::uint64_t) { comm.check_peers("embedding the records"); }),
                       records});
  });
  return std::move(*own);
}

}  // namespace muffle::app
