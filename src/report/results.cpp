#include "results.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "muffle/core/philox.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostCandidates = 1500, kMostBase = 10'000, kMostTargets = 8, kMostTwins = 8,
                      kMostAnswers = 64;
constexpr double kMostWork = 4e10;  ///< differences of two places

std::vector<double> distances_of(const std::vector<Nearest>& all) {
  std::vector<double> out;
  for (const Nearest& n : all) out.push_back(n.distance);
  return out;
}

std::vector<double> ascending(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

/// Scores of membership: the nearer, the more.
std::vector<double> nearness(const std::vector<Nearest>& to_made) {
  std::vector<double> out;
  for (const Nearest& n : to_made) out.push_back(-n.distance);
  return out;
}

/// The same beside how near other people's rows are: 0.5 where both are as near, 1 of a copy.
std::vector<double> nearness_beside(const std::vector<Nearest>& to_made,
                                    const std::vector<Nearest>& to_known) {
  std::vector<double> out;
  for (std::size_t i = 0; i < to_made.size(); ++i) {
    const double sum = to_made[i].distance + to_known[i].distance;
    out.push_back(sum > 0 ? to_known[i].distance / sum : 0.5);
  }
  return out;
}

/// Of those alone who are so far from other people.
std::vector<double> scores_of_rare(const std::vector<double>& scores, const std::vector<Nearest>& to_known,
                                   double far) {
  std::vector<double> out;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (to_known[i].distance >= far) out.push_back(scores[i]);
  }
  return out;
}

/// 0 .. n-1 in an order that is always the same and has nothing to do with the rows.
std::vector<std::size_t> mixed(std::size_t n, std::uint32_t of) {
  const std::vector<std::int64_t> order = shuffled_indices(CounterStream(0, Stream::kEvaluation, of), n);
  return {order.begin(), order.end()};
}

std::vector<std::size_t> first_of(const std::vector<std::size_t>& all, std::size_t most) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most))};
}

/// Whether a row stands before another: by all of its values, of what is no table by its label, too. A
/// missing value equals another.
bool before(const Rows& rows, std::size_t i, const Rows& others, std::size_t k) {
  const auto place = [](double v) { return std::isnan(v) ? std::numeric_limits<double>::infinity() : v; };
  for (std::size_t j = 0; j < rows.values.size(); ++j) {
    const double one = place(rows.values[j][i]), other = place(others.values[j][k]);
    if (one != other) return one < other;
  }
  return !rows.columns[0].schema && rows.labels[i] < others.labels[k];
}

/// How many of some rows equal so many of others, value by value.
std::size_t copies(const Rows& rows, const std::vector<std::size_t>& at, const Rows& of,
                   std::vector<std::size_t> of_at, std::ptrdiff_t fewest = 1) {
  std::sort(of_at.begin(), of_at.end(), [&](std::size_t i, std::size_t k) { return before(of, i, of, k); });
  return static_cast<std::size_t>(std::count_if(at.begin(), at.end(), [&](std::size_t row) {
    const auto first = std::lower_bound(of_at.begin(), of_at.end(), row, [&](std::size_t i, std::size_t own) {
      return before(of, i, rows, own);
    });
    const auto end = std::upper_bound(
        first, of_at.end(), row, [&](std::size_t own, std::size_t i) { return before(rows, own, of, i); });
    return end - first >= fewest;
  }));
}

constexpr std::size_t kAttacks = 3;

Attack attack_by(std::string how, const std::vector<double>& members, const std::vector<double>& others) {
  const double reach =
      reach_of(2 * kAttacks);  // each has two intervals, and the summary looks at all of them
  return {std::move(how), area_under_curve(members, others, reach),
          found_at(members, others, kFalseShare, reach)};
}

