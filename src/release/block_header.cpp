#include "block_header.hpp"

#include <limits>

#include "muffle/privacy/gaussian.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMost = std::uint64_t{1} << 31, kMaxSeed = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kMaxRuns = 16;

std::string_view lift_name(features::MomentLiftKind kind) {
  switch (kind) {
    case features::MomentLiftKind::kImage:
      return "image";
    case features::MomentLiftKind::kVector:
      return "vector";
    case features::MomentLiftKind::kFourier:
      return "fourier";
    case features::MomentLiftKind::kHermite:
      break;
  }
  return "hermite";
}

features::RffSpec read_rff(const Fields& f) {
  features::RffSpec rff;
  rff.dims = f.integer("dims", 1, kMost);
  rff.features = f.integer("features", 2, kMost);
  rff.length_scale = f.number("length_scale");
  rff.kind = f.choice("frequencies", {"dense", "orthogonal"}) == 0 ? features::FrequencyKind::kDense
                                                                   : features::FrequencyKind::kOrthogonal;
  rff.seed = f.integer("seed", 0, kMaxSeed);
  return rff;
}

features::MomentsSpec read_moments(const Fields& f) {
  features::MomentsSpec m;
  m.kind = static_cast<features::MomentLiftKind>(f.choice("lift", {"image", "vector", "fourier", "hermite"}));
  for (const json& entry : f.list("shape", 3)) {
    if (!entry.is_number_unsigned() || entry.get<std::uint64_t>() > kMost)
      f.fail("shape", "holds something that is not a size");
    m.shape.push_back(entry.get<std::uint64_t>());
  }
  m.coefficients = f.integer("coefficients", 0, 1 << 13);
  m.weight_exponent = f.number("weight_exponent");
  m.blob_height = f.number("blob_height");
  m.blob_radius = f.number("blob_radius");
  m.length_scale = f.number("length_scale");
  m.seed = f.integer("seed", 0, kMaxSeed);
  m.offset = f.number("offset");
  m.bits = static_cast<int>(f.integer("bits", 8, 20));
  return m;
}

}  // namespace

json map_to_json(const features::BlockSpec& spec) {
  if (const features::RffSpec* rff = spec.rff()) {
    return {{"dims", rff->dims},
            {"features", rff->features},
            {"length_scale", rff->length_scale},
            {"frequencies", rff->kind == features::FrequencyKind::kDense ? "dense" : "orthogonal"},
            {"seed", rff->seed}};
  }
  const features::MomentsSpec& m = *spec.moments();
  return {{"lift", lift_name(m.kind)},
          {"shape", m.shape},
          {"coefficients", m.coefficients},
          {"weight_exponent", m.weight_exponent},
          {"blob_height", m.blob_height},
          {"blob_radius", m.blob_radius},
          {"length_scale", m.length_scale},
          {"seed", m.seed},
          {"offset", m.offset},
          {"bits", m.bits}};
}

json run_to_header(const privacy::NoiseRun& run) {
  return {{"count", run.count}, {"unit", run.unit}, {"sigma_lattice", run.sigma_lattice}};
}

privacy::NoiseRun read_run(const Fields& f) {
  return {f.integer("count", 1, std::uint64_t{1} << 40), f.number("unit"),
          f.integer("sigma_lattice", 1, privacy::kMaxSigmaLattice)};
}

json block_to_header(const Artifact& a, std::size_t b) {
  const ReleasedBlock& block = a.blocks.at(b);
  const features::BlockBound& bound = a.noise.sensitivity_input.blocks.at(b);
  json runs = json::array();
  for (const privacy::NoiseRun& run : a.noise.parts.at(b).runs) runs.push_back(run_to_header(run));
  return {
      {"kind", kind_of(block.spec)},
      {"map", map_to_json(block.spec)},
      {"map_sha256", block.map_hash},
      {"weight", block.spec.weight},
      {"bound",
       {{"norm", bound.norm}, {"nonnegative_kernel", bound.nonnegative_kernel}, {"theorem", bound.theorem}}},
      {"numbers", runs}};
}

void read_block(const Fields& f, Artifact& a) {
  ReleasedBlock block;
  const Fields map = f.object("map");
  const std::size_t kind = f.choice("kind", {"rff", "moments", "proxy"});
  block.spec.proxy = kind == 2;
  if (kind == 1) {
    block.spec.map = read_moments(map);
  } else {
    block.spec.map = read_rff(map);
  }
  block.map_hash = f.text("map_sha256", 64);
  block.spec.weight = f.number("weight");
  const Fields bound = f.object("bound");
  a.noise.sensitivity_input.blocks.push_back(
      {bound.number("norm"), bound.flag("nonnegative_kernel"), bound.text("theorem", 1 << 12)});
  privacy::NoisePart part{{}, a.classes()};
  for (const json& entry : f.list("numbers", kMaxRuns))
    part.runs.push_back(read_run(f.element("numbers", entry)));
  a.noise.parts.push_back(std::move(part));
  a.blocks.push_back(std::move(block));
}

}  // namespace muffle::release
