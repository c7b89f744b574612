#include <torch/torch.h>

#include "table_numbers_twin.hpp"

namespace muffle::model {

TwinKind table_hermite_product_twin() { return table_numbers_twin("table-hermite-product"); }

}  // namespace muffle::model
