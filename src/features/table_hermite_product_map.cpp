// DP-HP's product kernel of a table's numbers (Vinaroz et al., ICML 2022).
#include "muffle/features/mixed.hpp"

namespace muffle::features {

MapKind table_hermite_product_map() {
  return {"table-hermite-product",
          "products of Hermite features of a table's numbers, beside maps of kinds table-hermite and one-hot",
          [] { return make_table_numbers_map("table-hermite-product", "hermite-product"); }};
}

}  // namespace muffle::features
