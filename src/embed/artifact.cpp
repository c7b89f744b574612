#include "muffle/embed/artifact.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "artifact_header.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/privacy/round_up.hpp"

namespace muffle::embed {
namespace {

constexpr char kFormat[] = "muffle-release";

/// Logarithm and exponential may differ in their last digits between machines; the noise multiplier is
/// recomputed to this relative accuracy (the accountant promises 1e-9). Everything else is IEEE basic
/// arithmetic and must agree exactly.
constexpr double kCalibrationTolerance = 1e-9;

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

using Complaints = std::vector<std::string>;

void check_shapes(const Artifact& a, Complaints& wrong) {
  const auto within = [](std::uint64_t v, std::uint64_t low, std::uint64_t high) {
    return v >= low && v <= high;
  };
  try {
    a.schema.validate();
  } catch (const Error& e) {
    wrong.push_back(e.what());
    return;
  }
  if (a.schema.dims() != a.rff.dims) {
    wrong.push_back(fmt::format("the schema has {} numbers per record and the feature map {}",
                                a.schema.dims(), a.rff.dims));
  }
  if (!(a.rff.length_scale > 0 && std::isfinite(a.rff.length_scale))) {
    wrong.push_back(
        fmt::format("the length-scale {} is not a positive number", exact_text(a.rff.length_scale)));
  }
  if (!is_hash(a.frequencies_hash)) wrong.push_back("the frequencies' hash is not 64 hexadecimal digits");
  if (a.ranks < 1) wrong.push_back(fmt::format("it was made by {} ranks", a.ranks));
  if (a.lattice_bits < 8 || a.lattice_bits > 24) {
    wrong.push_back(fmt::format("the lattice has {} bits, not 8 to 24", a.lattice_bits));
    return;
  }
  if (!within(a.rff.features, 2, std::uint64_t{1} << 31) || a.rff.features % 2 != 0 ||
      !within(a.schema.classes, 1, std::uint64_t{1} << 20)) {
    wrong.push_back(fmt::format("{} features and {} classes are out of range, or the features not even",
                                a.rff.features, a.schema.classes));
    return;
  }
  const std::uint64_t expected = a.classes() * a.features() + (a.counts ? a.classes() : 0);
  if (a.values.size() != expected) {
    wrong.push_back(fmt::format("it holds {} values, but {} classes x {} features{} need {}", a.values.size(),
                                a.classes(), a.features(), a.counts ? " and the counts" : "", expected));
  }
}

void check_records(const Artifact& a, Complaints& wrong) {
  const bool replace = a.adjacency == privacy::Adjacency::kReplaceOne;
  const double units = std::ldexp(1.0, a.lattice_bits);
  if (replace && !(a.records >= 1 && static_cast<double>(a.records) * units < 0x1p62)) {
    wrong.push_back(fmt::format("the public number of records {} is 0 or overflows the lattice", a.records));
  }
  if (!replace && (a.records != 0 || !a.counts)) {
    wrong.push_back("under add/remove-one the number of records is private and noisy counts take its place");
  }
  if (a.counts && !(a.counts_weight <= 1 && a.counts_weight * units >= 1)) {
    wrong.push_back(fmt::format("the counts' weight {} is out of range", exact_text(a.counts_weight)));
  }
  if (!wrong.empty()) return;
  // Noise beyond 100 sigma does not happen, and sums beyond m 2^k cannot.
  const double sum = replace ? static_cast<double>(a.records) * units : 0x1p62;
  const double limit = sum + 100.0 * noise_of_each_value(a);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (std::fabs(static_cast<double>(a.values[i])) > limit) {
      wrong.push_back(fmt::format("value {} is larger than the records and the noise can make it", i));
      return;
    }
  }
}

void check_aggregation(const Artifact& a, Complaints& wrong) {
  if (a.aggregation.masked && a.aggregation.ranks != a.ranks)
    wrong.push_back("it was made by one number of ranks and aggregated over another");
  try {
    privacy::require_valid(a.aggregation);
    if (a.aggregation.distributed)
      privacy::plan_distributed_noise(a.noise, a.aggregation.ranks, a.aggregation.colluding);
  } catch (const ConfigError& e) {
    wrong.push_back(e.what());
  }
}

/// The guarantee, derived once more from what it is claimed to follow from.
void check_guarantee(const Artifact& a, Complaints& wrong) {
  const privacy::NoisePlan& noise = a.noise;
  const privacy::SensitivityInput& input = noise.sensitivity_input;
  if (noise.lattice_bits != a.lattice_bits || input.adjacency != a.adjacency || input.counts != a.counts ||
      (a.counts && input.counts_weight != a.counts_weight) ||
      input.max_records_per_person != a.max_records_per_person) {
    wrong.push_back("the noise was planned for another lattice, adjacency, counts or records per person");
    return;
  }
  if (input.blocks.size() != 1 || input.blocks[0].nonnegative_kernel || !(input.blocks[0].norm >= 1.0)) {
    wrong.push_back(
        "random Fourier features are one signed block of norm 1, and the sensitivity was derived for "
        "another");
    return;
  }
  try {
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
  } catch (const ConfigError& e) {
    wrong.push_back(e.what());
    return;
  }
  if (noise.sigma != privacy::multiply_up(noise.noise_multiplier, noise.sensitivity.value) ||
      static_cast<double>(noise.sigma_lattice) != std::ceil(std::ldexp(noise.sigma, a.lattice_bits))) {
    wrong.push_back(
        fmt::format("sigma is stated as {} ({} lattice units), which is not noise multiplier x sensitivity",
                    exact_text(noise.sigma), noise.sigma_lattice));
  }
}

}  // namespace

