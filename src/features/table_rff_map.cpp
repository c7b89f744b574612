// DP-MERF's map of a table's numbers (Harder et al., AISTATS 2021, "heterogeneous data").
#include "muffle/features/mixed.hpp"

namespace muffle::features {

MapKind table_rff_map() {
  return {"table-rff",
          "random Fourier features of a table's numbers, beside a map of kind one-hot: DP-MERF for tables",
          [] { return make_table_numbers_map("table-rff", "rff"); }};
}

}  // namespace muffle::features
