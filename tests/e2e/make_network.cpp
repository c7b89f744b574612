// make_network OUT.pt VARIANT: small public networks for tests/e2e/*perceptual_test.sh, in TorchScript with a
// manifest.
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "support/networks.hpp"

int main(int argc, char** argv) {
  using muffle::test::NetworkFile;
  const std::string one = R"([{"name": "s", "channels": 3, "height": 8, "width": 8}])";
  const NetworkFile good;
  // 296 x 32 x 32 = 303,104 numbers: as many as VGG-19's 16 convolutions make of 32 x 32 pixels.
  NetworkFile large{
      .body = "    return torch.relu(torch.conv2d(x, self.w, None, [1, 1], [1, 1]).repeat([1, 74, 1, 1]))\n",
      .layers = R"([{"name": "all", "channels": 296, "height": 32, "width": 32}])"};
  large.side = 32;
  const std::map<std::string, NetworkFile> variants{
      {"good", good},
      {"other",
       {.body = "    a = torch.sigmoid(torch.conv2d(x, self.w, None, [1, 1], [1, 1]))\n"
                "    b = torch.sigmoid(torch.conv2d(torch.max_pool2d(a, [2, 2]), self.v, self.b, [1, 1], [1, "
                "1]))\n"
                "    return [a, b]\n"}},
      {"nan", {.body = "    return [torch.log(x)]\n", .layers = one}},
      {"negative", {.body = "    return [x]\n", .layers = one}},
      {"shape", {.layers = R"([{"name": "first", "channels": 4, "height": 8, "width": 8},
                               {"name": "second", "channels": 5, "height": 4, "width": 5}])"}},
      {"keeps",
       {.body = "    self.seen = self.seen + 1.0\n    return [torch.sigmoid(x) * self.seen]\n",
        .layers = one}},
      {"branches",
       {.body = "    if bool(x.sum() > 1e9):\n      x = x * 2.0\n    return [torch.sigmoid(x)]\n",
        .layers = one}},
      {"bare", {.manifest = "none"}},
      {"large", large}};
  if (argc != 3 || !variants.contains(argv[2])) {
    std::fputs("usage: make_network OUT.pt VARIANT\n", stderr);
    return 2;
  }
  try {
    muffle::test::write_network(argv[1], variants.at(argv[2]));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