std::vector<std::string> contradictions(const Artifact& artifact) {
  Complaints wrong;
  check_shapes(artifact, wrong);
  if (wrong.empty()) check_guarantee(artifact, wrong);
  if (wrong.empty()) check_aggregation(artifact, wrong);
  if (wrong.empty()) check_records(artifact, wrong);
  return wrong;
}

std::string write_artifact(const std::filesystem::path& path, const Artifact& artifact) {
  if (const Complaints wrong = contradictions(artifact); !wrong.empty()) {
    throw InvariantError(fmt::format(
        "the release for '{}' contradicts itself and was not written: {}. This is a bug in muffle.",
        path.string(), fmt::join(wrong, "; ")));
  }
  Container container;
  container.header = to_header(artifact);
  container.payload.resize(artifact.values.size() * 8);
  for (std::size_t i = 0; i < artifact.values.size(); ++i) {
    const auto bits = static_cast<std::uint64_t>(artifact.values[i]);
    for (std::size_t j = 0; j < 8; ++j)
      container.payload[8 * i + j] = static_cast<std::byte>(bits >> (8 * j) & 0xFF);
  }
  return write_container(path, container);
}

Artifact parse_artifact(std::string_view bytes, const std::string& name) {
  const Container container = parse_container(bytes, kFormat, kArtifactVersion, name);
  const auto refuse = [&](const std::string& why) {
    return ProtocolError(
        fmt::format("'{}' is not a release that muffle can use: {}. Copy the file again from where it was "
                    "made; a release must not be drawn again to replace it.",
                    name, why));
  };
  Artifact artifact = from_header(container.header, name);
  const auto declared = container.header.at("values").at("count").get<std::uint64_t>();
  if (container.payload.size() % 8 != 0 || declared != container.payload.size() / 8) {
    throw refuse(fmt::format("it declares {} values of 8 bytes, but holds {} bytes of values", declared,
                             container.payload.size()));
  }
  artifact.values.resize(container.payload.size() / 8);
  for (std::size_t i = 0; i < artifact.values.size(); ++i) {
    std::uint64_t bits = 0;
    for (std::size_t j = 0; j < 8; ++j)
      bits |= std::to_integer<std::uint64_t>(container.payload[8 * i + j]) << (8 * j);
    artifact.values[i] = static_cast<std::int64_t>(bits);
  }
  if (const Complaints wrong = contradictions(artifact); !wrong.empty()) {
    throw refuse(fmt::format("{}", fmt::join(wrong, "; ")));
  }
  return artifact;
}

Artifact read_artifact(const std::filesystem::path& path) {
  return parse_artifact(read_file(path), path.string());
}

double noise_of_each_value(const Artifact& a) {
  return a.aggregation.distributed
             ? privacy::plan_distributed_noise(a.noise, a.aggregation.ranks, a.aggregation.colluding)
                   .total_sigma
             : static_cast<double>(a.noise.sigma_lattice);
}

std::string hash_frequencies(std::span<const float> frequencies) {
  return to_hex(sha256(std::as_bytes(frequencies)));
}

void check_frequencies(const Artifact& artifact, std::span<const float> frequencies) {
  const std::string rebuilt = hash_frequencies(frequencies);
  if (rebuilt != artifact.frequencies_hash) {
    throw ProtocolError(fmt::format(
        "the {} frequencies rebuilt from the release's seed {} are not those that the release was made with "
        "(SHA-256 {} "
        "instead of {}): training against it would match noise. Use the muffle that made it, version {}.",
        frequencies.size(), artifact.rff.seed, rebuilt, artifact.frequencies_hash, artifact.muffle_version));
  }
}

}  // namespace muffle::embed
