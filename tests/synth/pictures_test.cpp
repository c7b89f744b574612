#include "muffle/synth/pictures.hpp"

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <map>

#include "support/expect_error.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::synth {
namespace {

using muffle::test::expect_error;
using muffle::test::write_whole;
using schema::Records;

struct Picture {
  std::size_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> pixels;
  std::array<int, 3> at(std::size_t y, std::size_t x) const {
    const std::uint8_t* p = pixels.data() + (y * width + x) * channels;
    return channels == 3 ? std::array<int, 3>{p[0], p[1], p[2]} : std::array<int, 3>{p[0], p[0], p[0]};
  }
};

/// What libpng reads back.
Picture read_png(const std::filesystem::path& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_file(&image, path.c_str())) << path << image.message;
  const bool colour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  image.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Picture out{image.height, image.width, colour ? 3u : 1u, {}};
  out.pixels.resize(PNG_IMAGE_SIZE(image));
  EXPECT_TRUE(png_image_finish_read(&image, nullptr, out.pixels.data(), 0, nullptr)) << image.message;
  return out;
}

Records images(std::vector<std::size_t> shape, const std::vector<std::uint8_t>& labels) {
  Records r;
  r.shape = std::move(shape);
  r.labels = labels;
  const std::size_t n = labels.size() * r.shape[0] * r.shape[1] * r.shape[2];
  for (std::size_t i = 0; i < n; ++i) r.bytes.push_back(static_cast<std::uint8_t>(i * 37 % 251));
  return r;
}

schema::Schema plane(double lo, double hi) { return {.shape = {2}, .lo = lo, .hi = hi}; }

class Images : public ::testing::Test {
 protected:
  muffle::test::TemporaryFolder folder_;
};

TEST_F(Images, PngKeepsEveryPixel) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 5 * 7 * 3; ++i) pixels.push_back(static_cast<std::uint8_t>(i * 91));
  write_png(folder_ / "rgb.png", pixels, 5, 7, 3);
  Picture p = read_png(folder_ / "rgb.png");
  EXPECT_EQ(p.channels, 3u);
  EXPECT_EQ(p.height, 5u);
  EXPECT_EQ(p.width, 7u);
  EXPECT_EQ(p.pixels, pixels);
  write_png(folder_ / "grey.png", pixels, 15, 7, 1);
  p = read_png(folder_ / "grey.png");
  EXPECT_EQ(p.channels, 1u);
  EXPECT_EQ(p.pixels, pixels);
}

TEST_F(Images, PngRefusesSizesThatDisagree) {
  const std::vector<std::uint8_t> pixels(12);
  EXPECT_THROW(write_png(folder_ / "a.png", pixels, 3, 3, 1), InvariantError);
  EXPECT_THROW(write_png(folder_ / "a.png", pixels, 3, 2, 2), InvariantError);
  EXPECT_THROW(write_png(folder_ / "a.png", {}, 0, 0, 1), InvariantError);
  expect_error(ExitCode::kIo, {"/proc/a.png"}, [&] { write_png("/proc/a.png", pixels, 3, 4, 1); });
}

TEST_F(Images, GridShowsTheFirstRecordsOfEachClassInItsRow) {
  const Records r = images({1, 3, 4}, {1, 0, 1, 1, 9});
  write_whole(*image_grid_writer(folder_ / "grid.png", r.kind(), 3, 2), r);
  const Picture p = read_png(folder_ / "grid.png");
  EXPECT_EQ(p.height, 3u * 3 + 2 * 2);
  EXPECT_EQ(p.width, 2u * 4 + 2);
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> shown{{{0, 0}, 1}, {{1, 0}, 0}, {{1, 1}, 2}};
  for (std::size_t y = 0; y < p.height; ++y) {
    for (std::size_t x = 0; x < p.width; ++x) {
      const bool gap = y % 5 >= 3 || x % 6 >= 4;
      const auto cell = shown.find({y / 5, x / 6});
      const int want = gap || cell == shown.end() ? 255 : r.bytes[cell->second * 12 + y % 5 * 4 + x % 6];
      ASSERT_EQ(p.at(y, x)[0], want) << y << ' ' << x;
    }
  }
}

