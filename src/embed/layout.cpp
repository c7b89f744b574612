#include <fmt/core.h>

#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/embed/embedding.hpp"

namespace muffle::embed {

std::uint64_t Layout::counts_units() const {
  // The upper end keeps m counts below 2^63 with the m that require_no_overflow() admits.
  if (!(counts_weight > 0 && counts_weight <= 1)) {
    throw ConfigError(
        fmt::format("the counts' weight is {}; it must be above 0 and at most 1", exact_text(counts_weight)));
  }
  return static_cast<std::uint64_t>(std::floor(std::ldexp(counts_weight, lattice.bits)));
}

std::size_t Layout::size() const { return offset(blocks.size()) + (counts ? classes : 0); }

std::size_t Layout::offset(std::size_t block) const {
  std::size_t numbers = 0;
  for (std::size_t b = 0; b < block; ++b) numbers += classes * blocks.at(b)->features();
  return numbers;
}

std::vector<features::CoordinatePart> Layout::coordinates() const {
  std::vector<features::CoordinatePart> parts;
  for (const auto& block : blocks) parts.push_back({block->coordinates(), classes});
  // A count of lambda's units stands for lambda.
  if (counts) parts.push_back({{{classes, std::ldexp(1.0, lattice.bits)}}, 1});
  return parts;
}

privacy::SensitivityInput Layout::sensitivity_input(privacy::Adjacency adjacency,
                                                    std::uint64_t max_records_per_person) const {
  privacy::SensitivityInput input;
  for (const auto& block : blocks) input.blocks.push_back(block->bound());
  input.adjacency = adjacency;
  input.counts = counts;
  input.counts_weight = counts ? counts_weight : 0.0;
  input.max_records_per_person = max_records_per_person;
  return input;
}

}  // namespace muffle::embed
