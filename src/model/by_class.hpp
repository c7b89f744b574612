#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>

namespace muffle::model {

/// A size as tensors take it.
inline std::int64_t as_int(std::size_t n) { return static_cast<std::int64_t>(n); }

/// How a loop over classes finds a class's rows.
enum class Rows {
  kListed,  ///< by their indices: no work for the others', but a GPU has to be waited for, to know how many
  kMasked,  ///< zeros in place of the others: C times the work, nothing to wait for, and a graph may hold it
};

inline Rows rows_on(const torch::Tensor& labels) { return labels.is_cuda() ? Rows::kMasked : Rows::kListed; }

/// Row i is F_{y_i} x_i. @param x  n x q  @param labels  n, int64  @param factors  C x q x q
torch::Tensor times_own_factor(const torch::Tensor& x, const torch::Tensor& labels,
                               const torch::Tensor& factors, Rows rows);

/// C x q^2: row c is the sum of x_i x_i^T over the rows i of class c. Differentiable in x.
torch::Tensor sums_of_squares(const torch::Tensor& x, const torch::Tensor& labels, std::int64_t classes,
                              Rows rows);

}  // namespace muffle::model
