#include "devices.hpp"
#include "muffle/app/commands.hpp"
#include "muffle/comm/messages.hpp"
#include "muffle/round/release.hpp"
#include "release_ledger.hpp"
#include "run_folder.hpp"
#include "stages.hpp"

namespace muffle::app {
namespace {

round::ReleaseJob release_job(Context& context) {
  const Config& c = context.config;
  round::ReleaseJob job;
  job.plan = plan_release(c);
  job.aggregation = c.aggregation;
  job.config_hash = stage_hash(c, Stage::kRelease);
  job.muffle_version = MUFFLE_VERSION;
  job.file = context.out / kReleaseFile;
  job.signing_key = c.signing_key;
  job.insecure_seed = context.insecure_seed;
  job.dry_run = context.dry_run;
  job.threads = context.threads;
  job.order = [&context] { return release_order(context); };
  job.find_records = [&context] { return prepare_records(context); };
  job.make_embedder = [&context](const release::ReleasePlan& plan) {
    return make_embedder_on_devices(context, plan);
  };
  job.note_settings = [&context] { record_settings(context, Stage::kRelease); };
  return job;
}

}  // namespace

void release(Context& context) {
  const auto transport = round::make_transport(context.comm);
  const round::ReleaseJob job = release_job(context);
  const auto outcome = round::release(*transport, round::heartbeat_of(context.comm), job);
  if (outcome != round::ReleaseOutcome::kKept || context.dry_run) return;
  comm::agree(context.comm, "noting the settings", true, [&] {
    record_settings(context, Stage::kRelease);
    if (context.comm.is_root() && context.insecure_seed) warn_not_private("release", job.file);
  });
}

}  // namespace muffle::app
