// The room's inner loops over a `Simd` that the including file defines. Each variant's .cpp includes it once,
// inside an anonymous namespace, so that nothing compiled for one instruction set can be linked into
// another's place. For the same reason nothing here may call an inline function of the standard library.
//
// Simd has: F (a vector of kLanes floats), fma, round (to nearest even), truncate (to int32; INT32_MIN for
// NaN and what does not fit), kVectors and kGroup; D (a vector of doubles of F's size), its fma, kRows, the
// rows of z^T z that are summed at a time, and keep(D&), which has a number stay in its register: left alone
// the compiler reads it from memory once per row, a third slower.

using F = Simd::F;
typedef std::uint32_t Bits __attribute__((vector_size(sizeof(F))));
typedef float Floats __attribute__((vector_size(sizeof(F)), aligned(4), may_alias));
typedef std::uint32_t Integers __attribute__((vector_size(sizeof(F)), aligned(4), may_alias));

/// x in every lane, its sign kept where it is 0.
inline F broadcast(float x) { return x - F{}; }

/// a with its sign changed where q & 2.
inline F flip(Bits q, F a) { return reinterpret_cast<F>(reinterpret_cast<Bits>(a) ^ ((q & 2) << 30)); }

/// sin and cos of (pi/2) r for |r| <= 1/2, as polynomials in r^2 (minimax, coefficients rounded to float one
/// after the other). Error before rounding: 4e-10 (cos), 1.3e-9 (sin); after it at most 6e-8, and cos^2 +
/// sin^2 <= 1 + 1.26e-7, over every float; tests/features/kernel_test.cpp holds the kernels to it.
inline void sincos_quarter(F r, F& sine, F& cosine) {
  const F z = r * r;
  F c = broadcast(0x1.d47d3ep-11f);
  c = Simd::fma(c, z, broadcast(-0x1.55b146p-6f));
  c = Simd::fma(c, z, broadcast(0x1.03c1aep-2f));
  c = Simd::fma(c, z, broadcast(-0x1.3bd3ccp+0f));
  cosine = Simd::fma(c, z, broadcast(1.0f));
  // pi/2 in two parts: the large one enters in the last, single rounding.
  F s = broadcast(-0x1.2cfc74p-8f);
  s = Simd::fma(s, z, broadcast(0x1.465a68p-4f));
  s = Simd::fma(s, z, broadcast(-0x1.4abba8p-1f));
  s = Simd::fma(s, z, broadcast(-0x1.18fc52p-24f));
  sine = Simd::fma(r, broadcast(0x1.921fb6p+0f), r * s);
}

/// Lattice values of kLanes phases in quarter turns. t - round(t) is exact: large phases lose nothing.
inline void store_features(F t, float scale, std::int32_t* cosines, std::int32_t* sines) {
  const F turns = Simd::round(t);
  F s, c;
  sincos_quarter(t - turns, s, c);
  // Beyond 2^31 truncate() gives INT32_MIN, whose low bits are 0, as of such floats, multiples of 4.
  const Bits q = reinterpret_cast<Bits>(Simd::truncate(turns));
  const F cosine = flip(q + 1, (q & 1) != 0 ? s : c), sine = flip(q, (q & 1) != 0 ? c : s);
  *reinterpret_cast<Integers*>(cosines) = reinterpret_cast<Bits>(Simd::truncate(cosine * scale));
  *reinterpret_cast<Integers*>(sines) = reinterpret_cast<Bits>(Simd::truncate(sine * scale));
}

constexpr std::size_t kPanel = Simd::kLanes * Simd::kVectors;

