#include "draw_tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <span>
#include <thread>

#include "finish.hpp"
#include "muffle/core/error.hpp"
#include "muffle/schema/scaling.hpp"

namespace muffle::synth {
namespace {

[[noreturn]] void throw_not_finite(std::uint64_t record) {
  throw InvariantError(
      fmt::format("the model made a number that is not finite in sample {}: its training has diverged. Train "
                  "again with a smaller train.learning_rate.",
                  record));
}

torch::Tensor labels_of(const Draw& draw, std::uint64_t first, std::size_t n) {
  return model::draw_labels(draw.spec.seed, /*training=*/false, /*substream=*/0, first, n, draw.spec.count,
                            draw.class_share, /*stratified=*/true);
}

/// float32 numbers that a model has at once for each record, at most, its d numbers and their copy included.
double numbers_at_once(const model::GeneratorSpec& spec) {
  const auto d = static_cast<double>(spec.schema.dims());
  // The closed form: a record, its normal numbers and what the factor makes of them, both at most d.
  if (spec.kind == model::GeneratorKind::kMoments) return 3 * d;
  // The last layer, its sigmoid and the copy; or what the closed form beside the network takes in tensors.
  double numbers = static_cast<double>(spec.code) + (spec.residual ? 10 : 3) * d;
  // A layer's input and output; of images also the library's copy in an order of its own.
  for (const std::size_t width : spec.hidden) numbers += 2 * static_cast<double>(width);
  if (spec.kind == model::GeneratorKind::kConvolutional) {
    const double pixels = static_cast<double>(spec.schema.shape[1] * spec.schema.shape[2]);
    const auto first = static_cast<double>(spec.channels[0]), second = static_cast<double>(spec.channels[1]);
    numbers += 2 * pixels * (first / 16 + first / 4 + second / 4 + second);
  }
  return numbers;
}

/// n x d numbers, in [0, 1] up to rounding.
std::vector<float> unit_records(const Draw& draw, std::uint64_t first, std::size_t n) {
  const torch::Tensor labels = labels_of(draw, first, n);
  if (draw.moments) {
    std::vector<float> out(n * draw.info.spec.schema.dims());
    draw.moments->draw(draw.spec.seed, first, std::span(labels.data_ptr<std::int64_t>(), n), out);
    return out;
  }
  const torch::NoGradGuard no_grad;
  const torch::Tensor z =
      draw.generator->codes(draw.spec.seed, /*training=*/false, /*substream=*/0, first, n);
  const torch::Tensor made = draw.generator->forward(z, labels).contiguous();
  return {made.data_ptr<float>(), made.data_ptr<float>() + made.numel()};
}

}  // namespace

std::size_t Draw::tile_records(std::uint64_t tile) const {
  return static_cast<std::size_t>(std::min<std::uint64_t>(kTileRecords, spec.count - tile * kTileRecords));
}

double Draw::working_bytes() const {
  const double model = sizeof(float) * static_cast<double>(kTileRecords) * numbers_at_once(info.spec);
  return std::max(model, tile_bytes(info.spec.schema));
}

std::size_t drawing_threads(const Draw& draw, int threads, double working_bytes) {
  const double fit = std::floor(working_bytes / draw.working_bytes());
  return static_cast<std::size_t>(std::clamp(fit, 1.0, static_cast<double>(std::max(1, threads))));
}

std::vector<std::uint8_t> tile_labels(const Draw& draw, std::uint64_t tile) {
  const torch::Tensor labels = labels_of(draw, tile * kTileRecords, draw.tile_records(tile));
  const std::int64_t* first = labels.data_ptr<std::int64_t>();
  return std::vector<std::uint8_t>(first, first + labels.size(0));
}

std::string draw_tile(const Draw& draw, std::uint64_t tile) {
  const schema::Schema& schema = draw.info.spec.schema;
  const std::uint64_t first = tile * kTileRecords;
  const std::size_t n = draw.tile_records(tile), dims = schema.dims();
  std::vector<float> unit = unit_records(draw, first, n);
  require(unit.size() == n * dims, "the generator's records do not fit its schema");
  finish_records(unit, dims, draw.spec, first);
  const schema::SampleScaling scaling(schema);
  std::string out(n * draw.record_bytes(), '\0');
  for (std::size_t i = 0; i < n * dims; ++i) {
    if (!std::isfinite(unit[i])) throw_not_finite(first + i / dims);
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
                                    const std::function<void()>& heartbeat, double working_bytes) {
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
    work(heartbeat);
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return out;
}

}  // namespace muffle::synth
