#include <spdlog/spdlog.h>

#include "devices.hpp"
#include "muffle/app/commands.hpp"
#include "muffle/comm/detachment.hpp"
#include "muffle/core/files.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/network.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/synth/moved_rows.hpp"
#include "muffle/train/checkpoint.hpp"
#include "muffle/train/trainer.hpp"
#include "run_folder.hpp"
#include "training_records.hpp"

namespace muffle::app {
namespace {

/// A file of one rank, on every rank. Collective.
std::string shared_file(comm::HostComm& comm, const std::filesystem::path& file, int owner,
                        const std::string& what) {
  std::string bytes;
  comm::agree(comm, what, true, [&] {
    if (comm.rank() == owner) bytes = read_file(file);
  });
  return comm::broadcast_text(comm, bytes, owner);
}

/// Trains on the ranks that train.ranks names. Rank 0 has the release and gets the model, whether it trains
/// or not; checkpoints lie on the first rank that does.
void train_network(Context& context, const model::NetworkSettings& network,
                   const std::filesystem::path& release_file, const std::filesystem::path& model_file,
                   const std::string& train_hash) {
  comm::HostComm& comm = context.comm;
  TrainingPlace place = place_training(context);
  const std::string release = shared_file(comm, release_file, 0, "reading the release");
  const bool reads_records = context.config.train.match_records;
  data::DataSpec records;
  if (reads_records) {
    require_release_of_records(context, release, release_file.string());
    records = prepare_records(context);
  }
  // Before the first curve is there.
  comm::agree(comm, "looking whether the release is private", true, [&] {
    if (comm.is_root() && !release::parse_artifact(release, release_file.string()).is_private)
      mark_not_private(context.out);
  });
  comm::Detachment detachment(comm, place.works);
  detachment.run("training", [&](comm::HostComm& mine, const comm::Detachment::Heartbeat& heartbeat) {
    place.setup.heartbeat = heartbeat;
    if (reads_records) place.setup.records = read_training_records(mine, records, heartbeat);
    place.setup.assets = context.config.features.assets(context.config.data.schema);
    train::train(mine, release, release_file.string(), model_file, network, context.config.train, train_hash,
                 context.threads, place.setup);
  });
  if (place.works.front()) return;
  const std::string model = shared_file(comm, model_file, detachment.first(), "fetching the model");
  comm::agree(comm, "writing the model", true, [&] {
    if (comm.is_root()) write_file_atomically(model_file, model);
  });
}

/// Tells which rules between columns the model does not know by itself.
void report_rules(Context& context, const std::filesystem::path& model_file) {
  const auto& table = context.config.data.schema.table;
  if (!table || table->constraints.empty()) return;
  comm::agree(context.comm, "looking at the rules between columns", true, [&] {
    if (!context.comm.is_root()) return;
    const model::Model model = model::parse_model(read_file(model_file), model_file.string());
    for (const std::string& text : synth::moving_rules(model)) spdlog::warn("train: {}", text);
  });
}

}  // namespace

void train(Context& context, const std::filesystem::path& release_file) {
  const auto file = context.out / kModelFile;
  // Noted once it was read as a release.
  const StageWork work{"train", stage_hash(context.config, Stage::kTrain), PublicFile(release_file),
                       context.out};
  if (!is_done(context.comm, work)) {
    const model::GeneratorSettings& generator = context.config.model.chosen();
    if (const auto* network = generator.network()) {
      train_network(context, *network, release_file, file, work.settings);
    } else {
      train::fit_closed_form(context.comm, release_file, file, *generator.closed_form(), work.settings);
    }
    mark_done(context.comm, work, {kModelFile});
    spdlog::info("train: {}", file.string());
    report_rules(context, file);
  }
  // Not before the stage counts as done, or a job that ends in between has nothing to go on from. They lie on
  // the host of the first rank that trained.
  train::CheckpointSlots(context.out).remove();
  end_stage(context, Stage::kTrain, "train", file, [&] { return model::load_model_info(file).is_private; });
}

}  // namespace muffle::app
