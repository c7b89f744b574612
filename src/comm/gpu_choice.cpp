#include "muffle/comm/gpu_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "muffle/core/error.hpp"

namespace muffle::comm {
namespace {

/// Of a rank that sees GPUs: by its number among the ranks of its machine, round-robin.
int device_of(const GpuView& view) { return view.local_rank % static_cast<int>(view.gpus.size()); }

/// The UUID of the GPU that a rank would compute on; empty: it has none.
std::string gpu_of(const GpuView& view) {
  return view.gpus.empty() ? "" : view.gpus[static_cast<std::size_t>(device_of(view))];
}

/// "rank 1", "ranks 1, 2, 5 and 3 more".
std::string names(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 8;
  const std::vector<int> shown(ranks.begin(),
                               ranks.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, ranks.size())));
  return fmt::format("{} {}{}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(shown, ", "),
                     ranks.size() > kMost ? fmt::format(" and {} more", ranks.size() - kMost) : "");
}

constexpr const char* kGiveEach =
    "Give each rank one (srun --gpus-per-task=1), and look at nvidia-smi and CUDA_VISIBLE_DEVICES there";

}  // namespace

GpuChoice choose_gpus(const std::vector<GpuView>& views, const std::vector<int>& numbers, DeviceWish wish,
                      bool allow_sharing, const std::string& setting) {
  require(!views.empty() && views.size() == numbers.size(), "GPUs are chosen for at least one rank");
  GpuChoice choice;
  choice.device.assign(views.size(), -1);
  if (wish == DeviceWish::kCpu) {
    choice.told = fmt::format("on CPUs, as {} says", setting);
    return choice;
  }
  std::vector<int> without;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].gpus.empty()) without.push_back(numbers[i]);
  }
  if (!without.empty()) {
    const auto first =
        std::find_if(views.begin(), views.end(), [](const GpuView& v) { return v.gpus.empty(); });
    const std::string why = first->why_none.empty() ? "CUDA sees no GPU" : first->why_none;
    if (wish == DeviceWish::kCuda) {
      throw ConfigError(
          fmt::format("{} = \"cuda\" promises a GPU to every rank, but {} {} none (host {}: {}). {}", setting,
                      names(without), without.size() == 1 ? "has" : "have", first->host, why, kGiveEach));
    }
    choice.told = fmt::format("on CPUs: {}", why);
    if (without.size() == views.size()) return choice;
    choice.warn = true;
    choice.told =
        fmt::format("on CPUs, as {} {} no GPU (host {}: {}), though others have one. {}", names(without),
                    without.size() == 1 ? "has" : "have", first->host, why, kGiveEach);
    return choice;
  }
  std::map<std::string, std::size_t> owner;
  for (std::size_t i = 0; i < views.size(); ++i) {
    choice.device[i] = device_of(views[i]);
    const auto [first, is_new] = owner.emplace(gpu_of(views[i]), i);
    if (is_new) continue;
    choice.shared = true;
    if (allow_sharing) continue;
    throw ConfigError(
        fmt::format("{} would share one GPU (host {}, which shows {} to each): fewer GPUs than ranks. Start "
                    "at most one rank a "
                    "GPU, let only those train that have one (train.ranks = \"with-gpu\"), or allow it "
                    "(runtime.share_gpus = true)",
                    names({numbers[first->second], numbers[i]}), views[i].host, views[i].gpus.size()));
  }
  choice.told = fmt::format("on GPUs{}", choice.shared ? ", some of which are shared" : "");
  return choice;
}

std::vector<bool> training_ranks(const RankWish& wish, const std::vector<GpuView>& views,
                                 bool allow_sharing) {
  std::vector<bool> out(views.size(), true);
  if (wish.kind == RankWish::Kind::kFirst) {
    if (wish.count < 1 || wish.count > static_cast<std::int64_t>(views.size())) {
      throw ConfigError(fmt::format("train.ranks is {}, but the job has {} rank{}: start more, or lower it",
                                    wish.count, views.size(), views.size() == 1 ? "" : "s"));
    }
    std::fill(out.begin() + wish.count, out.end(), false);
  }
  if (wish.kind == RankWish::Kind::kWithGpu) {
    std::set<std::string> taken;
    for (std::size_t i = 0; i < views.size(); ++i) {
      const std::string gpu = gpu_of(views[i]);
      out[i] = !gpu.empty() && (taken.insert(gpu).second || allow_sharing);
    }
    if (std::find(out.begin(), out.end(), true) == out.end()) std::fill(out.begin(), out.end(), true);
  }
  return out;
}

}  // namespace muffle::comm