void rff(const float* frequencies, std::size_t panels, std::size_t dims, const float* records,
         std::size_t groups, float scale, std::int32_t* features) {
  constexpr std::size_t kGroup = Simd::kGroup, kVectors = Simd::kVectors, kLanes = Simd::kLanes;
  const std::size_t half = panels * kPanel;
  const std::size_t ahead_step = kPanel / groups;
  for (std::size_t p = 0; p < panels; ++p) {
    for (std::size_t g = 0; g < groups; ++g) {
      const float* w = frequencies + p * dims * kPanel;
      const float* x = records + g * dims * kGroup;
      // Meanwhile this group fetches its share of the next panel into the L2 cache (a third faster).
      const float* ahead = frequencies + (p + 1 < panels ? p + 1 : p) * dims * kPanel + g * dims * ahead_step;
      F sums[kGroup][kVectors] = {};
      for (std::size_t c = 0; c < dims; ++c, w += kPanel, x += kGroup, ahead += ahead_step) {
        __builtin_prefetch(ahead, 0, 2);
        F omega[kVectors];
#pragma GCC unroll 16
        for (std::size_t v = 0; v < kVectors; ++v)
          omega[v] = *reinterpret_cast<const Floats*>(w + v * kLanes);
#pragma GCC unroll 16
        for (std::size_t r = 0; r < kGroup; ++r) {
          const F value = broadcast(x[r]);
#pragma GCC unroll 16
          for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = Simd::fma(omega[v], value, sums[r][v]);
        }
      }
      std::int32_t* out = features + g * kGroup * 2 * half + p * kPanel;
#pragma GCC unroll 16
      for (std::size_t r = 0; r < kGroup; ++r) {
#pragma GCC unroll 16
        for (std::size_t v = 0; v < kVectors; ++v) {
          std::int32_t* cosines = out + r * 2 * half + v * kLanes;
          store_features(sums[r][v], scale, cosines, cosines + half);
        }
      }
    }
  }
}

/// 2^kLog numbers of each of kLanes vectors, `step` apart: kLog levels of butterflies in registers.
template <std::size_t kLog, bool kSigned>
inline void butterflies(float* data, std::size_t step, const float* signs, std::size_t sign_step) {
  constexpr std::size_t kCount = std::size_t{1} << kLog;
  F v[kCount];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kCount; ++i) {
    v[i] = *reinterpret_cast<const Floats*>(data + i * step);
    if (kSigned) v[i] *= broadcast(signs[i * sign_step]);
  }
#pragma GCC unroll 4
  for (std::size_t level = 0; level < kLog; ++level) {
    const std::size_t h = std::size_t{1} << level;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kCount; ++i) {
      if ((i & h) != 0) continue;
      const F a = v[i], b = v[i + h];
      v[i] = a + b;
      v[i + h] = a - b;
    }
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kCount; ++i) *reinterpret_cast<Floats*>(data + i * step) = v[i];
}

template <std::size_t kLog, bool kSigned>
inline void hadamard_pass(float* data, std::size_t size, std::size_t h, const float* signs) {
  constexpr std::size_t kCount = std::size_t{1} << kLog;
  for (std::size_t base = 0; base < size; base += h * kCount) {
    for (std::size_t i = base; i < base + h; ++i) {
      for (std::size_t lane = 0; lane < kInterleaved; lane += Simd::kLanes)
        butterflies<kLog, kSigned>(data + i * kInterleaved + lane, h * kInterleaved, signs + i, h);
    }
  }
}

void hadamard(float* data, std::size_t size, const float* signs) {
  hadamard_pass<4, true>(data, size, 1, signs);
  std::size_t h = 16;
  for (; h * 16 <= size; h *= 16) hadamard_pass<4, false>(data, size, h, signs);
  if (h * 8 == size) return hadamard_pass<3, false>(data, size, h, signs);
  if (h * 4 == size) return hadamard_pass<2, false>(data, size, h, signs);
  if (h * 2 == size) hadamard_pass<1, false>(data, size, h, signs);
}

void phase_features(const float* data, const float* factors, std::size_t count, float scale,
                    std::int32_t* features, std::size_t stride, std::size_t half) {
  for (std::size_t j = 0; j < count; j += kInterleaved) {
    alignas(64) float turned[kInterleaved][kInterleaved];
    for (std::size_t i = 0; i < kInterleaved; ++i) {
      for (std::size_t r = 0; r < kInterleaved; ++r) turned[r][i] = data[(j + i) * kInterleaved + r];
    }
    for (std::size_t r = 0; r < kInterleaved; ++r) {
      for (std::size_t lane = 0; lane < kInterleaved; lane += Simd::kLanes) {
        const F t = F(*reinterpret_cast<const Floats*>(turned[r] + lane)) *
                    F(*reinterpret_cast<const Floats*>(factors + j + lane));
        std::int32_t* const cosines = features + r * stride + j + lane;
        store_features(t, scale, cosines, cosines + half);
      }
    }
  }
}

