#include "muffle/train/records_objective.hpp"

#include <torch/torch.h>

#include <utility>

#include "backward_here.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/train/settings.hpp"

namespace muffle::train {

using torch::Tensor;

namespace {

/// ||a_i - b_j||^2, n x m.
Tensor square_distances(const Tensor& a, const Tensor& b) {
  return torch::addmm(a.square().sum(1, /*keepdim=*/true) + b.square().sum(1).unsqueeze(0), a, b.t(), 1.0,
                      -2.0)
      .clamp_min(0.0);
}

/// Which of `count` records rank r of K has: its first, and the one behind its last.
std::pair<std::int64_t, std::int64_t> share_of(const model::TensorCollective& ranks, std::int64_t count) {
  return {ranks.rank() * count / ranks.size(), (ranks.rank() + 1) * count / ranks.size()};
}

}  // namespace

RecordsObjective::RecordsObjective(RecordsToMatch real, ObjectiveOptions options, std::uint64_t seed,
                                   std::shared_ptr<model::TensorCollective> collective)
    : Objective(std::move(collective)), real_(std::move(real)), options_(std::move(options)), seed_(seed) {
  require(!real_.kernels.empty() && real_.x.dim() == 2 && real_.x.size(0) > 0 &&
              real_.labels.numel() == real_.x.size(0),
          "there are no records to match, or no kernel: this is a bug in muffle.");
  require(options_.average_rate <= 0 && !options_.credible,
          "records have no noise that a training could reckon with: this is a bug in muffle.");
  for (const KernelToMatch& kernel : real_.kernels)
    weights_.push_back(torch::tensor(kernel.weights, torch::kFloat64).to(real_.x.options()));
}

RecordsObjective::Compared RecordsObjective::compare(const Tensor& x, const Tensor& labels,
                                                     std::int64_t batch, const Tensor& stop_request,
                                                     std::uint32_t substream) const {
  const std::int64_t own = x.size(0), d = x.size(1);
  const auto [first, last] = share_of(collective(), batch);
  require(own == last - first && d == real_.x.size(1) && labels.numel() == own,
          "a rank has other samples than its own, or of another size: this is a bug in muffle.");
  const torch::TensorOptions options = x.options().requires_grad(false);
  // Records and labels, which are small whole numbers, of all ranks: every place is one rank's alone.
  Tensor message = torch::zeros({batch * (d + 1) + 1}, options);
  Tensor gathered = message.narrow(0, 0, batch * (d + 1)).view({batch, d + 1});
  gathered.narrow(0, first, own).narrow(1, 0, d).copy_(x.detach());
  gathered.narrow(0, first, own).select(1, d).copy_(labels);
  message.narrow(0, batch * (d + 1), 1).copy_(stop_request);
  collective().all_reduce_sum(message);
  const Tensor all = gathered.narrow(1, 0, d), all_labels = gathered.select(1, d).round().to(torch::kInt64);

  const CounterStream stream(seed_, Stream::kShuffle, substream);
  std::vector<std::int64_t> which(static_cast<std::size_t>(batch));
  for (std::size_t i = 0; i < which.size(); ++i)
    which[i] = static_cast<std::int64_t>(stream.below(i, static_cast<std::uint64_t>(real_.x.size(0))));
  const Tensor rows = torch::tensor(which, torch::kInt64).to(real_.x.device());
  const Tensor r = real_.x.index_select(0, rows), r_labels = real_.labels.index_select(0, rows);
  const Tensor own_r = r.narrow(0, first, own), own_r_labels = r_labels.narrow(0, first, own);

  const Tensor to_all = square_distances(x, all), to_real = square_distances(x, r),
               of_real = square_distances(own_r, r);
  const auto squared = static_cast<double>(batch) * static_cast<double>(batch);
  Tensor pull = torch::zeros({}, options), loss = torch::zeros({}, options.dtype(torch::kFloat64));
  for (std::size_t k = 0; k < real_.kernels.size(); ++k) {
    const double l = real_.kernels[k].length_scale;
    const Tensor& w = weights_[k];
    const bool labelled = w.numel() > 1;
    const auto kernel = [&](const Tensor& distances, const Tensor& rows_of, const Tensor& columns_of) {
      const Tensor similar = torch::exp(distances * (-0.5 / (l * l)));
      if (!labelled) return similar * w;
      return similar * (rows_of.unsqueeze(1) == columns_of.unsqueeze(0)) *
             w.index_select(0, rows_of).unsqueeze(1);
    };
    const Tensor each_all = kernel(to_all, labels, all_labels).sum(1),
                 each_real = kernel(to_real, labels, r_labels).sum(1);
    const auto sum = [](const Tensor& t) { return t.detach().to(torch::kFloat64).sum(); };
    loss = loss +
           (sum(each_all) - 2.0 * sum(each_real) + sum(kernel(of_real, own_r_labels, r_labels))) / squared;
    Tensor factor = torch::ones({own}, options);
    if (options_.unbiased && options_.stratified && labelled) {
      const Tensor counts = torch::zeros({w.numel()}, options)
                                .index_add_(0, all_labels, torch::ones({batch}, options))
                                .index_select(0, labels);
      factor = torch::where(counts > 1.5, counts / (counts - 1.0).clamp_min(1.0), factor);
    } else if (options_.unbiased && batch > 1) {
      factor = factor * (static_cast<double>(batch) / (static_cast<double>(batch) - 1.0));
    }
    // Of pairs of generated records each is one rank's row and another's column: twice.
    pull = pull + 2.0 * ((factor * each_all).sum() - each_real.sum()) / squared;
  }
  Tensor total = loss.reshape({1});
  collective().all_reduce_sum(total);
  return {pull, torch::cat({total, message.narrow(0, batch * (d + 1), 1).to(torch::kFloat64)})};
}

Tensor RecordsObjective::enqueue_backward(const Tensor& x, const Tensor& labels, std::int64_t batch,
                                          const Tensor& stop_request) {
  const Compared c = compare(x, labels, batch, stop_request, static_cast<std::uint32_t>(steps_++));
  [[maybe_unused]] const BackwardHere here;
  c.pull.backward();
  return c.seen;
}

double RecordsObjective::loss(const Tensor& x, const Tensor& labels, std::int64_t batch) const {
  const Tensor nobody = torch::zeros({1}, x.options().requires_grad(false));
  return read(compare(x.detach(), labels, batch, nobody, kStatisticsSubstream).seen).loss;
}

}  // namespace muffle::train
