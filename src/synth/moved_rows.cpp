#include "muffle/synth/moved_rows.hpp"

#include <fmt/format.h>

#include <cstring>

#include "draw_tile.hpp"

namespace muffle::synth {
namespace {

constexpr std::uint64_t kLookedAt = 8 * kTileRecords;

}  // namespace

std::vector<double> moved_shares(const model::Model& model) {
  const auto& table = model.info.schema.table;
  if (!table || table->constraints.empty()) return {};
  const ScopedThreads one_thread(1);
  Draw draw;
  draw.info = model.info;
  draw.sampler = model.sampler;
  draw.class_share = model.info.class_share;
  draw.spec.count = kLookedAt;
  const schema::RowRules rules(*table);
  const std::size_t dims = draw.info.schema.dims();
  std::vector<double> out(table->constraints.size(), 0.0);
  for (std::uint64_t tile = 0; tile < draw.tiles(); ++tile) {
    const std::string bytes = draw_tile(draw, tile);
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    const std::vector<std::uint8_t> labels = tile_labels(draw, tile);
    for (std::size_t r = 0; r < labels.size(); ++r) {
      for (const std::size_t rule : rules.all_broken(std::span(numbers).subspan(r * dims, dims), labels[r]))
        out[rule] += 1.0 / static_cast<double>(kLookedAt);
    }
  }
  return out;
}

std::vector<std::string> moving_rules(const model::Model& model) {
  const std::vector<double> shares = moved_shares(model);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (!(shares[i] > kMostMoved)) continue;
    const schema::Table& table = *model.info.schema.table;
    out.push_back(fmt::format(
        "{} moves {:.0f} % of the rows that this model draws: all samples will keep it, but their values of "
        "these columns follow another law than the records",
        schema::constraint_name(table, i), 100 * shares[i]));
  }
  return out;
}

}  // namespace muffle::synth