TEST_F(Images, OnlyImagesBecomePictures) {
  const Records r{{2}, {}, {0.0f, 1.0f}, {0}};
  expect_error(ExitCode::kConfig, {"PNG"}, [&] { image_grid_writer(folder_ / "g.png", r.kind(), 1, 1); });
  expect_error(ExitCode::kConfig, {"PNG"}, [&] {
    image_grid_writer(folder_ / "g.png", images({2, 2, 2}, {0}).kind(), 1, 1);
  });
  expect_error(ExitCode::kConfig, {"two numbers", "have 8"}, [&] {
    scatter_writer(folder_ / "a.png", images({2, 2, 2}, {0}).kind(), plane(0, 1));
  });
}

TEST_F(Images, ScatterPutsPointsWhereTheAxesSay) {
  const schema::Schema schema = plane(-1.0, 5.0);
  Records r;
  r.shape = schema.shape;
  write_whole(*scatter_writer(folder_ / "empty.png", r.kind(), schema), r);
  const Picture empty = read_png(folder_ / "empty.png");
  r.floats = {-1, -1, 5, 5, 2, 2, -1, 5, std::nanf(""), 0, 99, 0};
  r.labels = {0, 1, 2, 13, 0, 0};
  write_whole(*scatter_writer(folder_ / "points.png", r.kind(), schema), r);
  const Picture p = read_png(folder_ / "points.png");
  ASSERT_EQ(p.pixels.size(), empty.pixels.size());
  // The plot is the square framed by the ink; a changed pixel tells where a point went.
  std::vector<std::pair<double, double>> changed;
  std::size_t left = p.width, right = 0, top = p.height, bottom = 0;
  for (std::size_t y = 0; y < p.height; ++y) {
    for (std::size_t x = 0; x < p.width; ++x) {
      if (p.at(y, x) == empty.at(y, x)) continue;
      changed.emplace_back(x, y);
      left = std::min(left, x), right = std::max(right, x), top = std::min(top, y),
      bottom = std::max(bottom, y);
    }
  }
  const double side = static_cast<double>(right - left);
  EXPECT_EQ(right - left, bottom - top);
  EXPECT_GT(side, 600.0);
  // Four marks and nothing of the points that are NaN or outside: bottom left, top right, centre, top left.
  int corners = 0, centre = 0;
  for (const auto& [x, y] : changed) {
    const double u = (x - static_cast<double>(left)) / side, v = (static_cast<double>(bottom) - y) / side;
    const bool middle = std::fabs(u - 0.5) < 0.01 && std::fabs(v - 0.5) < 0.01;
    const bool bottom_left = u < 0.01 && v<0.01, top_right = u> 0.99 && v > 0.99,
               top_left = u < 0.01 && v > 0.99;
    EXPECT_TRUE(middle || bottom_left || top_right || top_left) << u << ' ' << v;
    centre += middle;
    corners += !middle;
  }
  EXPECT_EQ(centre, 5);
  EXPECT_EQ(corners, 15);
}

TEST_F(Images, ScatterHasAFrameAndTicks) {
  const schema::Schema schema = plane(0.0, 1.0);
  Records r;
  r.shape = schema.shape;
  write_whole(*scatter_writer(folder_ / "empty.png", r.kind(), schema), r);
  const Picture p = read_png(folder_ / "empty.png");
  const auto dark = [&](std::size_t y, std::size_t x) { return p.at(y, x)[0] < 128; };
  std::size_t long_rows = 0, long_columns = 0, bottom = 0, left = 0;
  for (std::size_t y = 0; y < p.height; ++y) {
    std::size_t ink = 0;
    for (std::size_t x = 0; x < p.width; ++x) ink += dark(y, x) ? 1 : 0;
    if (ink > 700) ++long_rows, bottom = y;
  }
  for (std::size_t x = p.width; x-- > 0;) {
    std::size_t ink = 0;
    for (std::size_t y = 0; y < p.height; ++y) ink += dark(y, x) ? 1 : 0;
    if (ink > 700) ++long_columns, left = x;
  }
  EXPECT_EQ(long_rows, 2u);
  EXPECT_EQ(long_columns, 2u);
  std::size_t ticks = 0;
  for (std::size_t x = left; x < p.width; ++x)
    ticks += dark(bottom + 3, x) && !dark(bottom + 3, x - 1) ? 1 : 0;
  EXPECT_EQ(ticks, 6u);  // 0, 0.2, ... 1
}

}  // namespace
}  // namespace muffle::synth
