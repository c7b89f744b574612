#include "pair_graph_gibbs.hpp"

namespace muffle::model {
namespace {

/// The logarithm of what is never drawn.
constexpr float kNever = -1e30f;

}  // namespace

GibbsLaw::GibbsLaw(const std::vector<std::size_t>& codes, const PairGraphLaw& law) {
  for (const std::size_t k : codes) {
    Column column;
    column.codes = k;
    column.padded = (k + kPacket - 1) / kPacket * kPacket;
    most_padded_ = std::max(most_padded_, column.padded);
    columns_.push_back(std::move(column));
  }
  for (const PairGraphLaw::Pair& pair : law.pairs) {
    for (const auto& [to, from] : {std::pair(pair.first, pair.second), std::pair(pair.second, pair.first)}) {
      Column& column = columns_[to];
      column.partners.push_back({from, column.interactions.size()});
      column.interactions.resize(column.interactions.size() + codes[from] * column.padded);
    }
  }
  for (const PairGraphLaw::Branch& branch : law.tree) {
    Branch& made = tree_.emplace_back(Branch{branch.column, branch.parent, branch.given});
    const std::size_t k = codes[branch.column];
    for (std::size_t at = 0; at < made.bounds.size(); ++at) {
      if (at % k > 0) made.bounds[at] += made.bounds[at - 1];
    }
  }
  set_parameters(law);
}

void GibbsLaw::set_parameters(const PairGraphLaw& law) {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    columns_[j].field.assign(columns_[j].padded, kNever);
    std::copy(law.field[j].begin(), law.field[j].end(), columns_[j].field.begin());
  }
  std::vector<std::size_t> next(columns_.size());
  for (const PairGraphLaw::Pair& pair : law.pairs) {
    Column &a = columns_[pair.first], &b = columns_[pair.second];
    float* const to_a = a.interactions.data() + a.partners[next[pair.first]++].offset;
    float* const to_b = b.interactions.data() + b.partners[next[pair.second]++].offset;
    for (std::size_t x = 0; x < a.codes; ++x) {
      for (std::size_t y = 0; y < b.codes; ++y)
        to_a[y * a.padded + x] = to_b[x * b.padded + y] = pair.interaction[x * b.codes + y];
    }
  }
}

void GibbsLaw::draw_tree(const double* uniforms, std::uint32_t* record) const {
  for (std::size_t b = 0; b < tree_.size(); ++b) {
    const Branch& branch = tree_[b];
    const std::size_t k = columns_[branch.column].codes;
    const std::size_t row = branch.parent == branch.column ? 0 : record[branch.parent];
    const float* const bounds = branch.bounds.data() + row * k;
    const float place = static_cast<float>(uniforms[b]) * bounds[k - 1];
    record[branch.column] =
        static_cast<std::uint32_t>(std::upper_bound(bounds, bounds + k - 1, place) - bounds);
  }
}

}  // namespace muffle::model
