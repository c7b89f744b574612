#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "muffle/features/accumulator.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::features {

/// The name of the inner loops that this processor runs: "generic", "avx2" or "avx512".
const char* kernel_variant();

/// Scratch memory of one thread, reused between tiles; made by Block::make_workspace().
class Workspace {
 public:
  virtual ~Workspace() = default;
};

/// A feature map as it sums records, per class, on the integer lattice. Immutable and thread-safe.
class Block {
 public:
  virtual ~Block() = default;
  /// d: numbers per record.
  virtual std::size_t dims() const = 0;
  /// D_b: numbers per class.
  virtual std::size_t features() const = 0;
  virtual std::unique_ptr<Workspace> make_workspace() const = 0;
  /// Threads at a time that are of use: few keep a GPU busy, and each has a workspace in its memory.
  virtual int useful_threads() const { return std::numeric_limits<int>::max(); }
  /// Records one call of accumulate() works on at a time; callers pass at most this many.
  virtual std::size_t tile() const = 0;
  /// What the accumulator holds every record to.
  virtual Guard guard() const = 0;
  /// Can accumulate_bytes() be called? Then records of bytes need not be widened first.
  virtual bool takes_bytes() const { return false; }

  /// Adds phi(x_i) to row y_i of sums for i < n, after the checks in integers; a record that fails them, or
  /// whose label is schema::kNoClass, adds nothing. A record's contribution does not depend on its place in
  /// the tile, on n, or on other records.
  /// @param x     n x dims, row-major, in [0, 1]
  /// @param y     n labels
  /// @param sums  C x D_b, class-major, modulo 2^64, lattice units
  /// @returns how many records contributed nothing (private: rank-local, never logged elsewhere).
  /// Privacy: sums are raw.
  std::uint64_t accumulate(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
                           std::span<std::uint64_t> sums) const;
  /// accumulate() of the records whose numbers are scale[x]: the same integers.
  std::uint64_t accumulate_bytes(const std::uint8_t* x, const schema::ByteScale& scale, const std::int32_t* y,
                                 std::size_t n, Workspace& workspace, std::span<std::uint64_t> sums) const;

  /// The kind's part of accumulate(): computes the records' integers and hands them to the accumulator; those
  /// that it does not hand over add nothing. Called in the default floating-point environment.
  virtual void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
                     Accumulator& sums) const = 0;
  /// The same of accumulate_bytes(), of blocks that take bytes.
  virtual void embed_bytes(const std::uint8_t* x, const schema::ByteScale& scale, const std::int32_t* y,
                           std::size_t n, Workspace& workspace, Accumulator& sums) const;
};

}  // namespace muffle::features
