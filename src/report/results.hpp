#pragma once

#include <optional>
#include <string>
#include <vector>

#include "associations.hpp"
#include "attacks.hpp"
#include "distances.hpp"
#include "muffle/core/heartbeat.hpp"
#include "neighbours.hpp"
#include "rows.hpp"

// What is computed from real rows. PRIVATE.
namespace muffle::report {

/// Half of intervals of 95 %.
struct ScoreReach {
  double shapes = 0.0, pairs = 0.0, ranks = 0.0;
};
/// Of a table: 1 the same, 0 nothing in common. The ceiling is what the held-out rows reach. The floor is
/// what knows nothing: of single columns all values that the schema allows equally often, of pairs and rank
/// correlations independent columns with the samples' own margins.
struct TableScores {
  double shapes = 0.0, even_shapes = 0.0, pairs = 0.0, independent_pairs = 0.0;
  std::optional<double> held_out_shapes, held_out_pairs;
  /// Of pairs of numbers: 1 less half the difference of their rank correlations. None: there are no two.
  std::optional<double> ranks, held_out_ranks, independent_ranks;
  /// By the chance of which rows were drawn, or held out; the real ones as given. None: too few rows.
  std::optional<ScoreReach> reach, held_out_reach;
  struct Pair {
    std::size_t a = 0, b = 0;
    double apart = 0.0;  ///< total variation of the joint shares
    double v_real = 0.0, v_made = 0.0;
    std::optional<double> rank_real = {}, rank_made = {};  ///< of two numbers: Spearman's
  };
  std::vector<Pair> all;  ///< the farthest first
};
TableScores score_table(const Rows& real, const std::optional<Rows>& held_out, const Rows& samples,
                        const Heartbeat& heartbeat);

/// A membership attack. Its two intervals and those of the other attacks hold together in 95 of 100 cases.
struct Attack {
  std::string how;
  Interval area, found;  ///< `found`: of the members, at 1 % false ones
};
/// How well one column is guessed from the others.
struct Inference {
  std::size_t column = 0;
  Interval of_members, of_held_out;  ///< by the samples: of records in the release, and of others
  /// How much better of the former. The intervals of all columns hold together in 95 of 100 cases.
  Interval apart;
  double by_real = 0.0;      ///< of held-out ones, by as many real rows as synthetic ones
  double by_majority = 0.0;  ///< of held-out ones, the real rows' most frequent value alone
};
struct Disclosure {
  std::size_t members = 0, others = 0, samples = 0,
              compared = 0;  ///< rows that were looked at; compared: real ones that samples were
  std::vector<double> to_members, to_held_out, held_out_to_members;  ///< distances to the nearest; sorted
  /// Share of samples, ties half: 0.5 if the release favours nobody. The interval minds that many may have
  /// one nearest record.
  Interval nearer_to_members;
  /// Synthetic rows that equal a real one in every value; held-out rows that equal one of the release's.
  std::size_t copies_of_members = 0, copies_of_held_out = 0, held_out_in_release = 0;
  std::size_t repeated_in_release = 0;  ///< members that equal another row of the release
  std::vector<Attack> attacks;          ///< empty: fewer than kFewestCandidates of either
  std::vector<Inference> inferences;
  /// The samples nearest to a real record of the release: indices of both.
  struct Twin {
    std::size_t sample = 0, real = 0;
    double distance = 0.0;
  };
  std::vector<Twin> twins;
};
inline constexpr std::size_t kFewestCandidates = 100;
/// Rows are taken in an order of its own, so that their order in files decides nothing. Needs no model that
/// is trained beside: what is known of held-out rows says what chance alone gives.
Disclosure attack(const Rows& real, const Rows& held_out, const Rows& samples, const Heartbeat& heartbeat);

inline constexpr double kFalseShare = 0.01;

}  // namespace muffle::report
