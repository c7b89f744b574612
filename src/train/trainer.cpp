#include "muffle/train/trainer.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

#include "checkpoint_keeper.hpp"
#include "curves.hpp"
#include "device.hpp"
#include "moments_start.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/named_step.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/core/threads.hpp"
#include "muffle/features/rff.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/train/data_parallel.hpp"
#include "muffle/train/flush_denormals.hpp"

namespace muffle::train {
namespace {

/// Ranks whose parameters differ by more than this have not taken the same steps.
constexpr double kMaxDisagreement = 1e-3;

struct Release {
  release::Artifact artifact;
  std::string hash;           ///< SHA-256 of the file, hex
  torch::Tensor frequencies;  ///< (D/2) x d, CPU
};

/// All parse and rebuild the frequencies; a problem anywhere is thrown everywhere.
Release parse(comm::HostComm& comm, const std::string& bytes, const std::string& name) {
  Release release;
  comm::agree(
      comm, "checking the release",
      [&] {
        release.artifact = release::parse_artifact(bytes, name);
        release.hash = to_hex(sha256(bytes));
        const std::size_t block =
            release::require_block(release.artifact, "rff", "training a generator on random Fourier features");
        const features::RffSpec& rff = *release.artifact.blocks[block].spec.rff();
        const std::vector<float> frequencies = features::rff_frequencies(rff);
        release::check_frequencies(release.artifact, frequencies);
        release.frequencies =
            torch::tensor(frequencies, torch::kFloat32).view({-1, static_cast<std::int64_t>(rff.dims)});
      },
      /*share_message=*/true);
  return release;
}

/// The generator makes what the release is of, whatever the caller knows about the records.
model::GeneratorSpec fitted(model::GeneratorSpec generator, const release::Artifact& artifact) {
  generator.schema = artifact.schema;
  return generator;
}

/// In what NCCL did, for the log.
std::string time_on_gpus(const std::vector<comm::CollectiveUse>& uses) {
  double seconds = 0;
  bool all = true;
  for (const comm::CollectiveUse& use : uses) {
    if (use.name == model::kGpuWait) continue;
    seconds += use.timed ? use.seconds : 0.0;
    all = all && use.timed;
  }
  return fmt::format("{:.1f} s of the GPU in collectives{}", seconds,
                     all ? "" : ", those in CUDA graphs not measured");
}

void train_steps(comm::HostComm& comm, DataParallel& training, const TrainSpec& spec,
                 const comm::Detachment::Pulse& pulse, CheckpointKeeper& checkpoints, Curves& curves,
                 TrainReport& report) {
  Progress progress("train", spec.steps, "steps", comm.is_root(), training.steps_done());
  const std::uint64_t log_every = std::max<std::uint64_t>(1, spec.steps / 10);
  spdlog::debug("train: steps begin");
  bool stop_heard = false;
  while (training.steps_done() < spec.steps) {
    const bool first = training.steps_done() == 0;
    const bool told = stop_heard || comm::termination_requested();
    // The wish to stop travels in the step's own sum: it is to cut short neither that nor the wait for root,
    // which may be long over a checkpoint.
    const comm::TerminationHold hold;
    report.last_loss = training.step(told);
    if (first) report.first_loss = report.last_loss;
    const std::uint64_t done = training.steps_done();
    curves.add(done, report.last_loss, training.learning_rate());
    progress.update(done, fmt::format("loss {:.5g}", report.last_loss));
    if (done % log_every == 0) spdlog::debug("train: step {} loss {:.6g}", done, report.last_loss);
    if (training.stop_agreed()) checkpoints.stop(training, report);
    checkpoints.save_if_due(training, report);
    named_step("train.step");
    stop_heard = pulse();
  }
}

}  // namespace

void set_torch_threads(int threads) {
  set_compute_threads(threads);
  at::set_num_threads(threads);
  // May be set once a process, before torch's first parallel work; muffle runs no interop work, so later is
  // no harm.
  static const bool once = [] {
    try {
      at::set_num_interop_threads(1);
    } catch (const std::exception& e) {
      spdlog::debug("train: torch keeps its interop threads: {}", e.what());
    }
    return true;
  }();
  static_cast<void>(once);
}

TrainReport train(comm::HostComm& comm, const std::filesystem::path& release_file,
                  const std::filesystem::path& model_file, const model::GeneratorSpec& architecture,
                  const TrainSpec& spec, const std::string& train_hash, int threads) {
  std::string bytes;
  comm::agree(
      comm, "reading the release",
      [&] {
        if (comm.is_root()) bytes = read_file(release_file);
      },
      /*share_message=*/true);
  return train(comm, comm::broadcast_text(comm, bytes), release_file.string(), model_file, architecture, spec,
               train_hash, threads, TrainSetup{});
}

TrainReport train(comm::HostComm& comm, const std::string& release_bytes, const std::string& release_name,
                  const std::filesystem::path& model_file, const model::GeneratorSpec& architecture,
                  const TrainSpec& spec, const std::string& train_hash, int threads,
                  const TrainSetup& setup) {
  const auto start = std::chrono::steady_clock::now();
  const double collectives_before = comm.seconds_in_collectives();
  const std::vector<comm::CollectiveUse> use_before = comm.collective_use();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  set_torch_threads(threads);

  const Release release = parse(comm, release_bytes, release_name);
  const release::Artifact& artifact = release.artifact;
  const release::Target target = release::make_target(artifact);
  const model::GeneratorSpec generator = fitted(architecture, artifact);
  Placement placement = place(comm, setup);
  if (comm.is_root()) {
    spdlog::info("train: {} rank(s) on {}", comm.size(),
                 placement.device.is_cuda() ? "GPUs" : fmt::format("CPUs, {} thread(s) each", threads));
  }
  const torch::Tensor frequencies = release.frequencies.to(placement.device);
  // Ranks that wait are met around all that is no step, too: each part of it has the whole deadline.
  const auto meet = [&] { setup.pulse(/*at_once=*/true); };
  meet();
  std::optional<MomentsStart> start_model;
  if (spec.from_moments) start_model.emplace(comm, artifact, generator, frequencies, spec, placement, meet);
  const model::GeneratorSpec& network = start_model ? start_model->generator() : generator;
  std::optional<DataParallel> training;
  comm::agree(
      comm, "building the generator",
      [&] {
        Problem problem =
            start_model ? start_model->problem()
                        : Problem{{match_fourier(frequencies, target)}, target.class_share, placement.device};
        training.emplace(network, spec, std::move(problem), placement.collective);
        if (start_model) start_model->install(*training->generator());
        if (setup.cuda_graph) training->use_graph();
      },
      /*share_message=*/true);

  TrainReport report;
  const FlushDenormals flush_denormals(threads);
  CheckpointKeeper checkpoints(comm, model_file, spec, train_hash, release.hash);
  checkpoints.resume(*training, report);
  meet();
  Curves curves(model_file, comm, *placement.collective, spec, report.resumed_at);
  const auto tell_use = [&] {
    std::vector<comm::CollectiveUse> used = comm.collective_use();
    const std::vector<comm::CollectiveUse> on_gpus = placement.collective->use();
    used.insert(used.end(), on_gpus.begin(), on_gpus.end());
    spdlog::log(comm.is_root() ? spdlog::level::info : spdlog::level::debug,
                "train: collectives of rank {}: {}", comm.rank(), comm::describe_use(use_before, used));
  };
  try {
    train_steps(comm, *training, spec, setup.pulse, checkpoints, curves, report);
  } catch (const comm::StoppedError&) {
    tell_use();
    throw;
  }
  meet();
  const double settled = training->settle_statistics(std::max<std::uint64_t>(kSettlingBatch, spec.batch));
  meet();
  const double disagreement = training->disagreement();
  require(
      disagreement <= kMaxDisagreement,
      fmt::format(
          "the ranks' parameters differ by {:.3g} (relative) after {} steps, so they did not take the same "
          "steps: run all ranks on the same kind of processor and build",
          disagreement, spec.steps));

  if (start_model) {
    report.choice = start_model->choose(*training->generator());
    if (spec.keep_trained) {
      if (comm.is_root())
        spdlog::info("train: the proxy's choice is the {}, but train.keep = \"trained\"",
                     report.choice->trained ? "trained model" : "closed form");
      report.choice->trained = true;
    }
  }
  placement.collective->finish();
  meet();

  comm::agree(
      comm, "writing the model",
      [&] {
        if (!comm.is_root()) return;
        const model::ModelInfo info{
            network,      target.class_share,  release.hash,
            train_hash,   artifact.is_private, release::noisy_counts(artifact).has_value(),
            report.choice};
        const bool closed_form = report.choice && !report.choice->trained;
        report.model_hash = closed_form ? start_model->save(model_file, info)
                                        : model::save_model(model_file, info, *training->generator());
      },
      /*share_message=*/true);
  report.model_hash = comm::broadcast_text(comm, report.model_hash);
  report.seconds = elapsed();
  tell_use();
  const std::vector<comm::CollectiveUse> on_gpus = placement.collective->use();
  if (comm.is_root() && report.choice) {
    const model::ProxyChoice& c = *report.choice;
    spdlog::info(
        "train: the {} is kept: squared distance to the proxy {:.4g} in closed form (known to {:.2g}, one "
        "standard deviation), {:.4g} after the training; their difference is known to {:.2g}",
        c.trained ? "trained model" : "closed form", c.closed_form, c.closed_form_deviation, c.after_training,
        c.deviation);
  }
  if (comm.is_root()) {
    spdlog::info("train: {} steps in {:.1f} s ({}), loss {:.5g} -> {:.5g}, as sampled {:.5g}",
                 spec.steps - report.resumed_at, report.seconds,
                 on_gpus.empty() ? fmt::format("{:.1f} s in collectives",
                                               comm.seconds_in_collectives() - collectives_before)
                                 : time_on_gpus(on_gpus),
                 report.first_loss, report.last_loss, settled);
  }
  return report;
}

}  // namespace muffle::train
