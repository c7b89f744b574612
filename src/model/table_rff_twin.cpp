#include <torch/torch.h>

#include "table_numbers_twin.hpp"

namespace muffle::model {

TwinKind table_rff_twin() { return table_numbers_twin("table-rff"); }

}  // namespace muffle::model
