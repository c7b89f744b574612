#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/features/mixed.hpp"
#include "network.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// Substream of Stream::kSampleLatent, beside those of codes and of closed forms.
constexpr std::uint32_t kEntriesSubstream = 16;

/// forward() makes relaxed records (features::MixedLayout): a sigmoid for each number, a softmax for each
/// category. draw() makes rows of them: a category is drawn with its probabilities, so that its expected
/// one-hot entries are the very ones that training saw.
class Tabular : public BaseGenerator {
 public:
  Tabular(const NetworkSettings& settings, const schema::Schema& schema, std::uint64_t seed,
          std::shared_ptr<TensorCollective> collective)
      : BaseGenerator(settings, schema, seed, std::move(collective)),
        layout_(*schema.table),
        latent_(as_int(settings.code)),
        out_(add_linear("out", width_, as_int(layout_.width()))) {
    if (!layout_.numbers.empty()) sizes_.push_back(as_int(layout_.numbers.size()));
    for (const features::MixedLayout::Category& category : layout_.categories)
      sizes_.push_back(as_int(category.entries));
  }

  Tensor forward(const Tensor& code, const Tensor& labels) override {
    std::vector<Tensor> parts = out_->forward(hidden(code, labels)).split_with_sizes(sizes_, 1);
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = i == 0 && !layout_.numbers.empty() ? torch::sigmoid(parts[i]) : torch::softmax(parts[i], 1);
    return torch::cat(parts, 1);
  }

