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
#include "sharpen.hpp"

namespace muffle::synth {
namespace {

/// What an outlier's deviation from its class's mean is multiplied by.
constexpr float kFar = 4.0F;
/// How far a mixed record lies on the way to another class: nearer to its own, or its label would be wrong.
constexpr float kMixed = 0.4F;
/// Of a stray's disc, as a share of the image's shorter side: 3 pixels of 28. Narrower ones than of
/// kLeastRadius pixels would be seen as salt.
constexpr double kPatchRadius = 3.0 / 28.0, kLeastRadius = 2.0;
/// Substreams of Stream::kSampleFinish.
constexpr std::uint32_t kStrays = 0, kOutliers = 1, kMixtures = 2;

std::vector<std::int64_t> labels_of(const Draw& draw, std::uint64_t first, std::size_t n) {
  return sampling::draw_labels(draw.spec.seed, /*training=*/false, /*substream=*/0, first, n, draw.spec.count,
                               draw.class_share, /*stratified=*/true);
}

/// Calls stray(place, donor) for strays of one record of n: each of `places` has one with probability
/// `share`, so that how many have none between two follows the geometric law.
template <class Stray>
void for_strays(const CounterStream& stream, double share, std::uint64_t record, std::size_t places,
                std::size_t n, Stray stray) {
  const double log_none = portable_log(1.0 - share);
  std::uint64_t at = 2 * record * (places + 1);
  for (std::size_t place = 0; place < places; ++place, at += 2) {
    const double none = std::floor(portable_log(stream.uniform(at)) / log_none);
    if (!(none < static_cast<double>(places - place))) return;
    place += static_cast<std::size_t>(none);
    stray(place, stream.below(at + 1, n));
  }
}

/// A contaminated normal law (Tukey 1960), and records between two classes (as of mixup: Zhang et al. 2018).
/// Empty: no record departs from its law.
/// @param classes  C, labels below it
std::vector<sampling::Departure> departures_of(const SampleSpec& spec, std::size_t classes,
                                               std::uint64_t first, const std::vector<std::int64_t>& labels) {
  std::vector<sampling::Departure> out;
  if (spec.outliers == 0 && spec.mixed == 0) return out;
  const CounterStream outliers(spec.seed, Stream::kSampleFinish, kOutliers),
      mixtures(spec.seed, Stream::kSampleFinish, kMixtures);
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const std::uint64_t record = first + r;
    sampling::Departure& departure = out.emplace_back();
    departure.other = labels[r];
    if (outliers.uniform(record) < spec.outliers) departure.spread = kFar;
    if (classes == 1 || !(mixtures.uniform(2 * record) < spec.mixed)) continue;
    const auto further = static_cast<std::int64_t>(1 + mixtures.below(2 * record + 1, classes - 1));
    departure.other = (labels[r] + further) % static_cast<std::int64_t>(classes);
    departure.toward = kMixed;
  }
  return out;
}

void stray_numbers(std::span<float> x, std::size_t dims, const SampleSpec& spec, std::uint64_t first) {
  const CounterStream stream(spec.seed, Stream::kSampleFinish, kStrays);
  const std::vector<float> drawn(x.begin(), x.end());
  const std::size_t n = x.size() / dims;
  for (std::size_t r = 0; r < n; ++r) {
    for_strays(stream, spec.stray, first + r, dims, n,
               [&](std::size_t i, std::size_t donor) { x[r * dims + i] = drawn[donor * dims + i]; });
  }
}

/// What a soft disc takes over of each pixel: (1 - distance^2 / radius^2)^2.
struct Disc {
  std::size_t reach;         ///< to either side of the middle
  std::vector<float> share;  ///< (2 reach + 1)^2
  double area = 0.0;         ///< their sum

