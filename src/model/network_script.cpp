// Networks in TorchScript. Each line does what the line of C++ that it stands beside does: the interpreter
// calls the same kernels in the same order, and the results are the same bits.
#include <fmt/format.h>

#include "muffle/core/philox.hpp"
#include "network.hpp"

namespace muffle::model {

std::string ClosedFormTensors::script() const {
  std::string out = fmt::format(R"(
def from_closed_form(self, code: Tensor, labels: Tensor) -> Tensor:
    e = code.narrow(1, 0, {0})
    plain = code.narrow(1, {0}, 1) < {1:.17e}
    g = torch.zeros_like(e)
    for c in range({2}):
        own = torch.nonzero(labels == c).squeeze(1)
        if own.numel() > 0:
            g.index_copy_(0, own, e.index_select(0, own).mm(self.closed_form.factor[c].t()))
)",
                                coefficients_, plain_share_, factor_.size(0));
  if (side_ > 0) {
    out += fmt::format(R"(
    u = (g * self.closed_form.unweight).view([e.size(0), {0}, {1}, {1}])
    g = torch.matmul(self.closed_form.rows.t(), torch.matmul(u, self.closed_form.columns))
    g = g.reshape([e.size(0), {2}])
)",
                       channels_, side_, channels_ * height_ * width_);
  }
  return out + R"(
    location = self.closed_form.location.index_select(0, labels)
    kept = location + self.closed_form.stretch.index_select(0, labels) * g
    return torch.where(plain, self.closed_form.centre.index_select(0, labels) + g, kept)
)";
}

std::string BaseGenerator::normed_script(const std::string& x, const std::string& layer,
                                         const std::string& norm) {
  return fmt::format(
      "self.normed(torch.linear({}, self.{}.weight), self.{}.weight, self.{}.bias, self.{}.running_mean, "
      "self.{}.running_var)",
      x, layer, norm, norm, norm, norm);
}

std::string BaseGenerator::codes_script() const {
  return R"(
def codes(self, seed: int, first: int, n: int) -> Tensor:
    return self.base_codes(seed, first, n)
)";
}

std::string BaseGenerator::script() const {
  constexpr int kLatent = static_cast<int>(Stream::kSampleLatent);
  std::string out = fmt::format(R"(
def base_codes(self, seed: int, first: int, n: int) -> Tensor:
    z = self.normal({0}, 0, seed, first * {1}, n * {1}).to({2}).view([n, {1}])
)",
                                kLatent, code_, kScriptFloat32);
  if (base_) {
    out += fmt::format(
        "    coin = self.uniform({}, {}, seed, first, n).to({}).view([n, 1])\n"
        "    return torch.cat([z, coin], 1)\n",
        kLatent, moments::kCoinSubstream, kScriptFloat32);
  } else {
    out += "    return z\n";
  }
  out += fmt::format(R"(
def normed(self, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    scale = weight * (variance + {0:.17e}).rsqrt()
    return x * scale + (bias - mean * scale)

def hidden(self, code: Tensor, labels: Tensor) -> Tensor:
    one_hot = torch.zeros([labels.size(0), {1}], dtype={2}, device=code.device)
    one_hot = one_hot.scatter_(1, labels.unsqueeze(1), 1.0)
    h = torch.cat([code.narrow(1, 0, {3}), one_hot], 1)
)",
                     SyncBatchNorm::kEps, classes_, kScriptFloat32, code_);
  for (std::size_t i = 0; i < linear_.size(); ++i)
    out += fmt::format("    h = torch.relu({})\n",
                       normed_script("h", fmt::format("hidden{}", i), fmt::format("norm{}", i)));
  out += "    return h\n";
  if (base_) out += base_->script();
  out += fmt::format(
      R"(
def records(self, last: Tensor, code: Tensor, labels: Tensor) -> Tensor:
    return {}
)",
      base_ ? "(self.from_closed_form(code, labels) + last).clamp(0.0, 1.0)" : "torch.sigmoid(last)");
  return out + codes_script() + draw_script();
}

}  // namespace muffle::model
