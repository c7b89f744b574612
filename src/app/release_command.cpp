#include "devices.hpp"
#include "layout.hpp"
#include "muffle/app/commands.hpp"
#include "muffle/comm/messages.hpp"
#include "muffle/round/release.hpp"
#include "release_ledger.hpp"
#include "run_folder.hpp"
#include "stages.hpp"

namespace muffle::app {
namespace {

release::Artifact describe_release(const Context& context) {
  const Config& c = context.config;
  release::Artifact a;
  for (const features::BlockSpec& spec : block_specs(c)) a.blocks.push_back({spec, map_hash(spec)});
  a.lattice_bits = c.features.lattice_bits;
  a.schema = c.data.schema;
  a.counts = c.release_counts;
  a.counts_weight = kCountsWeight;
  a.records = c.privacy.adjacency == privacy::Adjacency::kReplaceOne ? c.data.records : 0;
  a.adjacency = c.privacy.adjacency;
  a.max_records_per_person = c.privacy.max_records_per_person;
  a.muffle_version = MUFFLE_VERSION;
  return a;
}

round::ReleaseJob release_job(Context& context) {
  const Config& c = context.config;
  round::ReleaseJob job;
  job.privacy = c.privacy;
  job.records = c.data.records;
  job.aggregation = c.aggregation;
  job.config_hash = stage_hash(c, Stage::kRelease);
  job.file = context.out / kReleaseFile;
  job.signing_key = c.signing_key;
  job.insecure_seed = context.insecure_seed;
  job.dry_run = context.dry_run;
  job.threads = context.threads;
  job.order = [&context] { return release_order(context); };
  job.find_records = [&context] { return prepare_records(context); };
  job.lay_out = [&context] {
    return context.dry_run ? make_layout(context.config) : make_layout_on_devices(context);
  };
  job.note_settings = [&context] { record_settings(context, Stage::kRelease); };
  job.describe = [&context] { return describe_release(context); };
  return job;
}

}  // namespace

void release(Context& context) {
  const auto transport = round::make_transport(context.comm);
  const round::ReleaseJob job = release_job(context);
  if (round::release(*transport, round::heartbeat_of(context.comm), job) != round::ReleaseOutcome::kKept) return;
  if (context.dry_run) return;
  comm::agree(
      context.comm, "noting the settings",
      [&] {
        record_settings(context, Stage::kRelease);
        if (context.comm.is_root() && context.insecure_seed) warn_not_private("release", job.file);
      },
      true);
}

}  // namespace muffle::app
