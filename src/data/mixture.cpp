#include "muffle/data/mixture.hpp"

#include <array>
#include <span>
#include <vector>

#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {
namespace {

constexpr std::size_t kPointsPerCentre = 4000;
constexpr std::size_t kPoints = kPointsPerCentre * kMixtureGrid * kMixtureGrid;
constexpr std::size_t kTestPoints = kPoints / 10;
constexpr std::uint32_t kCoordinates = 0, kOrder = 1;  // substreams

void write_part(const std::filesystem::path& stem, std::span<const std::int64_t> indices,
                std::uint64_t seed) {
  const CounterStream stream(seed, Stream::kMixtureData, kCoordinates);
  std::vector<float> points;
  std::vector<std::uint8_t> labels;
  for (const std::int64_t index : indices) {
    const auto i = static_cast<std::uint64_t>(index);
    const auto centre = static_cast<int>(i / kPointsPerCentre);
    const int column = centre % kMixtureGrid, row = centre / kMixtureGrid;
    points.push_back(static_cast<float>(column + kMixtureStd * stream.normal(2 * i)));
    points.push_back(static_cast<float>(row + kMixtureStd * stream.normal(2 * i + 1)));
    labels.push_back(static_cast<std::uint8_t>(mixture_class(column, row)));
  }
  write_idx(stem.string() + "-points.idx", std::array{indices.size(), std::size_t{2}}, points);
  write_idx(stem.string() + "-labels.idx", std::array{indices.size()}, labels);
}

}  // namespace

void write_mixture(const std::filesystem::path& folder, std::uint64_t seed) {
  ensure_writable_folder(folder);
  const CounterStream stream(seed, Stream::kMixtureData, kOrder);
  const std::vector<std::int64_t> order = shuffled_indices(stream, kPoints);
  const std::span<const std::int64_t> all(order);
  write_part(folder / "mixture-train", all.first(kPoints - kTestPoints), seed);
  write_part(folder / "mixture-test", all.last(kTestPoints), seed);
}

}  // namespace muffle::data
