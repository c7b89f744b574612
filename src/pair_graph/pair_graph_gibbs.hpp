// Drawing cells of one class's law: exactly from its tree, then by Gibbs sweeps under its log-linear law. The
// fit's chains and the sampler take the same steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/pair_graph/pair_graph.hpp"
#include "pair_graph_kernel.hpp"

namespace muffle::pair_graph {

/// Cells of records that are drawn side by side, column by column, with their random numbers: each record has
/// blocks of a stream of its own, and is the same whatever stands beside it.
class GibbsRecords {
 public:
  /// More are no faster: their codes fill the first cache.
  static constexpr std::size_t kMost = 128;

  explicit GibbsRecords(const std::vector<std::size_t>& codes);

  /// What a record takes for its tree, its sweeps and one number a column besides.
  static std::uint64_t blocks(std::size_t columns, std::size_t sweeps) {
    return (sweeps + 2) * ((columns + 3) / 4);
  }
  /// New records, at most kMost. @param random  outlives them  @param first_blocks  of each record
  void begin(const CounterStream& random, std::span<const std::uint64_t> first_blocks);

  std::size_t count() const { return count_; }
  const std::uint32_t* codes(std::size_t column) const { return codes_.data() + column * kMost; }
  /// A random number for each record and column; to be called for 0, 1, ... in turn, and from 0 again.
  const std::uint32_t* words(std::size_t column);

 private:
  friend class GibbsLaw;

  RecordLanes lanes() { return {lanes_, codes_.data(), kMost}; }

  std::size_t count_ = 0, lanes_ = 0;  ///< lanes_: in whole packets
  std::vector<std::uint32_t> codes_;   ///< d x kMost
  const CounterStream* random_ = nullptr;
  std::array<std::uint64_t, kMost> first_blocks_{};
  std::uint64_t next_block_ = 0;
  std::array<std::uint32_t, 4 * kMost> words_{};
  std::vector<FloatPacket> numbers_, shares_;  ///< the kernels' room
};

/// One class's law, laid out for drawing. Immutable but for set_parameters(): threads share it.
class GibbsLaw {
 public:
  GibbsLaw(const std::vector<std::size_t>& codes, const PairGraphLaw& law);

  std::size_t columns() const { return columns_.size(); }
  /// Takes new parameters of the same pairs.
  void set_parameters(const PairGraphLaw& law);

  /// All columns' codes, from the tree.
  void draw_tree(GibbsRecords& records) const;

  /// A column's conditional laws as a sweep has met them, the column now drawn.
  struct Met {
    std::size_t column = 0;
    const FloatPacket* shares = nullptr;  ///< records x packets of a row: probabilities of the codes
  };
  /// One Gibbs sweep, columns in their order. @param visit  may be empty
  void sweep(GibbsRecords& records, const std::function<void(const Met&)>& visit = {}) const;

  /// How often a column's codes met those of each of its partners, by what a sweep has met: sums of the
  /// conditional laws, laid out as the law's rows are.
  using Meetings = std::vector<FloatPacket>;
  Meetings no_meetings(std::size_t column) const { return Meetings(columns_[column].factors.size()); }
  void add_meetings(GibbsRecords& records, const Met& met, Meetings& to) const;
  /// Of one code and a partner's. @param partner  in the order of the law's pairs
  float meetings(const Meetings& of, std::size_t column, std::size_t partner, std::size_t code,
                 std::size_t partners_code) const;

 private:
  struct Column {
    std::size_t codes = 0, packets = 0;
    std::vector<ColumnRows::Partner> partners;
    std::vector<FloatPacket> factors, logarithms;  ///< rows: the field, then all partners'

    void make_rows(std::size_t rows);
    std::size_t rows() const { return factors.size() / packets; }
    float* factor(std::size_t row) { return factors[row * packets].lane; }
    float* logarithm(std::size_t row) { return logarithms[row * packets].lane; }
    ColumnRows view() const {
      return {codes, packets, factors.data(), logarithms.data(), partners.data(), partners.size()};
    }
  };
  /// A column given another: its first row is 0, and the others the parent's bounds. A root's first row is
  /// its own bounds.
  struct Branch {
    std::size_t column = 0;
    Column law;
  };

  std::vector<Column> columns_;
  std::vector<Branch> tree_;
};

}  // namespace muffle::pair_graph
