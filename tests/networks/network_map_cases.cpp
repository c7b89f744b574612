#include "features/map_cases.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/networks/network_block.hpp"
#include "support/networks.hpp"

namespace muffle::features {

// Resized, so that larger records are still some that the network takes.
std::vector<MapCase> map_cases() {
  const std::string positive = test::small_network(), any = test::small_network(/*signed_outputs=*/true);
  return {
      {"perceptual", "perceptual", {{"network", positive}, {"resize", "bilinear"}}, {3, 8, 8}, 0.1},
      {"perceptual_of_two_moments",
       "perceptual",
       {{"network", positive}, {"resize", "bicubic"}, {"moments", "2"}, {"weights", "[\"second=3\"]"}},
       {3, 6, 7},
       0.1},
      {"perceptual_of_one_norm",
       "perceptual",
       {{"network", positive}, {"resize", "bilinear"}, {"norm", "whole"}, {"layers", "[\"second\"]"}},
       {3, 8, 8},
       0.05},
      {"perceptual_of_grey_images", "perceptual", {{"network", any}, {"resize", "bilinear"}}, {1, 8, 8}, 0.2},
      {"perceptual_pooled",
       "perceptual",
       {{"network", any}, {"resize", "bilinear"}, {"pool", "channel"}, {"moments", "2"}},
       {3, 8, 8},
       0.2},
  };
}

/// Whoever reads a release finds the files by what they are.
std::unique_ptr<Block> test_block(const FeatureMap& map, const Lattice& lattice) {
  AssetFiles files;
  for (const bool signed_outputs : {false, true}) {
    const std::string file = test::small_network(signed_outputs);
    files[sha256_file_hex(PublicFile(file))] = file;
  }
  std::vector<NamedMap> maps{test::named("map", map.clone())};
  find_assets(maps, files);
  return networks::make_network_block(*maps.front().map, lattice);
}

}  // namespace muffle::features
