#include "devices.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "muffle/networks/network_block.hpp"

#ifdef MUFFLE_CUDA
#include "muffle/comm/nccl_group.hpp"
#include "muffle/features/cuda_block.hpp"
#endif

namespace muffle::comm {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuView, host, local_rank, gpus, why_none)
}

namespace muffle::app {
namespace {

using comm::GpuChoice;
using comm::GpuView;

#ifdef MUFFLE_CUDA
std::vector<std::string> visible_gpus() { return comm::gpu_uuids(); }
constexpr const char* kNone = "CUDA sees no GPU";
#else
std::vector<std::string> visible_gpus() { return {}; }
constexpr const char* kNone = "this muffle was built without CUDA";
#endif

/// Every rank's view, by rank. Collective.
std::vector<GpuView> gather(comm::HostComm& comm, std::vector<std::string> gpus,
                            const std::string& why_none) {
  GpuView mine{comm.host(), comm.local_rank(), std::move(gpus), ""};
  if (mine.gpus.empty()) mine.why_none = why_none;
  std::vector<GpuView> all;
  for (const std::string& text : comm.all_gather(nlohmann::json(mine).dump()))
    all.push_back(nlohmann::json::parse(text).get<GpuView>());
  return all;
}

void tell(const char* stage, const std::string& who, const GpuChoice& choice) {
  spdlog::log(choice.warn ? spdlog::level::warn : spdlog::level::info, "{}: {}{}", stage, who, choice.told);
}

/// Runs a choice that every rank makes from the same facts; what it throws is thrown by all, once.
template <class Choose>
auto chosen_alike(comm::HostComm& comm, const char* what, Choose choose) {
  decltype(choose()) out;
  comm::agree(comm, what, true, [&] { out = choose(); });
  return out;
}

}  // namespace

embed::Embedder make_embedder_on_devices(comm::HostComm& comm, const Config& c, release::ReleasePlan plan) {
  embed::Embedder embedder;
  comm::agree(comm, "preparing the feature maps", true, [&] {
    embedder = embed::make_embedder(
        std::move(plan), c.party ? networks::make_plain_network_block : networks::make_network_block);
  });
  if (c.devices.embed == comm::DeviceWish::kCpu) return embedder;
  const std::vector<GpuView> views = gather(comm, visible_gpus(), kNone);
  std::vector<int> ranks(views.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  const GpuChoice choice = chosen_alike(comm, "choosing GPUs for the embedding", [&] {
    return comm::choose_gpus(views, ranks, c.devices.embed, c.devices.share_gpus, "features.device");
  });
  tell("release", "the records are embedded ", choice);
  if (!choice.on_gpus()) return embedder;
#ifdef MUFFLE_CUDA
  const int device = choice.device[static_cast<std::size_t>(comm.rank())];
  comm::agree(comm, "preparing the GPU", true, [&] {
    for (std::size_t b = 0; b < embedder.blocks.size(); ++b) {
      const features::NamedMap& map = embedder.plan.maps[b];
      if (auto block = features::make_cuda_block(*map.map, embedder.plan.lattice, device)) {
        embedder.blocks[b] = std::move(block);
      } else {
        spdlog::info("release: the map \"{}\" is embedded on the CPU: kind \"{}\" has no GPU kernels",
                     map.name, map.map->kind());
      }
    }
  });
#endif
  return embedder;
}

TrainingPlace place_training(Context& context) {
  const Config& c = context.config;
  comm::HostComm& comm = context.comm;
  const std::vector<GpuView> views =
      gather(comm, train::torch_gpus() > 0 ? visible_gpus() : std::vector<std::string>{},
             train::why_no_torch_gpus());
  TrainingPlace place;
  place.works = chosen_alike(comm, "choosing the ranks that train", [&] {
    return comm::training_ranks(c.train.ranks, views, c.devices.share_gpus);
  });
  std::vector<int> numbers;
  std::vector<GpuView> working;
  for (std::size_t r = 0; r < views.size(); ++r) {
    if (!place.works[r]) continue;
    numbers.push_back(static_cast<int>(r));
    working.push_back(views[r]);
  }
  const GpuChoice choice = chosen_alike(comm, "choosing GPUs for the training", [&] {
    return comm::choose_gpus(working, numbers, c.train.device, c.devices.share_gpus, "train.device");
  });
  const bool all = working.size() == views.size();
  tell("train", all ? "" : fmt::format("{} of {} ranks train (train.ranks), ", working.size(), views.size()),
       choice);
  const auto mine = std::find(numbers.begin(), numbers.end(), comm.rank());
  if (mine != numbers.end())
    place.setup.gpu = choice.device[static_cast<std::size_t>(mine - numbers.begin())];
  place.setup.shared_gpus = choice.shared;
  place.setup.cuda_graph = c.train.cuda_graph;
  // Shorter than the host's: a rank that fails alone is still waited for when the others speak of it.
  place.setup.device_deadline =
      std::chrono::milliseconds(std::max(1LL, static_cast<long long>(500 * c.runtime.deadline_s)));
  return place;
}

}  // namespace muffle::app
