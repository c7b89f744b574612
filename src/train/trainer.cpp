#include "muffle/train/trainer.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "checkpoint_choice.hpp"
#include "checkpoint_keeper.hpp"
#include "curves.hpp"
#include "device.hpp"
#include "moments_start.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/heartbeat.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/features/gaussian_features.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/model/twin_kind.hpp"
#include "muffle/release/held_out.hpp"
#include "muffle/train/data_parallel.hpp"

namespace muffle::train {
namespace {

/// Ranks whose parameters differ by more than this have not taken the same steps.
constexpr double kMaxDisagreement = 1e-3;

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

/// One training on one rank, part by part in the order of train() below. All parts are collective.
class Training {
 public:
  Training(comm::HostComm& comm, const TrainSpec& spec, const TrainSetup& setup, int threads)
      : comm_(comm),
        spec_(spec),
        setup_(setup),
        threads_(threads),
        heartbeat_([this] { setup_.heartbeat(/*at_once=*/true); }),
        collectives_before_(comm.seconds_in_collectives()),
        use_before_(comm.collective_use()) {
    set_torch_threads(threads);
  }

  /// All parse; a problem anywhere is thrown everywhere.
  void read_release(const std::string& bytes, const std::string& name) {
    comm::agree(comm_, "checking the release", true, [&] {
      release_ = release::parse_artifact(bytes, name);
      release_hash_ = to_hex(sha256(PublicBytes(bytes)));
      features::find_assets(release_.maps, setup_.assets);
      class_share_ = release::class_share(release_);
    });
  }

  void choose_device() {
    placement_ = place(comm_, setup_);
    if (!comm_.is_root()) return;
    spdlog::info("train: {} rank(s) on {}", comm_.size(),
                 placement_.device.is_cuda() ? "GPUs" : fmt::format("CPUs, {} thread(s) each", threads_));
  }

  void build(const model::NetworkSettings& architecture) {
    heartbeat_();
    comm::agree(comm_, "building the generator", true, [&] {
      settings::Problems problems;
      relaxed_problems(architecture, release_.maps, spec_, problems);
      choice_problems(spec_, release_.maps, problems);
      kernel_problems(spec_, release_.maps, problems);
      minibatch_problems(spec_, release_.maps, problems);
      if (spec_.match_records && (release_.is_private || !release_.without_noise))
        problems.add(
            "train.match = \"records\" trains on the records themselves, and the release has noise: a model "
            "that is made of it must not have seen them");
      problems.throw_if_any("the network cannot be trained on this release");
      target_ = release::make_target(release_);
      hold_out();
    });
    if (spec_.from_moments) start_.emplace(comm_, release_, architecture, spec_, placement_, heartbeat_);
    comm::agree(comm_, "building the generator", true, [&] {
      network_ = (start_ ? start_->network() : architecture).clone();
      training_.emplace(*network_->network(), release_.schema, spec_, start_ ? start_->problem() : problem(),
                        placement_.collective);
      if (start_) start_->install(*training_->generator());
      if (spec_.choose_every > 0)
        nearest_.emplace(judges(), class_share_, release_.schema, *network_, spec_, placement_, heartbeat_);
      // One graph replays one target.
      if (setup_.cuda_graph && !features::minibatches_in(release_.maps)) training_->use_graph();
    });
  }

  /// All steps, from the newest checkpoint on, and looks for the nearest state on the way. @throws
  /// StoppedError.
  void take_steps(const std::filesystem::path& model_file, const std::string& train_hash) {
    CheckpointKeeper checkpoints(comm_, model_file, spec_, train_hash, release_hash_, release_.is_private,
                                 nearest_ ? &*nearest_ : nullptr);
    checkpoints.resume(*training_, report_);
    heartbeat_();
    Curves curves(model_file, comm_, *placement_.collective, spec_, report_.resumed_at,
                  release_.adjacency == privacy::Adjacency::kReplaceOne);
    try {
      step_to_the_end(checkpoints, curves);
    } catch (const comm::StoppedError&) {
      tell_use();
      throw;
    }
  }

