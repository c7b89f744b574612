#include <torch/torch.h>

#include "table_numbers_twin.hpp"

namespace muffle::model {

TwinKind table_hermite_twin() { return table_numbers_twin("table-hermite"); }

}  // namespace muffle::model
