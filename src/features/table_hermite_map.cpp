// DP-HP's sum kernel of a table's numbers (Vinaroz et al., ICML 2022).
#include "muffle/features/mixed.hpp"

namespace muffle::features {

MapKind table_hermite_map() {
  return {"table-hermite",
          "Hermite features of each of a table's numbers, beside a map of kind one-hot: DP-HP for tables",
          [] { return make_table_numbers_map("table-hermite", "hermite-sum"); }};
}

}  // namespace muffle::features
