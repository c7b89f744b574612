#include "pair_graph_gibbs.hpp"

#include <algorithm>

#include "muffle/core/error.hpp"

namespace muffle::pair_graph {
namespace {

std::size_t packets_of(std::size_t codes) { return (codes + kPacket - 1) / kPacket; }

}  // namespace

GibbsRecords::GibbsRecords(const std::vector<std::size_t>& codes) : codes_(codes.size() * kMost) {
  const std::size_t most = codes.empty() ? 0 : packets_of(*std::max_element(codes.begin(), codes.end()));
  numbers_.resize(2 * most * kPacket);
}

void GibbsRecords::begin(const CounterStream& random, std::span<const std::uint64_t> first_blocks) {
  require(first_blocks.size() <= kMost, "too many records to be drawn side by side");
  random_ = &random;
  count_ = first_blocks.size();
  lanes_ = packets_of(count_) * kPacket;
  first_blocks_.fill(0);
  std::copy(first_blocks.begin(), first_blocks.end(), first_blocks_.begin());
  next_block_ = 0;
}

const std::uint32_t* GibbsRecords::words(std::size_t column) {
  if (column % 4 == 0) random_->words(std::span(first_blocks_).first(lanes_), next_block_++, words_.data());
  return words_.data() + column % 4 * lanes_;
}

void GibbsLaw::Column::make_rows(std::size_t rows) {
  packets = packets_of(codes);
  require(rows * packets < std::size_t{1} << 32, "a law with more numbers than model files hold");
  factors.resize(rows * packets);
}

GibbsLaw::GibbsLaw(const std::vector<std::size_t>& codes, const PairGraphLaw& law) {
  for (const std::size_t k : codes) columns_.emplace_back().codes = k;
  std::vector<std::size_t> rows(codes.size(), 1);
  for (const PairGraphLaw::Pair& pair : law.pairs) {
    for (const auto& [to, from] : {std::pair(pair.first, pair.second), std::pair(pair.second, pair.first)}) {
      columns_[to].partners.push_back({from, rows[to]});
      rows[to] += codes[from];
    }
  }
  for (std::size_t j = 0; j < codes.size(); ++j) {
    columns_[j].make_rows(rows[j]);
    columns_[j].logarithms.resize(columns_[j].factors.size());
  }
  set_parameters(law);
  for (const PairGraphLaw::Branch& branch : law.tree) {
    const std::size_t k = codes[branch.column], given = branch.given.size() / k;
    const bool root = branch.parent == branch.column;
    Column& bounds = tree_.emplace_back(Branch{branch.column, {}}).law;
    bounds.codes = k;
    bounds.make_rows(root ? 1 : 1 + given);
    if (!root) bounds.partners.push_back({branch.parent, 1});
    for (std::size_t y = 0; y < given; ++y) {
      float sum = 0;
      for (std::size_t x = 0; x < k; ++x) bounds.factor(root ? 0 : 1 + y)[x] = sum += branch.given[y * k + x];
    }
  }
}

void GibbsLaw::set_parameters(const PairGraphLaw& law) {
  constexpr float kLog2e = 1.44269504f;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    float* const own = columns_[j].logarithm(0);
    for (std::size_t x = 0; x < columns_[j].codes; ++x) own[x] = kLog2e * law.field[j][x];
  }
  std::vector<std::size_t> next(columns_.size());
  for (const PairGraphLaw::Pair& pair : law.pairs) {
    Column &a = columns_[pair.first], &b = columns_[pair.second];
    const std::size_t to_a = a.partners[next[pair.first]++].first_row,
                      to_b = b.partners[next[pair.second]++].first_row;
    for (std::size_t x = 0; x < a.codes; ++x) {
      for (std::size_t y = 0; y < b.codes; ++y)
        a.logarithm(to_a + y)[x] = b.logarithm(to_b + x)[y] = kLog2e * pair.interaction[x * b.codes + y];
    }
  }
  for (Column& column : columns_)
    raise_rows(column.logarithms.data(), column.rows(), column.codes, column.factors.data());
}

void GibbsLaw::draw_tree(GibbsRecords& records) const {
  for (std::size_t b = 0; b < tree_.size(); ++b)
    draw_by_bounds(tree_[b].law.view(), records.lanes(), tree_[b].column, records.words(b),
                   records.numbers_.data());
}

void GibbsLaw::sweep(GibbsRecords& records, const std::function<void(const Met&)>& visit) const {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const Column& column = columns_[j];
    FloatPacket* shares = nullptr;
    if (visit) {
      records.shares_.resize(GibbsRecords::kMost * records.numbers_.size() / (2 * kPacket));
      shares = records.shares_.data();
    }
    draw_by_factors(column.view(), records.lanes(), j, records.words(j), records.numbers_.data(), shares);
    if (visit) visit({j, shares});
  }
}

void GibbsLaw::add_meetings(GibbsRecords& records, const Met& met, Meetings& to) const {
  add_shares(columns_[met.column].view(), records.lanes(), records.count(), met.shares, to.data());
}

float GibbsLaw::meetings(const Meetings& of, std::size_t column, std::size_t partner, std::size_t code,
                         std::size_t partners_code) const {
  const Column& own = columns_[column];
  const std::size_t row = own.partners[partner].first_row + partners_code;
  return of[row * own.packets + code / kPacket].lane[code % kPacket];
}

}  // namespace muffle::pair_graph
