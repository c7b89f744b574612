#include "model/by_class.hpp"

#include <gtest/gtest.h>

namespace muffle::model {
namespace {

using torch::Tensor;

/// Small whole numbers, so that sums are exact in any order.
Tensor whole(std::vector<std::int64_t> shape) { return torch::randint(-8, 9, shape).to(torch::kFloat32); }

TEST(ByClass, MaskedRowsGiveWhatListedRowsGive) {
  torch::manual_seed(1);
  const std::int64_t n = 40, q = 6, classes = 4;  // of which the last has no row
  const Tensor labels = torch::randint(0, classes - 1, {n});
  const Tensor x = whole({n, q}), factors = whole({classes, q, q});
  for (const Rows rows : {Rows::kListed, Rows::kMasked}) {
    const Tensor out = times_own_factor(x, labels, factors, rows);
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_TRUE(torch::equal(out[i], factors[labels[i].item<std::int64_t>()].mv(x[i]))) << i;

    const Tensor leaf = x.clone().requires_grad_();
    const Tensor sums = sums_of_squares(leaf, labels, classes, rows);
    Tensor expected = torch::zeros({classes, q, q});
    for (std::int64_t i = 0; i < n; ++i) expected[labels[i].item<std::int64_t>()] += torch::outer(x[i], x[i]);
    EXPECT_TRUE(torch::equal(sums.view({classes, q, q}), expected));
    sums.sum().backward();
    EXPECT_TRUE(torch::equal(leaf.grad(), 2 * x.sum(1, true).expand({n, q})));
  }
}

}  // namespace
}  // namespace muffle::model