/// The share of samples whose nearest record is one of the release, ties half. If the release favours nobody
/// each of the records is one of its own or not as a coin falls, and counts for as many samples as it is the
/// nearest of: so the samples are worth (sum w)^2 / (sum w^2) independent ones (Kish, Survey Sampling, 1965).
Interval nearer_share(const std::vector<Nearest>& to_own, const std::vector<Nearest>& to_held) {
  std::map<std::pair<bool, std::size_t>, double> weights;  // of a record: the release's or not, and which
  double nearer = 0, squares = 0;
  const auto n = static_cast<double>(to_own.size());
  for (std::size_t i = 0; i < to_own.size(); ++i) {
    const double own = to_own[i].distance < to_held[i].distance    ? 1.0
                       : to_own[i].distance == to_held[i].distance ? 0.5
                                                                   : 0.0;
    nearer += own;
    if (own > 0) weights[{true, to_own[i].index}] += own;
    if (own < 1) weights[{false, to_held[i].index}] += 1 - own;
  }
  for (const auto& [record, weight] : weights) squares += weight * weight;
  const double worth = squares > 0 ? n * n / squares : 0.0;
  return share_interval(n > 0 ? nearer / n * worth : 0.0, worth);
}

std::vector<std::uint32_t> answers_of(const Rows& rows, std::size_t column,
                                      const std::vector<std::size_t>& at) {
  std::vector<std::uint32_t> out;
  const auto missing = static_cast<std::uint32_t>(rows.columns[column].categories.size());
  for (const std::size_t i : at) {
    const double v = rows.values[column][i];
    out.push_back(std::isnan(v) ? missing : static_cast<std::uint32_t>(v));
  }
  return out;
}

Interval right(const std::vector<std::uint32_t>& guesses, const std::vector<std::uint32_t>& truth,
               double reach = kReach95) {
  double hits = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) hits += guesses[i] == truth[i] ? 1.0 : 0.0;
  return share_interval(hits, static_cast<double>(truth.size()), reach);
}

/// Of two shares, from their own intervals (Newcombe, Statistics in Medicine 17, 1998, method 10).
Interval difference(const Interval& one, const Interval& other) {
  const double apart = one.value - other.value;
  return {apart, apart - std::hypot(one.value - one.low, other.high - other.value),
          apart + std::hypot(one.high - one.value, other.value - other.low)};
}

/// Categories, the label first.
std::vector<std::size_t> targets_of(const std::vector<Column>& columns) {
  std::vector<std::size_t> out;
  for (const bool label : {true, false}) {
    for (std::size_t j = 0; j < columns.size() && out.size() < kMostTargets; ++j) {
      const std::size_t values = columns[j].categories.size();
      if (columns[j].is_label == label && !columns[j].is_number && !columns[j].follows && values >= 2 &&
          values <= kMostAnswers)
        out.push_back(j);
    }
  }
  return out;
}

}  // namespace