  /// Beside the latent code, a uniform number for each category when it is not for training.
  Tensor codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
               std::size_t n) const override {
    const Tensor latent = BaseGenerator::codes(seed, training, substream, first, n);
    if (training || layout_.categories.empty()) return latent;
    const CounterStream stream(seed, Stream::kSampleLatent, substream + kEntriesSubstream);
    const std::size_t k = layout_.categories.size();
    Tensor uniform = torch::empty({as_int(n), as_int(k)});
    float* const out = uniform.data_ptr<float>();
    for (std::size_t i = 0; i < n * k; ++i) out[i] = static_cast<float>(stream.uniform(first * k + i));
    return torch::cat({latent, uniform}, 1);
  }

  Tensor draw(const Tensor& code, const Tensor& labels) override {
    const Tensor relaxed = forward(code, labels).to(torch::kCPU, torch::kFloat32).contiguous();
    const Tensor uniform = code.narrow(1, latent_, as_int(layout_.categories.size()))
                               .to(torch::kCPU, torch::kFloat32)
                               .contiguous();
    Tensor records = torch::empty({relaxed.size(0), as_int(layout_.dims)});
    for (std::int64_t i = 0; i < relaxed.size(0); ++i) {
      draw_row(relaxed.data_ptr<float>() + i * relaxed.size(1),
               uniform.data_ptr<float>() + i * uniform.size(1),
               records.data_ptr<float>() + i * records.size(1));
    }
    return records;
  }

 private:
  std::string codes_script() const override {
    if (layout_.categories.empty()) return BaseGenerator::codes_script();
    return fmt::format(R"(
def codes(self, seed: int, first: int, n: int) -> Tensor:
    latent = self.base_codes(seed, first, n)
    uniform = self.uniform({0}, {1}, seed, first * {2}, n * {2}).to({3}).view([n, {2}])
    return torch.cat([latent, uniform], 1)
)",
                       static_cast<int>(Stream::kSampleLatent), kEntriesSubstream, layout_.categories.size(),
                       kScriptFloat32);
  }

  /// draw_row(), column by column.
  std::string draw_script() const override {
    std::string out = fmt::format(R"(
def position(self, code: Tensor, fraction: Tensor, codes: int) -> Tensor:
    margin = float(codes) * {0:.17e}
    within = fraction.to({1}).to({2}).clamp(margin, 1.0 - margin)
    return ((code.to({2}) + within) / float(codes)).to({1})

def number(self, x: Tensor, codes: int, knots: List[float]) -> Tensor:
    edges = self.doubles(knots)
    inside = x.to({2}).clamp(0.0, 1.0).contiguous()
    bin = torch.searchsorted(edges.narrow(0, 1, len(knots) - 2).contiguous(), inside, right=True)
    start = edges.index_select(0, bin)
    return self.position(bin, (inside - start) / (edges.index_select(0, bin + 1) - start), codes)

def entry(self, p: Tensor, uniform: Tensor) -> Tensor:
    entries = p.size(1)
    left = uniform
    code = torch.full_like(left, entries - 1, dtype={3})
    for k in range(entries - 1):
        left = left - p.select(1, k)
        code = torch.where((left < 0.0) & (code == entries - 1), torch.full_like(code, k), code)
    return code

def draw(self, code: Tensor, labels: Tensor) -> Tensor:
    x = torch.linear(self.hidden(code, labels), self.out.weight, self.out.bias)
    out = torch.empty([x.size(0), {4}])
)",
                                  0x1p-23, kScriptFloat32, kScriptFloat64, kScriptInt64, layout_.dims);
    const std::size_t numbers = layout_.numbers.size();
    if (numbers > 0) out += fmt::format("    numbers = torch.sigmoid(x.narrow(1, 0, {})).cpu()\n", numbers);
    for (std::size_t j = 0; j < numbers; ++j) {
      const features::MixedLayout::Number& number = layout_.numbers[j];
      out += fmt::format("    out.select(1, {}).copy_(self.number(numbers.select(1, {}), {}, [{:.17e}]))\n",
                         number.column, j, number.codes, fmt::join(number.knots, ", "));
    }
    for (std::size_t c = 0; c < layout_.categories.size(); ++c) {
      const features::MixedLayout::Category& category = layout_.categories[c];
      out += fmt::format(
          "    entry = self.entry(torch.softmax(x.narrow(1, {}, {}), 1).cpu(), code.select(1, {}).cpu())\n"
          "    half = torch.full_like(entry, 0.5, dtype={})\n",
          numbers + category.first, category.entries, as_int(c) + latent_, kScriptFloat64);
      if (category.presence) {
        out += fmt::format(
            "    missing = self.position(torch.full_like(entry, {0}), half, {1})\n"
            "    out.select(1, {2}).copy_(torch.where(entry == 0, out.select(1, {2}), missing))\n",
            category.codes - 1, category.codes, category.column);
      } else {
        out += fmt::format("    out.select(1, {}).copy_(self.position(entry, half, {}))\n", category.column,
                           category.codes);
      }
    }
    return out + "    return out\n";
  }

  void draw_row(const float* relaxed, const float* uniform, float* record) const {
    for (std::size_t j = 0; j < layout_.numbers.size(); ++j) {
      const features::MixedLayout::Number& number = layout_.numbers[j];
      record[number.column] = number.position(static_cast<double>(relaxed[j]));
    }
    const float* const entries = relaxed + layout_.numbers.size();
    for (std::size_t c = 0; c < layout_.categories.size(); ++c) {
      const features::MixedLayout::Category& category = layout_.categories[c];
      float left = uniform[c];
      std::uint32_t code = 0;
      for (; code + 1 < category.entries; ++code) {
        left -= entries[category.first + code];
        if (left < 0.0f) break;
      }
      if (category.presence && code == 0) continue;  // it has its number
      if (category.presence) code = static_cast<std::uint32_t>(category.codes - 1);
      record[category.column] = schema::position({code, 0.5f}, category.codes);
    }
  }

  features::MixedLayout layout_;
  std::int64_t latent_;
  torch::nn::Linear out_;
  std::vector<std::int64_t> sizes_;  ///< of the parts of a relaxed record
};

}  // namespace

NetworkKind tabular_network() { return {"tabular", build_as<NetworkSettings, Tabular>}; }

}  // namespace muffle::model
