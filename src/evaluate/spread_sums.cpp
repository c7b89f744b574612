#include "spread_sums.hpp"

#include <torch/torch.h>

#include <vector>

#include "muffle/core/error.hpp"

namespace muffle::evaluate {

using torch::Tensor;

void SpreadSums::add(const Tensor& activations) {
  const Tensor a = activations.to(torch::kFloat64);
  const Tensor sum = a.sum(0), products = torch::mm(a.t(), a);
  sum_ = n_ == 0 ? sum : sum_ + sum;
  products_ = n_ == 0 ? products : products_.add_(products);
  n_ += a.size(0);
}

Spread SpreadSums::spread() const {
  const Tensor mean = sum_ / static_cast<double>(n_);
  const Tensor covariance =
      ((products_ - torch::outer(sum_, mean)) / static_cast<double>(n_ - 1)).contiguous();
  return {Eigen::Map<const Eigen::VectorXd>(mean.data_ptr<double>(), mean.size(0)),
          Eigen::Map<const Eigen::MatrixXd>(covariance.data_ptr<double>(), mean.size(0), mean.size(0))};
}

Spread spread_of_records(const data::DataSpec& spec, const Activations& activations,
                         const Heartbeat& heartbeat) {
  constexpr std::size_t kBatch = 1000;
  const auto source = data::open_shard(spec, 0, 1);
  const auto dims = static_cast<std::int64_t>(spec.schema.dims());
  SpreadSums sums;
  data::Batch batch;
  for (source->next(kBatch, batch); batch.n > 0; source->next(kBatch, batch)) {
    beat(heartbeat);
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < batch.n; ++i) {
      if (batch.y[i] != schema::kNoClass) rows.push_back(static_cast<std::int64_t>(i));
    }
    if (rows.empty()) continue;
    const Tensor all = torch::from_blob(batch.x.data(), {static_cast<std::int64_t>(batch.n), dims});
    sums.add(activations(all.index_select(0, torch::tensor(rows, torch::kInt64))));
  }
  if (sums.records() < 2) {
    throw DataError("'" + data::resolve_path(spec, spec.features, 0) +
                    "' has no two records to compare images with: name the right files.");
  }
  return sums.spread();
}

}  // namespace muffle::evaluate