  /// Of the states that were looked at, the nearest.
  void choose_checkpoint() {
    if (!nearest_) return;
    nearest_->take(*training_->generator());
    report_.chosen = CheckpointChosen{nearest_->step(), nearest_->distance(), last_distance_};
  }

  void take_statistics() {
    heartbeat_();
    final_loss_ = training_->take_statistics(statistics_batch(*network_, release_.schema, spec_));
    heartbeat_();
    const double disagreement = training_->disagreement();
    require(disagreement <= kMaxDisagreement,
            fmt::format("the ranks' parameters differ by {:.3g} (relative) after {} steps, so they did not "
                        "take the same steps: run all ranks on the same kind of processor and build",
                        disagreement, spec_.steps));
  }

  /// Of a training that started from the closed form: which of the two models is kept.
  void choose_model() {
    if (start_) {
      report_.choice = start_->choose(*training_->generator());
      if (spec_.keep_trained) {
        if (comm_.is_root())
          spdlog::info("train: the proxy's choice is the {}, but train.keep = \"trained\"",
                       report_.choice->trained ? "trained model" : "closed form");
        report_.choice->trained = true;
      }
    }
    placement_.collective->finish();
    heartbeat_();
  }

  void write(const std::filesystem::path& model_file, const std::string& train_hash) {
    comm::agree(comm_, "writing the model", true, [&] {
      if (!comm_.is_root()) return;
      const bool closed_form = report_.choice && !report_.choice->trained;
      const model::ModelInfo info{closed_form ? model::settings_of(start_->closed_form()) : network_,
                                  release_.schema,
                                  class_share_,
                                  release_hash_,
                                  train_hash,
                                  release_.is_private,
                                  release::noisy_counts(release_).has_value(),
                                  report_.choice,
                                  report_.curve};
      model::save_model(model_file, info,
                        closed_form ? model::content_of(start_->closed_form())
                                    : model::content_of(*training_->generator()));
    });
  }

  TrainReport report() {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time_).count();
    tell_use();
    if (!comm_.is_root()) return report_;
    if (const auto& c = report_.choice) {
      spdlog::info(
          "train: the {} is kept: squared distance to the proxy {:.4g} in closed form (known to {:.2g}, one "
          "standard deviation), {:.4g} after the training; their difference is known to {:.2g}",
          c->trained ? "trained model" : "closed form", c->closed_form, c->closed_form_deviation,
          c->after_training, c->deviation);
    }
    if (const auto& c = report_.chosen) {
      spdlog::info(
          "train: the model after step {} of {} is nearest to {}: squared distance {:.4g}, of the last one "
          "{:.4g}",
          c->step, spec_.steps, judge(), c->distance, c->last_distance);
    }
    const std::vector<comm::CollectiveUse> on_gpus = placement_.collective->use();
    spdlog::info("train: {} steps in {:.1f} s ({}), loss {:.5g} -> {:.5g}, as sampled {:.5g}",
                 spec_.steps - report_.resumed_at, seconds,
                 on_gpus.empty() ? fmt::format("{:.1f} s in collectives",
                                               comm_.seconds_in_collectives() - collectives_before_)
                                 : time_on_gpus(on_gpus),
                 report_.first_loss, report_.last_loss, final_loss_);
    return report_;
  }

 private:
  /// Of a release without a proxy: what is trained on takes the release's place.
  void hold_out() {
    if (spec_.choose_every == 0 || release_.proxy()) return;
    held_out_ = release::hold_out(release_, spec_.seed);
    if (comm_.is_root() && !release_.without_noise)
      spdlog::info(
          "train: the release has no proxy: its numbers are trained on with {:.3g} times their noise, and "
          "once more, with independent noise, {:.3g} times theirs, they choose the model",
          std::sqrt(release::kTrainedNoise), std::sqrt(release::kHeldOutNoise));
  }

