#include <fmt/format.h>

#include <cmath>

#include "artifact_header.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/distributed_noise.hpp"

namespace muffle::release {
namespace {

/// Logarithm and exponential may differ in their last digits between machines; the noise multiplier is
/// recomputed to this relative accuracy (the accountant promises 1e-9). Everything else is IEEE basic
/// arithmetic and must agree exactly.
constexpr double kCalibrationTolerance = 1e-9;

using Complaints = std::vector<std::string>;

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void check_rff(const Artifact& a, const features::RffSpec& rff, Complaints& wrong) {
  if (a.schema.dims() != rff.dims) {
    wrong.push_back(fmt::format("the schema has {} numbers per record and the feature map {}",
                                a.schema.dims(), rff.dims));
  }
  if (!(rff.length_scale > 0 && std::isfinite(rff.length_scale)))
    wrong.push_back(
        fmt::format("the length-scale {} is not a positive number", exact_text(rff.length_scale)));
  if (rff.features < 2 || rff.features > std::uint64_t{1} << 31 || rff.features % 2 != 0)
    wrong.push_back(fmt::format("{} features are out of range, or not even", rff.features));
}

void check_moments(const Artifact& a, const features::MomentsSpec& spec, Complaints& wrong) {
  if (spec.shape != a.schema.shape) {
    wrong.push_back("the moments are of records of another shape than the schema's");
  } else if (features::resolved(spec) != spec) {
    wrong.push_back("the moments' description leaves something to defaults");
  }
}

void check_block(const Artifact& a, std::size_t b, Complaints& wrong) {
  const ReleasedBlock& block = a.blocks[b];
  const std::string_view kind = kind_of(block.spec);
  if (!is_hash(block.map_hash))
    wrong.push_back(
        fmt::format("the hash of the feature map of block '{}' is not 64 hexadecimal digits", kind));
  const auto trained = a.find("rff");
  if (block.spec.proxy && trained && a.blocks[*trained].map_hash == block.map_hash)
    wrong.push_back("the proxy has the frequencies of the features that generators are trained on");
  if (*a.find(kind) != b) wrong.push_back(fmt::format("there are two blocks '{}'", kind));
  if (const features::RffSpec* rff = block.spec.rff()) {
    check_rff(a, *rff, wrong);
  } else {
    check_moments(a, *block.spec.moments(), wrong);
  }
}

void check_shapes(const Artifact& a, Complaints& wrong) {
  a.schema.validate();
  if (a.ranks < 1) wrong.push_back(fmt::format("it was made by {} ranks", a.ranks));
  if (a.lattice_bits < 8 || a.lattice_bits > 24)
    wrong.push_back(fmt::format("the lattice has {} bits, not 8 to 24", a.lattice_bits));
  if (a.schema.classes > std::uint64_t{1} << 20)
    wrong.push_back(fmt::format("{} classes are too many", a.schema.classes));
  if (a.blocks.empty()) wrong.push_back("it holds no feature block");
  for (std::size_t b = 0; b < a.blocks.size(); ++b) check_block(a, b, wrong);
  if (!wrong.empty()) return;
  const std::size_t expected = a.offset(a.blocks.size()) + (a.counts ? a.classes() : 0);
  if (a.values.size() != expected) {
    wrong.push_back(fmt::format("it holds {} values, but its {} classes, blocks of features{} need {}",
                                a.values.size(), a.classes(), a.counts ? " and counts" : "", expected));
  }
}

void check_records(const Artifact& a, Complaints& wrong) {
  const bool replace = a.adjacency == privacy::Adjacency::kReplaceOne;
  if (replace && a.records < 1) wrong.push_back("the public number of records is 0");
  for (const ReleasedBlock& block : a.blocks)
    features::require_no_overflow(a.records, block.spec, {a.lattice_bits});
  if (!replace && (a.records != 0 || !(a.counts || a.find("moments")))) {
    wrong.push_back(
        "under add/remove-one the number of records is private, and noisy counts or the trace of second "
        "moments take its place");
  }
  if (a.counts && !(a.counts_weight <= 1 && std::ldexp(a.counts_weight, a.lattice_bits) >= 1))
    wrong.push_back(fmt::format("the counts' weight {} is out of range", exact_text(a.counts_weight)));
}

/// Noise beyond 100 sigma does not happen, and no record's number is above its block's norm bound.
void check_values(const Artifact& a, Complaints& wrong) {
  const bool replace = a.adjacency == privacy::Adjacency::kReplaceOne;
  std::size_t next = 0;
  for (std::size_t p = 0; p < a.noise.parts.size(); ++p) {
    const privacy::NoisePart& part = a.noise.parts[p];
    const double norm = p < a.blocks.size() ? a.noise.sensitivity_input.blocks[p].norm : a.counts_weight;
    std::vector<double> limits;
    for (std::size_t r = 0; r < part.runs.size(); ++r) {
      const double sum =
          replace ? static_cast<double>(a.records) * norm * part.runs[r].unit * (1 + 1e-12) : 0x1p62;
      limits.push_back(sum + 100.0 * carried_sigma(a, p, r));
    }
    for (std::uint64_t i = 0; i < part.repeat; ++i) {
      for (std::size_t r = 0; r < part.runs.size(); ++r) {
        for (const std::size_t end = next + part.runs[r].count; next < end; ++next) {
          if (std::fabs(static_cast<double>(a.values[next])) <= limits[r]) continue;
          wrong.push_back(fmt::format("value {} is larger than the records and the noise can make it", next));
          return;
        }
      }
    }
  }
}

void check_aggregation(const Artifact& a, Complaints& wrong) {
  if (a.aggregation.masked && a.aggregation.ranks != a.ranks)
    wrong.push_back("it was made by one number of ranks and aggregated over another");
  privacy::require_valid(a.aggregation);
  if (a.aggregation.distributed)
    privacy::plan_distributed_noise(a.noise, a.aggregation.ranks, a.aggregation.colluding);
}

/// The bounds are those of the feature maps, and the noise's units those in which their numbers are held.
void check_bounds(const Artifact& a, Complaints& wrong) {
  const privacy::SensitivityInput& input = a.noise.sensitivity_input;
  if (input.blocks.size() != a.blocks.size()) {
    wrong.push_back("the sensitivity was derived for another number of feature blocks");
    return;
  }
  for (std::size_t b = 0; b < a.blocks.size(); ++b) {
    const features::BlockBound bound = bound_of(a.blocks[b].spec);
    if (input.blocks[b].norm != bound.norm ||
        input.blocks[b].nonnegative_kernel != bound.nonnegative_kernel) {
      wrong.push_back(fmt::format(
          "the sensitivity was derived for a {} block of norm {}, but block '{}' is a {} one of norm {}",
          input.blocks[b].nonnegative_kernel ? "non-negative" : "signed", exact_text(input.blocks[b].norm),
          kind_of(a.blocks[b].spec), bound.nonnegative_kernel ? "non-negative" : "signed",
          exact_text(bound.norm)));
    }
  }
}

void check_parts(const Artifact& a, Complaints& wrong) {
  const std::vector<features::CoordinatePart> coordinates = a.coordinates();
  std::vector<privacy::NoisePart> expected;
  for (const features::CoordinatePart& part : coordinates) {
    expected.push_back({{}, part.repeat});
    for (const features::CoordinateRun& run : part.runs) {
      const double drawn = privacy::lattice_sigma(a.noise.sigma, run.unit);
      if (!(drawn >= 1 && drawn <= static_cast<double>(privacy::kMaxSigmaLattice))) {
        wrong.push_back(fmt::format("sigma {} is out of range", exact_text(a.noise.sigma)));
        return;
      }
      expected.back().runs.push_back({run.count, run.unit, static_cast<std::uint64_t>(drawn)});
    }
  }
  if (expected != a.noise.parts) {
    wrong.push_back(
        fmt::format("the noise that was drawn is not sigma {} in the units of the blocks' numbers",
                    exact_text(a.noise.sigma)));
  }
}

/// The guarantee, derived once more from what it is claimed to follow from.
void check_guarantee(const Artifact& a, Complaints& wrong) {
  const privacy::NoisePlan& noise = a.noise;
  const privacy::SensitivityInput& input = noise.sensitivity_input;
  if (input.adjacency != a.adjacency || input.counts != a.counts ||
      (a.counts && input.counts_weight != a.counts_weight) ||
      input.max_records_per_person != a.max_records_per_person) {
    wrong.push_back("the noise was planned for another adjacency, counts or records per person");
    return;
  }
  check_bounds(a, wrong);
  if (!wrong.empty()) return;
  if (const double value = privacy::combined_sensitivity(input).value; value != noise.sensitivity.value) {
    wrong.push_back(fmt::format("the sensitivity is stated as {} and derived as {}",
                                exact_text(noise.sensitivity.value), exact_text(value)));
  }
  const double multiplier = privacy::noise_multiplier_for(noise.epsilon, noise.delta);
  if (!(std::fabs(noise.noise_multiplier / multiplier - 1.0) <= kCalibrationTolerance)) {
    wrong.push_back(fmt::format("a noise multiplier of {} is stated, but epsilon {} at delta {} means {}",
                                exact_text(noise.noise_multiplier), exact_text(noise.epsilon),
                                exact_text(noise.delta), exact_text(multiplier)));
  }
  if (noise.sigma != multiply_up(noise.noise_multiplier, noise.sensitivity.value)) {
    wrong.push_back(fmt::format("sigma is stated as {}, which is not noise multiplier x sensitivity",
                                exact_text(noise.sigma)));
  }
  if (wrong.empty()) check_parts(a, wrong);
}

}  // namespace

std::vector<std::string> contradictions(const Artifact& artifact) {
  Complaints wrong;
  for (const auto check : {check_shapes, check_guarantee, check_aggregation, check_records, check_values}) {
    try {
      check(artifact, wrong);
    } catch (const ConfigError& e) {
      wrong.push_back(e.what());
    } catch (const DataError& e) {
      wrong.push_back(e.what());
    }
    if (!wrong.empty()) break;
  }
  return wrong;
}

}  // namespace muffle::release
