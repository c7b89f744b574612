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
#include "muffle/train/event_file.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::train {

/// Loss, learning rate, steps a second and the share of the time in collectives, for TensorBoard; root alone.
class Curves {
 public:
  /// Writes to the folder `tensorboard` beside the model.
  Curves(const std::filesystem::path& model_file, comm::HostComm& comm, const TrainSpec& spec)
      : comm_(comm), every_(std::max<std::uint64_t>(1, spec.steps / kPoints)), batch_(spec.batch) {
    if (comm.is_root()) {
      file_.emplace(std::filesystem::absolute(model_file).parent_path() / "tensorboard", comm.host());
    }
  }

  void add(std::uint64_t step, double loss, double learning_rate) {
    if (!file_ || step % every_ != 0) return;
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    const double waited = comm_.seconds_in_collectives();
    std::vector<std::pair<std::string, double>> point{{"train/loss", loss},
                                                      {"train/learning_rate", learning_rate}};
    if (last_step_ > 0 && step > last_step_ && seconds > 0) {
      const double rate = static_cast<double>(step - last_step_) / seconds;
      point.emplace_back("throughput/steps_per_s", rate);
      point.emplace_back("throughput/samples_per_s", rate * static_cast<double>(batch_));
      point.emplace_back("throughput/share_of_time_in_collectives", (waited - waited_) / seconds);
    }
    file_->add(step, point);
    last_ = now;
    last_step_ = step;
    waited_ = waited;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kPoints = 1000;

  comm::HostComm& comm_;
  std::uint64_t every_;
  std::size_t batch_;
  std::optional<EventFile> file_;
  Clock::time_point last_ = Clock::now();
  std::uint64_t last_step_ = 0;
  double waited_ = 0;
};

}  // namespace muffle::train
