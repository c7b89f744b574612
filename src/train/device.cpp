#include "device.hpp"

namespace muffle::train {

Placement choose_placement(comm::HostComm& comm) { return {torch::kCPU, model::host_collective(comm)}; }

}  // namespace muffle::train
