#include "canvas.hpp"

#include <cmath>

namespace muffle::synth {
namespace {

constexpr long kScale = 2;  // a glyph is 3 x 5 squares of this side
constexpr long kGlyphColumns = 3, kGlyphRows = 5;
constexpr long kAdvance = (kGlyphColumns + 1) * kScale;
static_assert(Canvas::kGlyphHeight == kGlyphRows * kScale);

/// Five rows of three squares, top row first, leftmost square in the highest bit.
std::array<std::uint8_t, 5> glyph(char c) {
  switch (c) {
    case '0':
      return {7, 5, 5, 5, 7};
    case '1':
      return {2, 6, 2, 2, 7};
    case '2':
      return {7, 1, 7, 4, 7};
    case '3':
      return {7, 1, 7, 1, 7};
    case '4':
      return {5, 5, 7, 1, 1};
    case '5':
      return {7, 4, 7, 1, 7};
    case '6':
      return {7, 4, 7, 5, 7};
    case '7':
      return {7, 1, 1, 2, 2};
    case '8':
      return {7, 5, 7, 5, 7};
    case '9':
      return {7, 5, 7, 1, 7};
    case '-':
      return {0, 0, 7, 0, 0};
    case '+':
      return {0, 2, 7, 2, 0};
    case '.':
      return {0, 0, 0, 0, 2};
    case 'e':
      return {0, 7, 7, 4, 7};
    default:
      return {0, 0, 0, 0, 0};
  }
}

}  // namespace

Canvas::Canvas(std::size_t height, std::size_t width)
    : height_(height), width_(width), pixels_(height * width * 3, 0xFF) {}

void Canvas::blend(long x, long y, Colour colour, float opacity) {
  if (x < 0 || y < 0 || x >= static_cast<long>(width_) || y >= static_cast<long>(height_)) return;
  std::uint8_t* pixel =
      pixels_.data() + (static_cast<std::size_t>(y) * width_ + static_cast<std::size_t>(x)) * 3;
  for (std::size_t c = 0; c < 3; ++c) {
    const float mixed =
        static_cast<float>(pixel[c]) * (1.0f - opacity) + static_cast<float>(colour[c]) * opacity;
    pixel[c] = static_cast<std::uint8_t>(std::lround(mixed));
  }
}

void Canvas::fill(long x0, long y0, long x1, long y1, Colour colour) {
  for (long y = y0; y < y1; ++y) {
    for (long x = x0; x < x1; ++x) blend(x, y, colour);
  }
}

void Canvas::text(long x, long y, std::string_view characters, Colour colour) {
  for (const char c : characters) {
    const auto rows = glyph(c);
    for (long row = 0; row < kGlyphRows; ++row) {
      for (long column = 0; column < kGlyphColumns; ++column) {
        if ((rows[static_cast<std::size_t>(row)] >> (kGlyphColumns - 1 - column) & 1) == 0) continue;
        fill(x + column * kScale, y + row * kScale, x + (column + 1) * kScale, y + (row + 1) * kScale,
             colour);
      }
    }
    x += kAdvance;
  }
}

long Canvas::text_width(std::string_view characters) {
  return characters.empty() ? 0 : static_cast<long>(characters.size()) * kAdvance - kScale;
}

}  // namespace muffle::synth