std::uint64_t squared_norm(const std::int32_t* values, std::size_t n, int bits) {
  std::uint64_t sum = 0;
  std::uint32_t magnitudes = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const std::int64_t wide = values[j];
    sum += static_cast<std::uint64_t>(wide * wide);
    // |v| as unsigned: INT32_MIN becomes 2^31.
    const std::uint32_t raw = static_cast<std::uint32_t>(values[j]);
    magnitudes |= values[j] < 0 ? 0u - raw : raw;
  }
  return (magnitudes >> bits) == 0 ? sum : ~std::uint64_t{0};
}

void add_rows(const std::int32_t* const* rows, std::size_t count, std::size_t n, std::uint64_t* sums) {
  constexpr std::size_t kStrip = 64;
  std::size_t j = 0;
  for (; j + kStrip <= n; j += kStrip) {
    std::int32_t strip[kStrip] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t* row = rows[i] + j;
      for (std::size_t l = 0; l < kStrip; ++l) strip[l] += row[l];
    }
    for (std::size_t l = 0; l < kStrip; ++l)
      sums[j + l] += static_cast<std::uint64_t>(std::int64_t{strip[l]});
  }
  for (; j < n; ++j) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += rows[i][j];
    sums[j] += static_cast<std::uint64_t>(std::int64_t{sum});
  }
}

// 16 doubles whose lanes are added and multiplied one by one, whatever the width of a machine's registers.
typedef double Doubles __attribute__((vector_size(16 * sizeof(double)), aligned(8), may_alias));

double dot(const double* a, const double* b, std::size_t n) {
  Doubles sum = {};
  for (std::size_t c = 0; c < n; c += 16) {
    sum += *reinterpret_cast<const Doubles*>(a + c) * *reinterpret_cast<const Doubles*>(b + c);
  }
  double lanes[16];
  for (int l = 0; l < 16; ++l) lanes[l] = sum[l];
  for (int width = 8; width >= 1; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

void project_out(const double* q, double* rows, std::size_t count, std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    double* row = rows + i * stride;
    const double along = dot(q, row, stride);
    for (std::size_t c = 0; c < stride; c += 16) {
      *reinterpret_cast<Doubles*>(row + c) -= along * *reinterpret_cast<const Doubles*>(q + c);
    }
  }
}

using D = Simd::D;
typedef double Vector __attribute__((vector_size(sizeof(D)), aligned(8), may_alias));
typedef std::uint64_t Words __attribute__((vector_size(sizeof(D))));
typedef std::uint64_t Sums __attribute__((vector_size(sizeof(D)), aligned(8), may_alias));
constexpr std::size_t kDoubles = sizeof(D) / sizeof(double);

void subtract(const float* a, const double* b, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<double>(a[i]) - b[i];
}

/// kRows x kColumns vectors of c = a b: two rows of four keep every unit busy, and fit the registers.
template <std::size_t kRows, std::size_t kColumns>
inline void product_block(const double* a, std::size_t inner, const double* b, std::size_t columns,
                          double* c) {
  D sums[kRows][kColumns] = {};
  for (std::size_t i = 0; i < inner; ++i) {
    D right[kColumns];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kColumns; ++v)
      right[v] = *reinterpret_cast<const Vector*>(b + i * columns + v * kDoubles);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kColumns; ++v) Simd::keep(right[v]);
#pragma GCC unroll 2
    for (std::size_t r = 0; r < kRows; ++r) {
      const double left = a[r * inner + i];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kColumns; ++v) sums[r][v] += left * right[v];
    }
  }
#pragma GCC unroll 2
  for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kColumns; ++v)
      *reinterpret_cast<Vector*>(c + r * columns + v * kDoubles) = sums[r][v];
  }
}

template <std::size_t kColumns>
inline void product_columns(const double* a, std::size_t rows, std::size_t inner, const double* b,
                            std::size_t columns, double* c) {
  std::size_t r = 0;
  for (; r + 2 <= rows; r += 2) product_block<2, kColumns>(a + r * inner, inner, b, columns, c + r * columns);
  if (r < rows) product_block<1, kColumns>(a + r * inner, inner, b, columns, c + r * columns);
}

