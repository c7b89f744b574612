#pragma once

#include <torch/torch.h>

#include <memory>
#include <utility>
#include <vector>

#include "muffle/features/mixed.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::model {

/// The twin of a map of a table's numbers, `Inner` of vectors: of relaxed records. A number that may be
/// missing counts as its mean over the two cases.
class TableNumbersTwin : public MapTwin {
 public:
  TableNumbersTwin(const features::TableNumbersMap& map, const TwinPlace& place)
      : MapTwin(place, map.features()), layout_(map.layout()), inner_(make_twin(map.inner(), place)) {}

  torch::Tensor class_sums(const torch::Tensor& x, const torch::Tensor& labels) const override;
  torch::Tensor target(std::span<const std::int64_t> sums, double scale, double records) const override {
    return inner_->target(sums, scale, records);
  }
  double noise_square(std::span<const double> sigmas, double scale, double records) const override {
    return inner_->noise_square(sigmas, scale, records);
  }

 private:
  features::MixedLayout layout_;
  std::unique_ptr<MapTwin> inner_;
};

/// A line of the table for a kind of such maps.
TwinKind table_numbers_twin(std::string_view kind);

}  // namespace muffle::model
