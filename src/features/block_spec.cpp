#include "muffle/features/block_spec.hpp"

#include "muffle/core/hash.hpp"
#include "muffle/features/weighted.hpp"

namespace muffle::features {
namespace {

std::size_t product(const std::vector<std::size_t>& shape) {
  std::size_t p = 1;
  for (const std::size_t n : shape) p *= n;
  return p;
}

}  // namespace

std::string_view kind_of(const BlockSpec& spec) {
  if (spec.moments()) return "moments";
  return spec.proxy ? "proxy" : "rff";
}

std::size_t dims_of(const BlockSpec& spec) {
  return spec.rff() ? spec.rff()->dims : product(spec.moments()->shape);
}

std::size_t features_of(const BlockSpec& spec) {
  if (spec.rff()) return spec.rff()->features;
  const std::size_t q = moments_order(*spec.moments());
  return q * (q + 1) / 2;
}

BlockBound bound_of(const BlockSpec& spec) {
  return weighted(spec.rff() ? rff_bound() : moments_bound(), spec.weight);
}

std::vector<CoordinateRun> coordinates_of(const BlockSpec& spec, const Lattice& lattice) {
  return weighted(spec.rff() ? rff_coordinates(*spec.rff(), lattice) : moments_coordinates(*spec.moments()),
                  spec.weight);
}

double numbers_in_map(const BlockSpec& spec) {
  if (const RffSpec* rff = spec.rff())
    return 0.5 * static_cast<double>(rff->features) * static_cast<double>(rff->dims);
  const MomentsSpec& m = *spec.moments();
  const auto dims = static_cast<double>(dims_of(spec)), order = static_cast<double>(moments_order(m));
  return m.kind == MomentLiftKind::kFourier ? 0.5 * order * dims : dims + order;
}

std::string map_hash(const BlockSpec& spec) {
  if (spec.moments()) return MomentLift(*spec.moments()).hash();
  const std::vector<float> frequencies = rff_frequencies(*spec.rff());
  return to_hex(sha256(std::as_bytes(std::span(frequencies))));
}

void require_no_overflow(std::uint64_t records, const BlockSpec& spec, const Lattice& lattice) {
  if (spec.moments()) {
    require_no_overflow(records, *spec.moments());
  } else {
    require_no_overflow(records, lattice);
  }
}

}  // namespace muffle::features