  /// What the states of a training are judged by.
  const char* judge() const { return held_out_ ? "what is held out of the release" : "the proxy"; }
  std::vector<Matching> judges() {
    if (!held_out_) return {match_map(release_, *release_.proxy(), target_, placement_.device).matching};
    std::swap(release_.values, *held_out_);
    std::vector<Matching> out = matchings(release_.without_noise ? 0.0 : release::kHeldOutNoise);
    std::swap(release_.values, *held_out_);
    std::vector<std::int64_t>().swap(*held_out_);  // from here on it is in `out`
    for (Matching& map : out) {
      // Of minibatches their mean is looked at.
      map.noise_square /= static_cast<double>(std::max<std::size_t>(1, map.minibatches.size()));
      map.minibatches.clear();
    }
    return out;
  }

  /// The maps that are trained on, as release_ has them. @param noise  times its variance
  std::vector<Matching> matchings(double noise) const {
    std::vector<Matching> out;
    for (const std::size_t b : matched_maps(release_.maps, /*from_moments=*/false)) {
      Matching map = match_map(release_, b, target_, placement_.device).matching;
      for (double& w : map.weights) w *= loss_weight(spec_, release_.maps[b]);
      map.noise_square *= noise;
      out.push_back(std::move(map));
    }
    return out;
  }

  /// The maps as they were released.
  Problem problem() const {
    Problem problem{{}, class_share_, placement_.device};
    settings::Problems problems;
    loss_weight_problems(spec_, release_.maps, problems);
    if (!problems.empty()) throw ConfigError(fmt::format("{}.", fmt::join(problems.take(), "; ")));
    const std::vector<std::size_t> matched = matched_maps(release_.maps, /*from_moments=*/false);
    if (spec_.match_records) {
      problem.records = records_to_match(matched);
    } else {
      problem.maps = matchings(held_out_ && !release_.without_noise ? release::kTrainedNoise : 1.0);
    }
    if (matched.empty()) {
      throw ConfigError(
          fmt::format("training a network needs a release with a feature map that it can be trained on, and "
                      "this one has none: release one with kind = {}",
                      model::trainable_maps()));
    }
    return problem;
  }

  /// The records in place of their sums, with the kernels and weights of these maps.
  RecordsToMatch records_to_match(const std::vector<std::size_t>& maps) const {
    require(setup_.records != nullptr && !setup_.records->labels.empty(),
            "a training on records was given none: this is a bug in muffle.");
    RecordsToMatch out;
    for (const std::size_t b : maps) {
      const features::NamedMap& map = release_.maps[b];
      std::vector<double> weights = map.labelled ? target_.column_weight : std::vector<double>{1.0};
      for (double& w : weights) w *= w * loss_weight(spec_, map);
      out.kernels.push_back({features::gaussian_features(*map.map)->length_scale(), std::move(weights)});
    }
    const auto dims = static_cast<std::int64_t>(release_.schema.dims());
    out.x = torch::tensor(setup_.records->x, torch::kFloat32).view({-1, dims}).to(placement_.device);
    out.labels = torch::tensor(setup_.records->labels, torch::kInt64).to(placement_.device);
    return out;
  }

  void step_to_the_end(CheckpointKeeper& checkpoints, Curves& curves) {
    Progress progress("train", spec_.steps, "steps", comm_.is_root(), training_->steps_done());
    const std::uint64_t log_every = std::max<std::uint64_t>(1, spec_.steps / 10);
    spdlog::debug("train: steps begin");
    bool stop_heard = false;
    while (true) {
      look_if_due(curves);
      if (training_->steps_done() >= spec_.steps) return;
      const bool first = training_->steps_done() == 0;
      const bool told = stop_heard || comm::termination_requested();
      // The wish to stop travels in the step's own sum: it is to cut short neither that nor the wait for
      // root, which may be long over a checkpoint.
      const comm::TerminationHold hold;
      report_.last_loss = training_->step(told);
      if (first) report_.first_loss = report_.last_loss;
      const std::uint64_t done = training_->steps_done();
      curves.add(done, report_.last_loss, training_->learning_rate());
      note(report_.curve.loss, done, spec_.steps, {done, report_.last_loss});
      progress.update(done, fmt::format("loss {:.5g}", report_.last_loss));
      if (done % log_every == 0) spdlog::debug("train: step {} loss {:.6g}", done, report_.last_loss);
      if (training_->stop_agreed()) checkpoints.stop(*training_, report_);
      checkpoints.save_if_due(*training_, report_);
      named_step("train.step");
      stop_heard = setup_.heartbeat();
    }
  }

