#include "by_class.hpp"

#include <vector>

namespace muffle::model {

using torch::Tensor;

namespace {

Tensor indices(const Tensor& labels, std::int64_t c) { return torch::nonzero(labels == c).squeeze(1); }
Tensor masked(const Tensor& x, const Tensor& labels, std::int64_t c) {
  return x * (labels == c).to(x.scalar_type()).unsqueeze(1);
}

}  // namespace

Tensor times_own_factor(const Tensor& x, const Tensor& labels, const Tensor& factors, Rows rows) {
  Tensor out = torch::zeros_like(x);
  for (std::int64_t c = 0; c < factors.size(0); ++c) {
    if (rows == Rows::kMasked) {
      out = out + masked(x, labels, c).mm(factors[c].t());
      continue;
    }
    const Tensor own = indices(labels, c);
    if (own.numel() > 0) out.index_copy_(0, own, x.index_select(0, own).mm(factors[c].t()));
  }
  return out;
}

Tensor sums_of_squares(const Tensor& x, const Tensor& labels, std::int64_t classes, Rows rows) {
  std::vector<Tensor> sums;
  for (std::int64_t c = 0; c < classes; ++c) {
    const Tensor own = rows == Rows::kMasked ? masked(x, labels, c) : x.index_select(0, indices(labels, c));
    sums.push_back(own.t().mm(own).reshape(-1));
  }
  return torch::stack(sums);
}

}  // namespace muffle::model
