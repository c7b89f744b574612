// Random Fourier features on a GPU: the kernels, over a vocabulary that the including file brings, so that
// tests run the same lines on a CPU (cuda_emulation.hpp). Included once, in an anonymous namespace.
//
// Every number is the same fixed chain of IEEE operations as on the CPU (kernel_body.hpp). The intrinsics are
// never contracted or reordered by the compiler, and denormals are kept (no --use_fast_math). So the integers
// are meant to be the CPU's, bit for bit; what may not depend on that is sensitivity: the norm check below is
// on the very integers that are then added.

constexpr int kTileSide = 128;  ///< records, and frequencies, of one block's share
constexpr int kDepth = 8;       ///< of the record's numbers in shared memory at a time
constexpr int kThreads = 256;   ///< as 16 x 16; each has 8 x 8 phases
constexpr int kRowsOfSum = 64;  ///< records that one block of add_rows() goes through

/// Column, or row, i < 8 of thread t < 16: two fours, so that neighbours read and write neighbours.
MUFFLE_DEVICE int place_of(int t, int i) { return (i < 4 ? 0 : kTileSide / 2) + 4 * t + i % 4; }

/// INT32_MIN for NaN and what does not fit, which the norm check refuses.
MUFFLE_DEVICE std::int32_t truncated(float v) {
  return v >= -0x1p31f && v < 0x1p31f ? __float2int_rz(v) : std::int32_t(0x80000000u);
}

/// Lattice values of one phase in quarter turns: kernel_body.hpp's store_features(), operation by operation.
MUFFLE_DEVICE void lattice_values(float t, float scale, std::int32_t& cosine, std::int32_t& sine) {
  const float turns = rintf(t);
  const float r = __fsub_rn(t, turns);
  const float z = __fmul_rn(r, r);
  float c = 0x1.d47d3ep-11f;
  c = __fmaf_rn(c, z, -0x1.55b146p-6f);
  c = __fmaf_rn(c, z, 0x1.03c1aep-2f);
  c = __fmaf_rn(c, z, -0x1.3bd3ccp+0f);
  c = __fmaf_rn(c, z, 1.0f);
  float s = -0x1.2cfc74p-8f;
  s = __fmaf_rn(s, z, 0x1.465a68p-4f);
  s = __fmaf_rn(s, z, -0x1.4abba8p-1f);
  s = __fmaf_rn(s, z, -0x1.18fc52p-24f);
  s = __fmaf_rn(r, 0x1.921fb6p+0f, __fmul_rn(r, s));
  const std::uint32_t q = static_cast<std::uint32_t>(truncated(turns));
  const float along = (q & 1u) != 0 ? s : c, across = (q & 1u) != 0 ? c : s;
  cosine = truncated(__fmul_rn(((q + 1u) & 2u) != 0 ? -along : along, scale));
  sine = truncated(__fmul_rn((q & 2u) != 0 ? -across : across, scale));
}

/// Adds v^2 unless |v| >= 2^bits: such squares could wrap around to a small number.
MUFFLE_DEVICE void add_square(std::int32_t v, int bits, Wide& sum, bool& outside) {
  const std::uint32_t raw = static_cast<std::uint32_t>(v), magnitude = v < 0 ? 0u - raw : raw;
  if ((magnitude >> bits) != 0) {
    outside = true;
  } else {
    sum += static_cast<Wide>(magnitude) * magnitude;
  }
}

