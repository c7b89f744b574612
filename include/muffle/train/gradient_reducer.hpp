#pragma once

#include <torch/types.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "muffle/model/collective.hpp"

namespace muffle::train {

/// Sums all parameters' gradients over the ranks, in a few large messages. The gradients *are* the buckets:
/// each parameter's grad is a view of one, so nothing is copied. Sum, not mean: each rank's part already
/// carries 1/B of the global batch.
///
/// A bucket's sum begins during the backward pass, as soon as its last gradient is there and the buckets
/// before it have begun: the same order on every rank, whatever order the gradients come in.
class GradientReducer {
 public:
  static constexpr std::size_t kBucketBytes = std::size_t{4} << 20, kLeastBucketBytes = std::size_t{64} << 10;

  /// How large a bucket is to be, of gradients of `total` bytes: where sums overlap with the backward pass, a
  /// quarter of them within the bounds above, so that all but the last can; else as much as a message takes.
  static std::size_t bucket_bytes(std::size_t total, bool overlaps);

  /// @param parameters  on every rank the same, in order; their grads become views of the buckets.
  /// @param most_bytes  that a bucket of several parameters holds; 0: as bucket_bytes() says
  GradientReducer(std::vector<torch::Tensor> parameters, std::shared_ptr<model::TensorCollective> collective,
                  std::size_t most_bytes = 0);
  GradientReducer& operator=(GradientReducer&&) = delete;

  /// Sets all gradients to zero, before a backward pass, whose buckets will be summed. One backward pass: a
  /// second one throws InvariantError, as the sums are on their way. Not collective. (An optimizer's
  /// zero_grad() may drop them: do not call it.)
  void zero();
  /// After the backward pass: sums what that did not reach, and waits for all sums. Collective.
  /// @throws InvariantError  a gradient no longer lies in its bucket.
  void reduce();

  std::size_t buckets() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< the hooks in the graph hold it weakly
};

}  // namespace muffle::train
