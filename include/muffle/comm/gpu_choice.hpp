#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muffle::comm {

/// What one rank can say of its machine's GPUs. Public.
struct GpuView {
  std::string host;
  int local_rank = 0;             ///< among the ranks of its machine (HostComm::local_rank)
  std::vector<std::string> gpus;  ///< UUIDs, by device number, of those that CUDA_VISIBLE_DEVICES shows
  std::string why_none;           ///< why there are none: "this muffle was built without CUDA"
};

/// Settings features.device and train.device.
enum class DeviceWish {
  kAuto,  ///< a GPU for each rank, or the CPU for all
  kCpu,
  kCuda,  ///< a GPU for each rank, or an error
};

/// Setting train.ranks.
struct RankWish {
  enum class Kind {
    kAll,
    kWithGpu,  ///< those that have a GPU of their own; all, if none has
    kFirst,    ///< the first `count`
  } kind = Kind::kAll;
  std::int64_t count = 0;
  bool operator==(const RankWish&) const = default;
};

/// Who gets which GPU; the same on every rank, from the same facts.
struct GpuChoice {
  std::vector<int> device;  ///< by rank; all -1: everybody computes on the CPU
  bool shared = false;      ///< two ranks were given the same GPU
  bool warn = false;        ///< told is worth a warning
  std::string told;         ///< "on CPUs: this muffle was built without CUDA"

  bool on_gpus() const { return !device.empty() && device.front() >= 0; }
};

/// All ranks compute on the same kind of device.
/// @param setting  the key that `wish` came from, for messages
/// @param numbers  what to call the ranks of `views` in messages, in their order
/// @throws ConfigError  two ranks would share a GPU and may not; kCuda: a rank has none.
GpuChoice choose_gpus(const std::vector<GpuView>& views, const std::vector<int>& numbers, DeviceWish wish,
                      bool allow_sharing, const std::string& setting);

/// By rank: does it train? At least one does.
/// @throws ConfigError  more ranks are wished for than there are.
std::vector<bool> training_ranks(const RankWish& wish, const std::vector<GpuView>& views, bool allow_sharing);

}  // namespace muffle::comm