/// features[i][j], features[i][half + j] = cosine and sine of record i and frequency j, on the lattice;
/// norms[i] += their squares; refused[i] = 1 once that is above `limit`, or a value is outside the lattice.
/// Grid: (stride / 128, ceil(n / 128)), 256 threads.
/// @param frequencies  dims x stride in quarter turns, zero beyond half; stride is a multiple of 128
/// @param records      n x dims; @param bytes  null, or the records as bytes, which stand for unit[0..255]
/// @param norms, refused  n, zero at the start
MUFFLE_KERNEL void rff_features(const float* frequencies, int stride, int half, const float* records,
                                const std::uint8_t* bytes, const float* unit, int n, int dims, float scale,
                                int bits, Wide limit, std::int32_t* features, Wide* norms,
                                std::uint32_t* refused) {
  // Rows of x_tile are four numbers longer, so that the 32 threads of a warp write to 32 different banks.
  alignas(16) MUFFLE_SHARED float x_tile[kDepth][kTileSide + 4];
  alignas(16) MUFFLE_SHARED float w_tile[kDepth][kTileSide];
  MUFFLE_SHARED Wide tile_norm[kTileSide];
  MUFFLE_SHARED std::uint32_t tile_outside[kTileSide];
  const int thread = threadIdx.x, tx = thread % 16, ty = thread / 16;
  const int first_column = blockIdx.x * kTileSide, first_row = blockIdx.y * kTileSide;
  if (thread < kTileSide) {
    tile_norm[thread] = 0;
    tile_outside[thread] = 0;
  }
  float phase[8][8] = {};
  for (int c0 = 0; c0 < dims; c0 += kDepth) {
    for (int k = thread; k < kDepth * kTileSide; k += kThreads) {
      // Frequencies lie along the columns; records are rows, and a thread group reads neighbouring numbers.
      const int depth = k / kTileSide, column = k % kTileSide;
      w_tile[depth][column] =
          c0 + depth < dims ? frequencies[static_cast<long long>(c0 + depth) * stride + first_column + column]
                            : 0.0f;
      const int row = k / kDepth, number = k % kDepth;
      const long long at = static_cast<long long>(first_row + row) * dims + c0 + number;
      const bool inside = first_row + row < n && c0 + number < dims;
      x_tile[number][row] = !inside ? 0.0f : bytes != nullptr ? unit[bytes[at]] : records[at];
    }
    __syncthreads();
    // Beyond the record's last number nothing is added, not even 0 * 0: -0.0 must stay what it is.
    const int depths = dims - c0 < kDepth ? dims - c0 : kDepth;
    for (int d = 0; d < depths; ++d) {
      float x[8], w[8];
      MUFFLE_UNROLL
      for (int i = 0; i < 8; ++i) x[i] = x_tile[d][place_of(ty, i)];
      MUFFLE_UNROLL
      for (int i = 0; i < 8; ++i) w[i] = w_tile[d][place_of(tx, i)];
      MUFFLE_UNROLL
      for (int i = 0; i < 8; ++i) {
        MUFFLE_UNROLL
        for (int j = 0; j < 8; ++j) phase[i][j] = __fmaf_rn(w[j], x[i], phase[i][j]);
      }
    }
    __syncthreads();
  }
  MUFFLE_UNROLL
  for (int i = 0; i < 8; ++i) {
    const int row = place_of(ty, i), record = first_row + row;
    Wide norm = 0;  // at most 16 2^48
    bool outside = false;
    MUFFLE_UNROLL
    for (int j = 0; j < 8; ++j) {
      const int column = first_column + place_of(tx, j);
      if (record >= n || column >= half) continue;
      std::int32_t cosine, sine;
      lattice_values(phase[i][j], scale, cosine, sine);
      add_square(cosine, bits, norm, outside);
      add_square(sine, bits, norm, outside);
      std::int32_t* const out = features + static_cast<long long>(record) * 2 * half + column;
      out[0] = cosine;
      out[half] = sine;
    }
    atomicAdd(&tile_norm[row], norm);  // at most 256 2^48 = 2^56
    if (outside) atomicOr(&tile_outside[row], 1u);
  }
  __syncthreads();
  if (thread >= kTileSide || first_row + thread >= n) return;
  const Wide mine = tile_norm[thread];
  const int record = first_row + thread;
  // limit is at most 2^48. As long as nothing is refused every sum is at most limit, so the addition that
  // first goes beyond it cannot wrap, and its block sees it; what is added after that does not matter.
  if (tile_outside[thread] != 0 || mine > limit || atomicAdd(&norms[record], mine) + mine > limit)
    atomicOr(&refused[record], 1u);
}

/// sums[label][j] += features[i][j] of the records that are not refused, modulo 2^64: integers, so the order
/// does not matter. Grid: (ceil(numbers / 256), ceil(count / 64)), 256 threads.
/// @param order   count record numbers, sorted by label, those without a class left out
/// @param labels  by record  @param features  records x numbers  @param sums  classes x numbers
MUFFLE_KERNEL void add_rows(const std::int32_t* order, int count, const std::int32_t* labels,
                            const std::uint32_t* refused, const std::int32_t* features, int numbers,
                            Wide* sums) {
  const int j = blockIdx.x * kThreads + threadIdx.x;
  if (j >= numbers) return;
  const int begin = blockIdx.y * kRowsOfSum, end = begin + kRowsOfSum < count ? begin + kRowsOfSum : count;
  long long sum = 0;  // at most 64 2^24
  for (int k = begin; k < end; ++k) {
    const int i = order[k];
    if (refused[i] == 0) sum += features[static_cast<long long>(i) * numbers + j];
    if (k + 1 == end || labels[order[k + 1]] != labels[i]) {
      if (sum != 0) atomicAdd(&sums[static_cast<long long>(labels[i]) * numbers + j], static_cast<Wide>(sum));
      sum = 0;
    }
  }
}
