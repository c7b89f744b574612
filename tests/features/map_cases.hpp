#pragma once

#include <memory>
#include <string>
#include <vector>

#include "muffle/features/feature_map.hpp"
#include "support/maps.hpp"

// What the conformance suite of maps runs over: those that compute by themselves (map_cases.cpp), or by a
// network (tests/networks).
namespace muffle::features {

struct MapCase {
  std::string name, kind;
  test::MapKeys settings;
  std::vector<std::size_t> shape;
  /// How much of the replace-one bound the search must reach: all of it where records can be opposite.
  double reaches = 0.5;
  std::vector<std::size_t> codes = {};  ///< of tables: each column's; then there is no shape
  std::size_t numbers = 0;              ///< of a table's first columns, as test::table_schema() has them
};
inline void PrintTo(const MapCase& c, std::ostream* out) { *out << c.name; }

/// Of every kind one at least.
std::vector<MapCase> map_cases();
/// As the product makes it.
std::unique_ptr<Block> test_block(const FeatureMap& map, const Lattice& lattice);

}  // namespace muffle::features
