#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "muffle/sampling/sampler.hpp"

namespace muffle::pair_graph {

/// Gibbs sweeps that a record takes after the tree, unless the configuration says otherwise.
inline constexpr std::size_t kPairSweeps = 8;
/// Most that it may ask for.
inline constexpr std::size_t kMostPairSweeps = 1000;

/// The law of one class's cells: a tree that is drawn exactly, and a log-linear law over pairs of columns,
/// under which Gibbs sweeps go on from the tree's records. Public.
struct PairGraphLaw {
  /// One column of the tree, given the one it hangs on.
  struct Branch {
    std::size_t column = 0, parent = 0;  ///< parent == column: the root of its part of the tree
    /// Parent's codes (the root: 1) x column's codes, row-major: probabilities, each row sums to 1.
    std::vector<float> given;
  };
  /// log p(x) = sum_j field_j(x_j) + sum_ij interaction_ij(x_i, x_j) - const.
  struct Pair {
    std::size_t first = 0, second = 0;  ///< columns, first < second
    std::vector<float> interaction;     ///< first's codes x second's codes, row-major
  };
  std::vector<Branch> tree;               ///< d, parents before their children
  std::vector<std::vector<float>> field;  ///< d of the column's codes
  std::vector<Pair> pairs;
};

/// A column that the laws know in groups of its codes alone: within a group a code is drawn by itself.
struct PairGraphCells {
  std::size_t column = 0;
  std::vector<std::uint32_t> group;       ///< of each code
  std::vector<std::vector<float>> share;  ///< C of each code: its share of its group's records
};

/// The closed-form generator of tables: a law of cells for each class (docs/explanation/pair-graph.md).
/// Public.
struct PairGraphModel {
  std::vector<std::size_t> codes;    ///< of each number of a record, d: those of `cells` in groups
  std::size_t sweeps = kPairSweeps;  ///< 0: the tree alone
  std::vector<PairGraphLaw> laws;    ///< C
  /// d: widths of a column's bins, in its unit; empty: its codes are categories, whose places mean nothing.
  /// All empty: of no schema yet.
  std::vector<std::vector<double>> bin_widths = {};
  std::vector<PairGraphCells> cells = {};  ///< of columns whose bins were learned, ascending
  /// The column whose law is how many records are their person's first, second, .. one.
  std::optional<std::size_t> row_number = {};

  /// Of column j; null: its codes are the law's.
  const PairGraphCells* cells_of(std::size_t j) const;
};

/// A density on bins that is linear in each, given their masses: 1 + tilt (2 t - 1) at place t of a bin, t in
/// (0, 1), with the slope between the bin's neighbours, but no steeper than twice the slope to either, none
/// at a peak or in a valley (van Leer's limiter), and never negative.
/// @param mass  of each bin, >= 0  @param width  of each bin, > 0
/// @returns  tilts in [-1, 1]
std::vector<double> bin_tilts(std::span<const double> mass, std::span<const double> width);

/// Fits the laws; one thread, seconds. However much noise there is: what it hides is independent, and a class
/// whose records it hides has the law of all classes.
/// @param heartbeat  called between the steps
/// @throws ConfigError  the tables are of more codes than a model file holds
PairGraphModel fit_pair_graph(const release::NoisyTables& tables, std::size_t sweeps,
                              const Heartbeat& heartbeat = {});

/// Draws a record's codes from its class's tree, takes the Gibbs sweeps, and places each number in its bin by
/// bin_tilts() of its class's law of the column; uniformly where there are no widths.
std::unique_ptr<sampling::Sampler> make_sampler(const PairGraphModel& model);

}  // namespace muffle::pair_graph
