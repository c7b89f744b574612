#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace muffle::synth {

using Colour = std::array<std::uint8_t, 3>;

/// An RGB picture that starts white. Drawing outside it does nothing. (0, 0) is the top left.
class Canvas {
 public:
  Canvas(std::size_t height, std::size_t width);

  std::size_t height() const { return height_; }
  std::size_t width() const { return width_; }
  /// Interleaved bytes, height x width x 3.
  std::span<const std::uint8_t> pixels() const { return pixels_; }

  /// Mixes `colour` into one pixel; opacity 1 replaces it.
  void blend(long x, long y, Colour colour, float opacity = 1.0f);
  /// Fills the rectangle [x0, x1) x [y0, y1).
  void fill(long x0, long y0, long x1, long y1, Colour colour);
  /// Digits, minus, point, plus and e; other characters leave a blank. (x, y) is the text's top left.
  void text(long x, long y, std::string_view characters, Colour colour);

  static constexpr long kGlyphHeight = 10;
  /// Pixels that text() takes, the gap after the last character left out.
  static long text_width(std::string_view characters);

 private:
  std::size_t height_;
  std::size_t width_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace muffle::synth
