#include "features/map_cases.hpp"

#include <algorithm>

namespace muffle::features {

std::vector<MapCase> map_cases() {
  // With little beside u, records can have orthogonal z; 8 bits shorten z by a few percent.
  std::vector<MapCase> all{
      {"rff", "rff", {{"count", "90"}, {"length_scale", "0.05"}}, {3}, 0.75},
      {"rff_of_images",
       "rff",
       {{"count", "62"}, {"length_scale", "2.5"}, {"frequencies", "orthogonal"}, {"seed", "7"}},
       {2, 5, 6},
       0.8},
      {"rff_of_one_frequency", "rff", {{"count", "2"}, {"length_scale", "0.05"}, {"seed", "3"}}, {1}, 0.999},
      {"structured_rff", "structured-rff", {{"count", "90"}, {"length_scale", "0.05"}}, {3}, 0.7},
      {"structured_rff_of_images",
       "structured-rff",
       {{"count", "302"}, {"length_scale", "2.5"}, {"seed", "7"}},
       {2, 5, 9},
       0.7},
      {"moments_of_images", "moments", {{"offset", "0.1"}, {"coefficients", "4"}}, {1, 12, 10}, 0.98},
      {"moments_of_colours",
       "moments",
       {{"lift", "image"}, {"offset", "0.1"}, {"bits", "20"}},
       {3, 8, 8},
       0.98},
      {"moments_of_fashion_mnist", "moments", {}, {1, 28, 28}, 0.98},
      {"moments_of_vectors", "moments", {{"offset", "0.1"}}, {5}, 0.98},
      {"moments_of_8_bits", "moments", {{"lift", "vector"}, {"offset", "0.1"}, {"bits", "8"}}, {5}, 0.9},
      {"moments_of_fourier",
       "moments",
       {{"lift", "fourier"}, {"offset", "0.1"}, {"bits", "12"}, {"coefficients", "16"}},
       {2},
       0.98},
      {"moments_of_hermite",
       "moments",
       {{"lift", "hermite"}, {"offset", "0.1"}, {"coefficients", "6"}},
       {2},
       0.98},
      {"hermite_sum_of_many_orders", "hermite-sum", {{"order", "200"}, {"length_scale", "0.02"}}, {2}, 0.6},
      {"hermite_sum_of_a_stretch",
       "hermite-sum",
       {{"order", "9"}, {"length_scale", "0.4"}, {"stretch", "0.5"}},
       {2, 3, 2},
       0.2},
      {"hermite_product",
       "hermite-product",
       {{"order", "6"}, {"length_scale", "0.5"}, {"subsets", "3"}},
       {5},
       0.6},
      {"hermite_product_of_images",
       "hermite-product",
       {{"order", "3"}, {"length_scale", "0.5"}, {"columns", "3"}, {"seed", "7"}},
       {2, 4, 3},
       0.5},
      {"hermite_product_of_one_number",
       "hermite-product",
       {{"order", "12"}, {"length_scale", "0.3"}},
       {1},
       0.6},
      {"decoder_step_of_images", "decoder-step", {{"coefficients", "4"}, {"hidden", "9"}}, {1, 12, 10}, 0.7},
      {"decoder_step_of_components",
       "decoder-step",
       {{"components", "4"}, {"hidden", "9"}},
       {1, 12, 10},
       0.7},
      {"pairs", "pairs", {}, {}, 0.999, {3, 8, 2}},
      {"pairs_with_a_constant", "pairs", {}, {}, 0.92, {3, 1, 8, 2}},
      {"pairs_of_one_column", "pairs", {}, {}, 0.999, {5}},
      {"pairs_without_singles", "pairs", {{"singles", "0"}, {"leave_out", "[\"b\"]"}}, {}, 0.999, {3, 2, 4}},
      {"pairs_and_triples",
       "pairs",
       {{"triples", "[\"c:a:b\", \"b:c:d\"]"}, {"weights", "[\"a:*=2.5\", \"a:b=0\", \"a:b:c=0.5\"]"}},
       {},
       0.999,
       {3, 2, 4, 16}},
      {"table_rff",
       "table-rff",
       {{"count", "62"}, {"length_scale", "0.3"}, {"frequencies", "orthogonal"}},
       {},
       0.75,
       {4, 3, 5, 6, 2},
       4},
      {"table_rff_of_one_frequency",
       "table-rff",
       {{"count", "2"}, {"length_scale", "0.05"}, {"seed", "3"}},
       {},
       0.9,
       {4, 3},
       1},
      {"table_hermite", "table-hermite", {{"order", "12"}}, {}, 0.45, {4, 3, 5, 6, 2}, 3},
      {"table_hermite_product",
       "table-hermite-product",
       {{"order", "5"}, {"length_scale", "0.5"}},
       {},
       0.4,
       {4, 3, 5, 6, 2},
       3},
      {"one_hot", "one-hot", {}, {}, 0.999, {4, 3, 5, 6, 2}, 0},
      {"one_hot_beside_numbers", "one-hot", {}, {}, 0.999, {4, 3, 5, 6, 2}, 3},
      {"one_hot_of_a_missing_value", "one-hot", {}, {}, 0.999, {4, 3}, 2},
  };
  for (const MapKind& kind : map_kinds()) {
    const std::string name(kind.name);
    if (kind.make()->asset() != nullptr) continue;  // tests/networks
    if (std::any_of(all.begin(), all.end(), [&](const MapCase& c) { return c.kind == name; })) continue;
    const auto make = [&](const schema::Schema& schema) { test::make_map(name, {}, schema); };
    all.push_back({test::test_name(name) + "_by_default", name, {}, test::shape_for(make)});
  }
  return all;
}

std::unique_ptr<Block> test_block(const FeatureMap& map, const Lattice& lattice) {
  return map.make_block(lattice);
}

}  // namespace muffle::features
