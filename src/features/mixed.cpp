#include "muffle/features/mixed.hpp"

#include <algorithm>
#include <cmath>

#include "muffle/schema/table_text.hpp"

namespace muffle::features {

double MixedLayout::Number::number(float position) const {
  const double at = static_cast<double>(position) * static_cast<double>(codes);
  const auto code = std::min(static_cast<std::size_t>(at), codes - 1);
  if (code + 1 >= knots.size()) return kMissingNumber;
  const double within = std::min(at - static_cast<double>(code), 1.0);
  return knots[code] + within * (knots[code + 1] - knots[code]);
}

float MixedLayout::Number::position(double number) const {
  const double in = std::clamp(number, 0.0, 1.0);
  const auto after = std::upper_bound(knots.begin() + 1, knots.end() - 1, in);
  const double from = *(after - 1);
  return schema::position({static_cast<std::uint32_t>(after - knots.begin() - 1),
                           static_cast<float>((in - from) / (*after - from))},
                          codes);
}

std::size_t MixedLayout::Category::entry(float position) const {
  const double at = static_cast<double>(position) * static_cast<double>(codes);
  const auto code = std::min(static_cast<std::size_t>(at), codes - 1);
  if (presence) return code + 1 == codes ? 1 : 0;
  return code;
}

MixedLayout::MixedLayout(const schema::Table& table) {
  for (const std::size_t c : table.features()) {
    const schema::Column& column = table.columns[c];
    const std::size_t codes = column.codes();
    if (column.is_number()) {
      const schema::Grid grid(column);
      Number number{dims, codes, column.missing, {}};
      for (std::uint32_t b = 0; b <= column.bins(); ++b)
        number.knots.push_back(static_cast<double>(grid.first(b)) / static_cast<double>(grid.count()));
      numbers.push_back(std::move(number));
    }
    if (!column.is_number() || column.missing) {
      const std::size_t own = column.is_number() ? 2 : codes;
      categories.push_back({dims, codes, column.is_number(), entries, own});
      entries += own;
    }
    ++dims;
  }
}

bool MixedLayout::are_positions(const float* x) const {
  bool good = true;
  for (std::size_t j = 0; j < dims; ++j) good &= x[j] >= 0.0f && x[j] <= 1.0f;  // nor NaN
  return good;
}

}  // namespace muffle::features