void product(const double* a, std::size_t rows, std::size_t inner, const double* b, std::size_t columns,
             double* c) {
  std::size_t j = 0;
  for (; j + 4 * kDoubles <= columns; j += 4 * kDoubles)
    product_columns<4>(a, rows, inner, b + j, columns, c + j);
  switch ((columns - j) / kDoubles) {
    case 3:
      return product_columns<3>(a, rows, inner, b + j, columns, c + j);
    case 2:
      return product_columns<2>(a, rows, inner, b + j, columns, c + j);
    case 1:
      return product_columns<1>(a, rows, inner, b + j, columns, c + j);
    default:
      return;
  }
}

constexpr std::size_t kGramVectors = 3, kGramPanel = kGramVectors * kDoubles;
static_assert(kGramPanel % Simd::kRows == 0);

/// Integers below 2^51 in size, as two's complement: beyond, a + 1.5 x 2^52 has another exponent.
inline Words integers(D a) {
  const D shift = D{} + 0x1.8p52;
  return reinterpret_cast<Words>(a + shift) - reinterpret_cast<Words>(shift);
}

/// Rows `row` .. row + Simd::kRows - 1 of z^T z in kVectors vectors of columns from `column`.
template <std::size_t kVectors>
inline void gram_block(const double* left, const double* right, std::size_t records, std::size_t row,
                       std::size_t column, std::size_t order, std::uint64_t* sums) {
  constexpr std::size_t kRows = Simd::kRows, kColumns = kVectors * kDoubles;
  D products[kRows][kVectors] = {};
  for (std::size_t r = 0; r < records; ++r, left += kGramPanel, right += kGramPanel) {
    D z[kVectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      z[v] = *reinterpret_cast<const Vector*>(right + v * kDoubles);
      Simd::keep(z[v]);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kRows; ++i) {
      const D factor = left[i] - D{};  // in every lane; x - 0 is x, also of -0
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) products[i][v] = Simd::fma(factor, z[v], products[i][v]);
    }
  }
  // Row a's numbers beside the diagonal begin at `order` + a (2 order - a - 1) / 2, with column a + 1.
  const auto beside = [&](std::size_t a) { return sums + order + a * (2 * order - a - 1) / 2; };
  if (column >= row + kRows && column + kColumns <= order) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kRows; ++i) {
      std::uint64_t* const next = beside(row + i) + (column - row - i - 1);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v)
        *reinterpret_cast<Sums*>(next + v * kDoubles) += integers(products[i][v]);
    }
    return;
  }
  Words words[kRows][kVectors];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) words[i][v] = integers(products[i][v]);
  }
  for (std::size_t a = row; a < row + kRows && a < order; ++a) {
    for (std::size_t j = 0; j < kColumns && column + j < order; ++j) {
      const std::size_t b = column + j;
      const std::uint64_t word = words[a - row][j / kDoubles][j % kDoubles];
      if (b == a) sums[a] += word;
      if (b > a) beside(a)[b - a - 1] += word;
    }
  }
}

void add_gram(const double* z, std::size_t capacity, std::size_t records, std::size_t order,
              std::uint64_t* sums) {
  for (std::size_t column = 0; column < order; column += kGramPanel) {
    const double* const right = z + column * capacity;
    for (std::size_t row = 0; row < order && row < column + kGramPanel; row += Simd::kRows) {
      const double* const left = z + row / kGramPanel * kGramPanel * capacity + row % kGramPanel;
      // On the diagonal, and at the end, whole vectors that nobody asks for are left out.
      const std::size_t first = row > column ? (row - column) / kDoubles : 0;
      const std::size_t last =
          order - column < kGramPanel ? (order - column + kDoubles - 1) / kDoubles : kGramVectors;
      const std::size_t from = column + first * kDoubles;
      switch (last - first) {
        case 3:
          gram_block<3>(left, right, records, row, from, order, sums);
          break;
        case 2:
          gram_block<2>(left, right + first * kDoubles, records, row, from, order, sums);
          break;
        case 1:
          gram_block<1>(left, right + first * kDoubles, records, row, from, order, sums);
          break;
        default:
          break;
      }
    }
  }
}

constexpr Kernels table(const char* name) {
  return {name,          kPanel,    Simd::kGroup, kDoubles, kGramPanel, &rff,     &hadamard, &phase_features,
          &squared_norm, &add_rows, &project_out, &dot,     &subtract,  &product, &add_gram};
}