  /// Of `all` points some two hundred: model.mfl and the checkpoints hold them.
  static void note(std::vector<model::TrainingCurve::Point>& points, std::uint64_t number, std::uint64_t all,
                   const model::TrainingCurve::Point& point) {
    constexpr std::uint64_t kPoints = 200;
    if (number % std::max<std::uint64_t>(1, all / kPoints) == 0 && std::isfinite(point.value))
      points.push_back(point);
  }

  /// Before a step rather than after one: a checkpoint of a step is of the time before it was looked at,
  /// whether the training is stopped there or goes on.
  void look_if_due(Curves& curves) {
    const std::uint64_t done = training_->steps_done();
    if (!nearest_ || !nearest_->due(done)) return;
    const comm::TerminationHold hold;
    last_distance_ = nearest_->look(*training_);
    curves.add_choice(done, last_distance_);
    note(report_.curve.to_proxy, done / spec_.choose_every, spec_.steps / spec_.choose_every,
         {done, last_distance_});
    if (comm_.is_root())
      spdlog::info("train: after step {}: squared distance to {} {:.6g}, the nearest {:.6g} (step {})", done,
                   judge(), last_distance_, nearest_->distance(), nearest_->step());
  }

  void tell_use() const {
    std::vector<comm::CollectiveUse> used = comm_.collective_use();
    const std::vector<comm::CollectiveUse> on_gpus = placement_.collective->use();
    used.insert(used.end(), on_gpus.begin(), on_gpus.end());
    spdlog::log(comm_.is_root() ? spdlog::level::info : spdlog::level::debug,
                "train: collectives of rank {}: {}", comm_.rank(), comm::describe_use(use_before_, used));
  }

  comm::HostComm& comm_;
  const TrainSpec& spec_;
  const TrainSetup& setup_;
  int threads_;
  /// Ranks that wait are met around all that is no step, too: each part of it has the whole deadline.
  Heartbeat heartbeat_;
  std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
  double collectives_before_;
  std::vector<comm::CollectiveUse> use_before_;
  release::Artifact release_;  ///< or what of it is trained on: hold_out()
  std::string release_hash_;   ///< SHA-256 of the file, hex
  std::vector<double> class_share_;
  release::Target target_;
  std::optional<std::vector<std::int64_t>> held_out_;  ///< there if it judges; the numbers until judges()
  Placement placement_;
  std::optional<MomentsStart> start_;
  std::shared_ptr<const model::GeneratorSettings> network_;  ///< that is trained
  std::optional<DataParallel> training_;
  std::optional<CheckpointChoice> nearest_;  ///< of train.choose_every
  double last_distance_ = 0;                 ///< to what judges it, of the last state
  double final_loss_ = 0;                    ///< the loss as sampled
  TrainReport report_;
};

}  // namespace

TrainReport train(comm::HostComm& comm, const std::string& release_bytes, const std::string& release_name,
                  const std::filesystem::path& model_file, const model::NetworkSettings& architecture,
                  const TrainSpec& spec, const std::string& train_hash, int threads,
                  const TrainSetup& setup) {
  Training training(comm, spec, setup, threads);
  training.read_release(release_bytes, release_name);
  training.choose_device();
  training.build(architecture);
  const FlushDenormalsOfTeam flush_denormals(threads);
  training.take_steps(model_file, train_hash);
  training.choose_checkpoint();
  training.take_statistics();
  training.choose_model();
  training.write(model_file, train_hash);
  return training.report();
}

}  // namespace muffle::train
