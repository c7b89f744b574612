#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace muffle::model {

/// Numbers of a model under a name, for programs that are not muffle
/// (docs/reference/artifact-format.md, "Exported models"). Public: post-processing.
struct NamedArray {
  enum class Type { kFloat32, kFloat64 };

  std::string name;
  Type type = Type::kFloat32;
  std::vector<std::size_t> shape;
  std::vector<std::byte> bytes;  ///< little-endian, row-major

  NamedArray(std::string called, std::vector<std::size_t> sizes, std::span<const float> numbers)
      : NamedArray(std::move(called), Type::kFloat32, std::move(sizes), std::as_bytes(numbers)) {}
  NamedArray(std::string called, std::vector<std::size_t> sizes, std::span<const double> numbers)
      : NamedArray(std::move(called), Type::kFloat64, std::move(sizes), std::as_bytes(numbers)) {}
  NamedArray(std::string called, Type of, std::vector<std::size_t> sizes, std::span<const std::byte> raw)
      : name(std::move(called)), type(of), shape(std::move(sizes)), bytes(raw.begin(), raw.end()) {}
};

}  // namespace muffle::model
