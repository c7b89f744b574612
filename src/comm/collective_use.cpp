#include <fmt/format.h>

#include <algorithm>

#include "muffle/comm/host_comm.hpp"

namespace muffle::comm {

std::vector<CollectiveUse> use_between(const std::vector<CollectiveUse>& earlier,
                                       const std::vector<CollectiveUse>& later) {
  std::vector<CollectiveUse> all;
  for (CollectiveUse use : later) {
    const auto before =
        std::find_if(earlier.begin(), earlier.end(), [&](const auto& e) { return e.name == use.name; });
    if (before != earlier.end()) {
      use.calls -= before->calls;
      use.seconds -= before->seconds;
      use.bytes -= before->bytes;
    }
    if (use.calls > 0) all.push_back(use);
  }
  return all;
}

std::string describe_use(const std::vector<CollectiveUse>& earlier, const std::vector<CollectiveUse>& later) {
  std::string text;
  for (const CollectiveUse& use : use_between(earlier, later)) {
    text += fmt::format("{}{} {} calls, {}, {:.4g} MB", text.empty() ? "" : "; ", use.name, use.calls,
                        use.timed ? fmt::format("{:.3g} s", use.seconds) : "time not measured",
                        static_cast<double>(use.bytes) / 1e6);
  }
  return text.empty() ? "no collectives" : text;
}

}  // namespace muffle::comm
