#include "muffle/embed/self_check.hpp"

#include <span>

#include "muffle/core/philox.hpp"

namespace muffle::embed {
namespace {

constexpr std::size_t kRecords = 64;
constexpr std::uint64_t kSeed = 64;

Sha256Digest of(std::size_t classes, std::span<const std::shared_ptr<const features::Block>> blocks) {
  const CounterStream stream(kSeed, Stream::kTest);
  std::vector<std::uint64_t> all;
  for (const auto& block : blocks) {
    const auto workspace = block->make_workspace();
    std::vector<std::uint64_t> sums(classes * block->features(), 0);
    std::vector<float> record(block->dims());
    for (std::size_t i = 0; i < kRecords; ++i) {
      for (std::size_t j = 0; j < record.size(); ++j)
        record[j] = static_cast<float>(stream.below(i * record.size() + j, 1025)) / 1024;
      const auto label = static_cast<std::int32_t>(i % classes);
      block->accumulate(record.data(), &label, 1, *workspace, sums);
    }
    all.insert(all.end(), sums.begin(), sums.end());
  }
  return sha256(PublicBytes(std::as_bytes(std::span(all))));
}

}  // namespace

Sha256Digest self_check(const Embedder& embedder) { return of(embedder.plan.classes(), embedder.blocks); }

Sha256Digest self_check(const release::ReleasePlan& plan) {
  std::vector<std::shared_ptr<const features::Block>> blocks;
  for (const features::NamedMap& map : plan.maps) {
    if (!map.map->needs_torch()) blocks.push_back(map.map->make_block(plan.lattice));
  }
  return of(plan.classes(), blocks);
}

}  // namespace muffle::embed
