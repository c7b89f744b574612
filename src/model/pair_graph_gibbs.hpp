// Drawing cells of one class's law: exactly from its tree, then by Gibbs sweeps under its log-linear law. The
// fit's chains and the sampler take the same steps.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muffle/model/pair_graph.hpp"

namespace muffle::model {

/// One class's law, laid out for drawing. Immutable: threads share it.
class GibbsLaw {
 public:
  using Weights = Eigen::Array<float, Eigen::Dynamic, 1>;
  /// Columns' codes are padded to whole ones.
  static constexpr int kPacket = 8;

  GibbsLaw(const std::vector<std::size_t>& codes, const PairGraphLaw& law);

  std::size_t columns() const { return columns_.size(); }
  /// Takes new parameters of the same pairs.
  void set_parameters(const PairGraphLaw& law);

  /// @param uniforms  d numbers in (0, 1)  @param record  d codes, all written
  void draw_tree(const double* uniforms, std::uint32_t* record) const;

  /// One Gibbs sweep, columns in their order. After the column's conditional law (not yet divided by its sum)
  /// is known and its new code is drawn: visit(column, weights, sum).
  template <class Visit>
  void sweep(const double* uniforms, std::uint32_t* record, Weights& weights, const Visit& visit) const {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const Column& column = columns_[j];
      const auto width = static_cast<Eigen::Index>(column.padded);
      // Whole packets at an aligned place: the same bits wherever a record lies in a call.
      for (std::size_t at = 0; at < column.padded; at += kPacket) {
        Packet sum = Eigen::Map<const Packet>(column.field.data() + at);
        for (const Partner& partner : column.partners)
          sum += Eigen::Map<const Packet>(column.interactions.data() + partner.offset +
                                          record[partner.column] * column.padded + at);
        weights.template segment<kPacket>(static_cast<Eigen::Index>(at)) = sum;
      }
      auto w = weights.head(width);
      // What is less likely counts as nothing much, and not as a denormal number, which is slow.
      w = (w - w.maxCoeff()).max(-80.0f).exp();
      const float* const begin = weights.data();
      float sum = 0;
      for (std::size_t x = 0; x < column.codes; ++x) sum += begin[x];
      const float place = static_cast<float>(uniforms[j]) * sum;
      float passed = 0;
      std::uint32_t code = 0;
      for (; code + 1 < column.codes; ++code) {
        passed += begin[code];
        if (place < passed) break;
      }
      record[j] = code;
      visit(j, begin, sum);
    }
  }
  /// Room that sweep() needs.
  Weights make_weights() const { return Weights(static_cast<Eigen::Index>(most_padded_)); }

 private:
  using Packet = Eigen::Array<float, kPacket, 1>;

  struct Partner {
    std::size_t column, offset;
  };
  struct Column {
    std::size_t codes = 0, padded = 0;  ///< padded: to whole packets
    std::vector<float> field;           ///< padded; what is beyond the codes is never drawn
    std::vector<float> interactions;    ///< for each partner its codes x padded
    std::vector<Partner> partners;
  };
  struct Branch {
    std::size_t column, parent;
    std::vector<float> bounds;  ///< as Branch::given, cumulative
  };

  std::vector<Column> columns_;
  std::vector<Branch> tree_;
  std::size_t most_padded_ = 0;
};

}  // namespace muffle::model