Disclosure attack(const Rows& real, const Rows& held_out, const Rows& samples, const Heartbeat& heartbeat) {
  const Places places(held_out);
  Disclosure out;
  const std::vector<std::size_t> real_in_order = mixed(real.size(), 0),
                                 held_in_order = mixed(held_out.size(), 1),
                                 samples_in_order = mixed(samples.size(), 2);
  // Half of the held-out rows are candidates, the others what an attacker knows of the population.
  const auto middle = held_in_order.begin() + static_cast<std::ptrdiff_t>((held_in_order.size() + 1) / 2);
  const std::vector<std::size_t> candidates(held_in_order.begin(), middle),
      known(middle, held_in_order.end());
  const std::size_t each = std::min({kMostCandidates, real.size(), candidates.size()});
  const auto columns = static_cast<double>(std::max<std::size_t>(1, real.columns.size()));
  const auto base = std::max<std::size_t>(
      100, std::min(kMostBase,
                    static_cast<std::size_t>(kMostWork / (columns * 8.0 * static_cast<double>(each + 1)))));
  const std::vector<std::size_t> members_at = first_of(real_in_order, each),
                                 others_at = first_of(candidates, each);
  const std::vector<std::size_t> samples_at = first_of(samples_in_order, base),
                                 known_at = first_of(known, base);
  const Places::Set members = places.of(real, members_at), others = places.of(held_out, others_at);
  const Places::Set made = places.of(samples, samples_at), population = places.of(held_out, known_at);
  out.members = members.size();
  out.others = others.size();
  out.samples = made.size();

  const auto member_to_made = nearest(members, made, heartbeat),
             other_to_made = nearest(others, made, heartbeat);
  const bool enough = each >= kFewestCandidates;
  if (enough)
    out.attacks.push_back(
        attack_by("near a synthetic record", nearness(member_to_made), nearness(other_to_made)));
  if (enough && population.size() > 0) {
    const auto member_to_known = nearest(members, population, heartbeat),
               other_to_known = nearest(others, population, heartbeat);
    const std::vector<double> by_member = nearness_beside(member_to_made, member_to_known),
                              by_other = nearness_beside(other_to_made, other_to_known);
    out.attacks.push_back(
        attack_by("nearer to a synthetic record than to any of other people's", by_member, by_other));
    // Membership shows first of people whom nobody is like.
    const double far = ascending(distances_of(other_to_known))[other_to_known.size() * 9 / 10];
    const std::vector<double> rare_members = scores_of_rare(by_member, member_to_known, far),
                              rare_others = scores_of_rare(by_other, other_to_known, far);
    if (std::min(rare_members.size(), rare_others.size()) >= kFewestCandidates)
      out.attacks.push_back(attack_by("the same, of the tenth of the people who are farthest from all others",
                                      rare_members, rare_others));
  }

  // As many of the one as of the other, so that neither is nearer by its number.
  out.compared = std::min({real.size(), held_out.size(), base});
  const std::vector<std::size_t> real_at = first_of(real_in_order, out.compared),
                                 held_at = first_of(held_in_order, out.compared);
  const Places::Set own = places.of(real, real_at), held = places.of(held_out, held_at);
  const std::vector<std::size_t> asked_at = first_of(samples_in_order, kMostCandidates);
  const Places::Set asked = places.of(samples, asked_at);
  const auto to_own = nearest(asked, own, heartbeat), to_held = nearest(asked, held, heartbeat);
  for (std::size_t i = 0; i < to_own.size(); ++i)
    out.twins.push_back({asked_at[i], real_at[to_own[i].index], to_own[i].distance});
  out.copies_of_members = copies(samples, asked_at, real, real_at);
  out.copies_of_held_out = copies(samples, asked_at, held_out, held_at);
  out.held_out_in_release = copies(held_out, others_at, real, real_in_order);
  out.repeated_in_release = copies(real, members_at, real, real_in_order, 2);
  out.nearer_to_members = nearer_share(to_own, to_held);
  std::stable_sort(out.twins.begin(), out.twins.end(),
                   [](const auto& a, const auto& b) { return a.distance < b.distance; });
  out.twins.resize(std::min(out.twins.size(), kMostTwins));
  out.to_members = ascending(distances_of(to_own));
  out.to_held_out = ascending(distances_of(to_held));
  out.held_out_to_members = ascending(distances_of(nearest(others, own, heartbeat)));

  // What is learnt from synthetic rows stands beside what is learnt from as many real ones.
  const std::size_t teachers = std::min({real.size(), samples.size(), base});
  const std::vector<std::size_t> made_at = first_of(samples_in_order, teachers),
                                 taught_at = first_of(real_in_order, teachers);
  const Places::Set made_teachers = places.of(samples, made_at), real_teachers = places.of(real, taught_at);
  const std::vector<std::size_t> targets = targets_of(real.columns);
  std::vector<std::vector<std::uint32_t>> by_made, by_real;
  for (const std::size_t t : targets) {
    by_made.push_back(answers_of(samples, t, made_at));
    by_real.push_back(answers_of(real, t, taught_at));
  }
  if (targets.empty()) return out;
  const auto of_members = guess(members, made_teachers, targets, by_made, heartbeat),
             of_others = guess(others, made_teachers, targets, by_made, heartbeat);
  const auto by_own = guess(others, real_teachers, targets, by_real, heartbeat);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const auto truth = answers_of(held_out, targets[t], others_at);
    std::vector<std::size_t> counts(kMostAnswers + 1, 0);
    for (const std::uint32_t answer : by_real[t]) ++counts[answer];
    const auto usual =
        static_cast<std::uint32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    const auto truth_of_own = answers_of(real, targets[t], members_at);
    const double reach = reach_of(targets.size());
    out.inferences.push_back(
        {targets[t], right(of_members[t], truth_of_own), right(of_others[t], truth),
         difference(right(of_members[t], truth_of_own, reach), right(of_others[t], truth, reach)),
         right(by_own[t], truth).value, right(std::vector<std::uint32_t>(truth.size(), usual), truth).value});
  }
  return out;
}

}  // namespace muffle::report
