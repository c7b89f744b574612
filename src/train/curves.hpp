#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muffle/comm/host_comm.hpp"
#include "muffle/model/collective.hpp"
#include "muffle/train/event_file.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::train {

/// Loss, learning rate, steps a second and the share of the time in collectives, for TensorBoard; root alone.
/// On GPUs, whose sums go on beside their work, the share of the time that the host waits for the GPU.
class Curves {
 public:
  /// Writes to the folder `tensorboard` beside the model; `comm` and `collective` outlive it.
  /// @param resumed_at  steps done before  @param time_is_public  EventFile's
  Curves(const std::filesystem::path& model_file, comm::HostComm& comm,
         const model::TensorCollective& collective, const TrainSpec& spec, std::uint64_t resumed_at,
         bool time_is_public)
      : comm_(comm),
        collective_(collective),
        every_(std::max<std::uint64_t>(1, spec.steps / kPoints)),
        batch_(spec.batch) {
    if (comm.is_root()) {
      file_.emplace(std::filesystem::absolute(model_file).parent_path() / "tensorboard", comm.host(),
                    time_is_public, resumed_at);
    }
  }

  /// @param distance  squared, of the model after so many steps to what judges it
  void add_choice(std::uint64_t step, double distance) {
    if (file_) file_->add(step, {{"train/squared_distance_to_proxy", distance}});
  }

  void add(std::uint64_t step, double loss, double learning_rate) {
    if (!file_ || step % every_ != 0) return;
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    const auto [tag, waited] = waiting();
    std::vector<std::pair<std::string, double>> point{{"train/loss", loss},
                                                      {"train/learning_rate", learning_rate}};
    if (last_step_ > 0 && step > last_step_ && seconds > 0) {
      const double rate = static_cast<double>(step - last_step_) / seconds;
      point.emplace_back("throughput/steps_per_s", rate);
      point.emplace_back("throughput/samples_per_s", rate * static_cast<double>(batch_));
      point.emplace_back(tag, (waited - waited_) / seconds);
    }
    file_->add(step, point);
    last_ = now;
    last_step_ = step;
    waited_ = waited;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kPoints = 1000;

  std::pair<const char*, double> waiting() const {
    for (const comm::CollectiveUse& use : collective_.use()) {
      if (use.name == model::kGpuWait) return {"throughput/share_of_time_waiting_for_the_gpu", use.seconds};
    }
    return {"throughput/share_of_time_in_collectives", comm_.seconds_in_collectives()};
  }

  comm::HostComm& comm_;
  const model::TensorCollective& collective_;
  std::uint64_t every_;
  std::size_t batch_;
  std::optional<EventFile> file_;
  Clock::time_point last_ = Clock::now();
  std::uint64_t last_step_ = 0;
  double waited_ = 0;
};

}  // namespace muffle::train
