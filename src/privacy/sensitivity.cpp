#include "muffle/privacy/sensitivity.hpp"

#include <fmt/format.h>

#include <cmath>

#include "muffle/core/round_up.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/core/text.hpp"

namespace muffle::privacy {
namespace {

/// Norms and weights beyond these are slips of the keyboard; far below, their squares would vanish.
constexpr settings::Range kNorms{1e-9, 1e6};

std::string_view without_period(std::string_view sentence) {
  return sentence.ends_with('.') ? sentence.substr(0, sentence.size() - 1) : sentence;
}

double square_up(double x) { return multiply_up(x, x); }

/// "scaled by 2: THEOREM", or what of it there is.
std::string source(const bounds::BlockBound& block) {
  const std::string theorem(without_period(block.theorem));
  if (block.scale == 1.0) return theorem;
  return "scaled by " + exact_text(block.scale) + (theorem.empty() ? "" : ": ") + theorem;
}

/// Why a block's norm is bounded, and what that means for two records; said once where earlier blocks, those
/// of other rounds above all, have it of the same theorem.
std::string proof_of(const std::vector<bounds::BlockBound>& blocks, std::size_t b, bool replace) {
  const bounds::BlockBound& block = blocks[b];
  for (std::size_t e = 0; e < b && !block.theorem.empty(); ++e) {
    if (blocks[e].theorem == block.theorem && blocks[e].nonnegative_kernel == block.nonnegative_kernel &&
        blocks[e].labelled == block.labelled && blocks[e].epochs == block.epochs)
      return fmt::format("Block {}: by the theorem of block {}, scaled by {}: B = {}. ", b + 1, e + 1,
                         exact_text(block.scale), exact_text(block.norm));
  }
  std::string out = fmt::format("Block {}{}: ||phi(x)|| <= B = {}, checked per record in integers", b + 1,
                                block.labelled ? "" : ", without labels", exact_text(block.norm));
  if (block.epochs > 0)
    out = fmt::format(
        "Block {}{}: a record adds the same vector to one minibatch of each of {} epochs, whose sums are "
        "apart, by its place alone, which whoever replaces it takes; so phi(x) here is {} such vectors side "
        "by side, each checked in integers, and ||phi(x)|| <= B = {}, sqrt({}) times the bound of one",
        b + 1, block.labelled ? "" : ", without labels", block.epochs, block.epochs, exact_text(block.norm),
        block.epochs);
  if (const std::string from = source(block); !from.empty()) out += fmt::format(" ({})", from);
  if (replace) {
    out += block.nonnegative_kernel ? ", and <phi(x), phi(x')> >= 0, so ||phi(x) - phi(x')|| <= sqrt(2) B"
                                    : ", so ||phi(x) - phi(x')|| <= 2 B";
  }
  return out + ". ";
}

void check(const SensitivityInput& input) {
  settings::Problems problems;
  problems.unless(!input.blocks.empty(), "no feature block is released");
  for (std::size_t b = 0; b < input.blocks.size(); ++b) {
    problems.unless_in(kNorms, fmt::format("the norm bound of feature block {}", b + 1),
                       input.blocks[b].norm);
    problems.unless(input.adjacency == Adjacency::kReplaceOne || input.blocks[b].epochs == 0,
                    fmt::format("feature block {} is released by minibatches, whose records' places change "
                                "when one comes or goes",
                                b + 1));
  }
  problems.unless(!input.counts || kNorms.has(input.counts_weight),
                  fmt::format("the class counts are released with weight {}, not {}",
                              exact_text(input.counts_weight), kNorms.text()));
  const std::uint64_t q = input.max_records_per_person;
  problems.unless(q >= 1 && q <= kMaxRecordsPerPerson,
                  fmt::format("the most records that one person may own is {}, not a number from 1 to {}", q,
                              kMaxRecordsPerPerson));
  problems.throw_if_any("the sensitivity of the release cannot be bounded", settings::Problems::kNotReleased);
}

}  // namespace

std::string_view to_string(Adjacency adjacency) {
  return adjacency == Adjacency::kReplaceOne ? "replace-one" : "add-remove-one";
}

Sensitivity combined_sensitivity(const SensitivityInput& input) {
  check(input);
  const bool replace = input.adjacency == Adjacency::kReplaceOne;
  std::string proof = replace ? "Replace-one adjacency: first let one record (x, y) become (x', y'). "
                              : "Add/remove-one adjacency: first let one record (x, y) come or go. ";

  double norm_squared = 0.0, same_label_squared = 0.0;
  // Where labels differ: vectors of labelled blocks lie in two columns, those of others still meet in one.
  double labelled_squared = 0.0, unlabelled_squared = 0.0;
  for (std::size_t b = 0; b < input.blocks.size(); ++b) {
    const bounds::BlockBound& block = input.blocks[b];
    const double square = square_up(block.norm);
    norm_squared = add_up(norm_squared, square);
    const double distance_squared = multiply_up(block.nonnegative_kernel ? 2.0 : 4.0, square);
    same_label_squared = add_up(same_label_squared, distance_squared);
    (block.labelled ? labelled_squared : unlabelled_squared) = add_up(
        block.labelled ? labelled_squared : unlabelled_squared, block.labelled ? square : distance_squared);
    proof += proof_of(input.blocks, b, replace);
  }
  const double count_squared = input.counts ? square_up(input.counts_weight) : 0.0;
  const double record_squared = add_up(norm_squared, count_squared);
  const std::string lambda = exact_text(input.counts_weight);

  double one_record = 0.0;
  if (replace) {
    const double same = sqrt_up(same_label_squared);
    const double other = sqrt_up(add_up(2.0 * add_up(labelled_squared, count_squared), unlabelled_squared));
    proof += fmt::format(
        "Equal labels: one class's column changes, by at most {}{}; the counts, if any, stay. ",
        input.blocks.size() > 1 ? "the root of the sum of the blocks' squares, " : "", exact_text(same));
    proof += input.counts
                 ? fmt::format(
                       "Different labels: phi(x) leaves one column, phi(x') enters another, and two counts "
                       "scaled by lambda = {} change by lambda each: at most sqrt(2 B^2 + 2 lambda^2) = {}, "
                       "B^2 the sum of the blocks' squares. ",
                       lambda, exact_text(other))
                 : fmt::format(
                       "Different labels: phi(x) leaves one column and phi(x') enters another, orthogonal to "
                       "it: at most sqrt(2) B = {}, B^2 the sum of the blocks' squares. ",
                       exact_text(other));
    if (unlabelled_squared > 0)
      proof +=
          "In that, a block without labels has one column for all classes, which changes as it does for "
          "equal labels: "
          "its square counts in place of twice its B^2. ";
    one_record = std::fmax(same, other);
    proof += fmt::format("The larger is {}", exact_text(one_record));
    if (input.counts && other <= same) proof += ", so the counts cost nothing";
    proof += ". ";
  } else {
    one_record = sqrt_up(record_squared);
    proof += input.counts
                 ? fmt::format(
                       "Its column changes by at most B and its count, scaled by lambda = {}, by lambda: at "
                       "most sqrt(B^2 + lambda^2) = {}, B^2 the sum of the blocks' squares. ",
                       lambda, exact_text(one_record))
                 : fmt::format("Its column changes by at most B = {}, B^2 the sum of the blocks' squares. ",
                               exact_text(one_record));
  }

  Sensitivity out;
  const std::uint64_t q = input.max_records_per_person;
  out.value = multiply_up(static_cast<double>(q), one_record);
  proof +=
      q == 1 ? "One person owns at most 1 record, so this is the bound"
             : fmt::format(
                   "One person owns at most q = {} records: go from one data set to its neighbour in q steps "
                   "of one record each; by the triangle inequality the change is at most q times as large",
                   q);
  out.derivation = proof + fmt::format(": L2 sensitivity {}.", exact_text(out.value));
  return out;
}

}  // namespace muffle::privacy
