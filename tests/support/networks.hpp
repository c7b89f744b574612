#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/maps.hpp"

// Small TorchScript networks with manifests, made by the test itself.
namespace muffle::test {

/// What a network file is made of; the defaults are a good one: two layers of images of 3 x 8 x 8, no output
/// negative, smooth.
struct NetworkFile {
  /// Of `def forward(self, x):`, with self.w (4 x 3 x 3 x 3), self.v (5 x 4 x 3 x 3), self.b (5) at hand.
  std::string body =
      "    a = torch.sigmoid(torch.conv2d(x, self.w, None, [1, 1], [1, 1]))\n"
      "    b = torch.sigmoid(torch.conv2d(torch.avg_pool2d(a, [2, 2]), self.v, self.b, [1, 1], [1, 1]))\n"
      "    return [a, b]\n";
  std::string license = "MIT";
  std::string order = "rgb";
  std::string signs = "non-negative";
  std::string layers =
      R"([{"name": "first", "channels": 4, "height": 8, "width": 8}, {"name": "second", "channels": 5, "height": 4, "width": 4}])";
  std::string forked =
      {};  ///< body of `def side(self, x):`, which forward() runs in the background; empty: none
  bool keeps_in_constant = false;  ///< forward() adds the mean of its images to a constant, and that to them
  int side = 8;                    ///< height and width of its images
  std::string manifest = {};       ///< all of it; empty: made of the above; "none": the file has no manifest
};

/// Writes it. @returns the path.
std::filesystem::path write_network(const std::filesystem::path& path, const NetworkFile& network = {});

/// A good one, made once a process. @param signed_outputs  some are negative
std::string small_network(bool signed_outputs = false);

}  // namespace muffle::test