  explicit Disc(double radius) : reach(static_cast<std::size_t>(radius)) {
    const auto square = [&](std::size_t i) {
      const double away = static_cast<double>(i) - static_cast<double>(reach);
      return away * away;
    };
    for (std::size_t i = 0; i < width(); ++i) {
      for (std::size_t j = 0; j < width(); ++j) {
        const double inside = std::max(0.0, 1.0 - (square(i) + square(j)) / (radius * radius));
        share.push_back(static_cast<float>(inside * inside));
        area += inside * inside;
      }
    }
  }
  std::size_t width() const { return 2 * reach + 1; }
};

/// Pixels of images vary with their neighbours: single ones of another image would be seen as salt.
void stray_patches(std::span<float> x, const schema::Schema& schema, const SampleSpec& spec,
                   std::uint64_t first) {
  const std::size_t channels = schema.shape[0], height = schema.shape[1], width = schema.shape[2];
  const Disc disc(std::max(kLeastRadius, kPatchRadius * static_cast<double>(std::min(height, width))));
  // Their middles lie up to `reach` outside too, so that the margins have as many strays as the rest.
  const std::size_t columns = width + 2 * disc.reach, places = (height + 2 * disc.reach) * columns;
  const CounterStream stream(spec.seed, Stream::kSampleFinish, kStrays);
  const std::vector<float> drawn(x.begin(), x.end());
  const std::size_t dims = schema.dims(), n = x.size() / dims;
  for (std::size_t r = 0; r < n; ++r) {
    for_strays(
        stream, spec.stray / disc.area, first + r, places, n, [&](std::size_t place, std::size_t donor) {
          // Rows and columns count from `reach` outside the image, as the disc's do from its own corner.
          const std::size_t top = place / columns, left = place % columns;
          for (std::size_t i = 0; i < disc.width(); ++i) {
            if (top + i < 2 * disc.reach || top + i >= height + 2 * disc.reach) continue;
            for (std::size_t j = 0; j < disc.width(); ++j) {
              if (left + j < 2 * disc.reach || left + j >= width + 2 * disc.reach) continue;
              const float share = disc.share[i * disc.width() + j];
              const std::size_t pixel = (top + i - 2 * disc.reach) * width + (left + j - 2 * disc.reach);
              for (std::size_t c = 0; c < channels; ++c) {
                float& own = x[r * dims + c * height * width + pixel];
                own += share * (drawn[donor * dims + c * height * width + pixel] - own);
              }
            }
          }
        });
  }
}

/// Which of its person's each row is, as the files will say by their keys: the model knows its law alone.
void number_rows(const Draw& draw, std::uint64_t first, std::span<float> x) {
  const schema::Table& table = *draw.info.schema.table;
  const std::vector<std::size_t> features = table.features();
  const std::size_t counted = table.counted_person().value(), rows = table.columns[counted].codes();
  const auto at = static_cast<std::size_t>(std::ranges::find(features, counted) - features.begin());
  for (std::size_t r = 0; r < x.size() / features.size(); ++r) {
    const auto number = static_cast<std::uint32_t>(std::min(draw.persons->at(first + r).number, rows - 1));
    x[r * features.size() + at] = schema::position({number, 0.5F}, rows);
  }
}

/// @param first  the index of the first of these records
void require_finite(std::span<const float> x, std::size_t dims, std::uint64_t first) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) {
      throw InvariantError(
          fmt::format("the model made a number that is not finite in sample {}: its training has diverged. "
                      "Train again with a smaller train.learning_rate.",
                      first + i / dims));
    }
  }
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

void finish_records(std::span<float> x, const schema::Schema& schema, const SampleSpec& spec,
                    std::uint64_t first, double blur) {
  if (spec.stray > 0 && schema.is_image()) {
    stray_patches(x, schema, spec, first);
  } else if (spec.stray > 0) {
    stray_numbers(x, schema.dims(), spec, first);
  }
  if (spec.sharpen * blur > 0 && schema.is_image()) sharpen(x, schema, spec.sharpen * blur);
  for (float& value : x) {
    if (static_cast<double>(value) < spec.floor) value = 0.0F;
  }
}

std::string draw_tile(const Draw& draw, std::uint64_t tile) {
  const schema::Schema& schema = draw.info.schema;
  const std::uint64_t first = tile * kTileRecords;
  const std::size_t n = draw.tile_records(tile), dims = schema.dims();
  std::vector<float> unit(n * dims);
  const std::vector<std::int64_t> labels = labels_of(draw, first, n);
  draw.sampler->draw(draw.spec.seed, first, labels, unit,
                     departures_of(draw.spec, schema.classes, first, labels));
  finish_records(unit, schema, draw.spec, first, draw.sampler->blur());
  require_finite(unit, dims, first);
  if (draw.rules) {
    for (std::size_t r = 0; r < n; ++r) draw.rules->mend(std::span(unit).subspan(r * dims, dims), labels[r]);
  }
  if (draw.persons) number_rows(draw, first, unit);
  const schema::SampleScaling scaling(schema);
  std::string out(n * draw.record_bytes(), '\0');
  for (std::size_t i = 0; i < n * dims; ++i) {
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
