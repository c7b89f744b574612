#include "draw_tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <thread>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/schema/scaling.hpp"

namespace muffle::synth {
namespace {

std::vector<std::int64_t> labels_of(const Draw& draw, std::uint64_t first, std::size_t n) {
  return model::draw_labels(draw.spec.seed, /*training=*/false, /*substream=*/0, first, n, draw.spec.count,
                            draw.class_share, /*stratified=*/true);
}

}  // namespace

std::size_t Draw::tile_records(std::uint64_t tile) const {
  return static_cast<std::size_t>(std::min<std::uint64_t>(kTileRecords, spec.count - tile * kTileRecords));
}

double Draw::working_bytes() const {
  const double numbers = info.generator->numbers_at_once(info.schema);
  return std::max(sizeof(float) * static_cast<double>(kTileRecords) * numbers, tile_bytes(info.schema));
}

std::size_t drawing_threads(const Draw& draw, int threads, double working_bytes) {
  const double fit = std::floor(working_bytes / draw.working_bytes());
  return static_cast<std::size_t>(std::clamp(fit, 1.0, static_cast<double>(std::max(1, threads))));
}

std::vector<std::uint8_t> tile_labels(const Draw& draw, std::uint64_t tile) {
  const std::vector<std::int64_t> labels = labels_of(draw, tile * kTileRecords, draw.tile_records(tile));
  std::vector<std::uint8_t> out;
  for (const std::int64_t label : labels) out.push_back(static_cast<std::uint8_t>(label));
  return out;
}

void finish_records(std::span<float> x, std::size_t dims, const SampleSpec& spec, std::uint64_t first) {
  for (float& value : x) {
    if (static_cast<double>(value) < spec.floor) value = 0.0F;
  }
  if (!(spec.stray > 0)) return;
  const CounterStream stream(spec.seed, Stream::kSampleFinish);
  const std::vector<float> drawn(x.begin(), x.end());
  const std::size_t n = x.size() / dims;
  const double log_stays = portable_log(1.0 - spec.stray);
  for (std::size_t r = 0; r < n; ++r) {
    // How many numbers stay between two strays follows the geometric law.
    std::uint64_t at = 2 * (first + r) * (dims + 1);
    for (std::size_t i = 0; i < dims; ++i, at += 2) {
      const double stay = std::floor(portable_log(stream.uniform(at)) / log_stays);
      if (!(stay < static_cast<double>(dims - i))) break;
      i += static_cast<std::size_t>(stay);
      x[r * dims + i] = drawn[stream.below(at + 1, n) * dims + i];
    }
  }
}

std::string draw_tile(const Draw& draw, std::uint64_t tile) {
  const schema::Schema& schema = draw.info.schema;
  const std::uint64_t first = tile * kTileRecords;
  const std::size_t n = draw.tile_records(tile), dims = schema.dims();
  std::vector<float> unit(n * dims);
  draw.sampler->draw(draw.spec.seed, first, labels_of(draw, first, n), unit);
  finish_records(unit, dims, draw.spec, first);
  const schema::SampleScaling scaling(schema);
  std::string out(n * draw.record_bytes(), '\0');
  for (std::size_t i = 0; i < n * dims; ++i) {
    if (!std::isfinite(unit[i])) {
      throw InvariantError(
          fmt::format("the model made a number that is not finite in sample {}: its training has diverged. "
                      "Train again with a smaller train.learning_rate.",
                      first + i / dims));
    }
    const double u = std::clamp(static_cast<double>(unit[i]), 0.0, 1.0);
    if (draw.as_bytes()) {
      out[i] = static_cast<char>(schema::SampleScaling::to_byte(u));
    } else {
      const float value = scaling.to_number(u);
      std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
    }
  }
  return out;
}

std::vector<std::string> draw_tiles(const Draw& draw, const std::vector<std::uint64_t>& tiles, int threads,
                                    const Heartbeat& heartbeat, double working_bytes) {
  std::vector<std::string> out(tiles.size());
  const std::size_t workers = std::min(tiles.size(), drawing_threads(draw, threads, working_bytes));
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> errors(tiles.size());
  const auto work = [&](const std::function<void()>& drawn) {
    for (std::size_t i = next++; i < tiles.size(); i = next++) {
      try {
        out[i] = draw_tile(draw, tiles[i]);
        drawn();
      } catch (...) {
        errors[i] = std::current_exception();
        next = tiles.size();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < workers; ++i) helpers.emplace_back(work, [] {});
    work([&] { beat(heartbeat); });
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return out;
}

}  // namespace muffle::synth
