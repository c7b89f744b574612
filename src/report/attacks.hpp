#pragma once

#include <cstddef>
#include <span>

namespace muffle::report {

/// A number with the interval that holds it in 95 of 100 cases, or where several are looked at together, with
/// one that holds it so often that all of them do in 95.
struct Interval {
  double value = 0.0, low = 0.0, high = 0.0;
};

/// How many standard deviations an interval reaches either way if it is one of so many (Bonferroni).
double reach_of(std::size_t intervals);
inline constexpr double kReach95 = 1.959963984540054;  ///< of one

/// A share of n that was seen k times (Wilson, JASA 22, 1927). @param n  what they are worth, if they are not
/// independent
Interval share_interval(double k, double n, double reach = kReach95);

/// How well scores tell members from others: the probability that a member's is the higher one, ties half.
/// Its interval is the wider of two: by the scores' own variances (DeLong, DeLong & Clarke-Pearson,
/// Biometrics 44, 1988), and by the variance that Hanley and McNeil's formula has at the bound itself
/// (Newcombe, Statistics in Medicine 25, 2006), which stays wide at 0 and 1.
Interval area_under_curve(std::span<const double> members, std::span<const double> others,
                          double reach = kReach95);
/// Which share of the members is found where at most `false_share` of the others are taken for members. The
/// interval has both the members' chance and that of the threshold, which the others decide (as MOVER does:
/// Zou & Donner, Statistics in Medicine 27, 2008).
Interval found_at(std::span<const double> members, std::span<const double> others, double false_share,
                  double reach = kReach95);

/// The most that anybody can reach against a release of this mu, whatever they know (Dong, Roth & Su, JRSS B
/// 2022).
double most_area(double mu);
double most_found_at(double mu, double false_share);

}  // namespace muffle::report
