#include "table_numbers_twin.hpp"

#include "by_class.hpp"
#include "muffle/core/error.hpp"

namespace muffle::model {

using torch::Tensor;

Tensor TableNumbersTwin::class_sums(const Tensor& x, const Tensor& labels) const {
  require(x.dim() == 2 && x.size(1) == as_int(layout_.width()),
          "records are not relaxed as the twin of a table's numbers takes them: this is a bug in muffle.");
  const std::int64_t numbers = as_int(layout_.numbers.size());
  std::vector<Tensor> columns = x.narrow(1, 0, numbers).split(1, 1);
  for (const features::MixedLayout::Category& category : layout_.categories) {
    if (!category.presence) continue;
    for (std::size_t j = 0; j < layout_.numbers.size(); ++j) {
      if (layout_.numbers[j].column != category.column) continue;
      const Tensor there = x.narrow(1, numbers + as_int(category.first), 1),
                   missing = x.narrow(1, numbers + as_int(category.first) + 1, 1);
      columns[j] = there * columns[j] + missing * features::MixedLayout::kMissingNumber;
    }
  }
  return inner_->class_sums(torch::cat(columns, 1), labels);
}

TwinKind table_numbers_twin(std::string_view kind) {
  return {.name = kind,
          .make = [](const features::FeatureMap& map, const TwinPlace& place) -> std::unique_ptr<MapTwin> {
            return std::make_unique<TableNumbersTwin>(dynamic_cast<const features::TableNumbersMap&>(map),
                                                      place);
          }};
}

}  // namespace muffle::model
