#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/json_fields.hpp"
#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// What happens to a record that does not fit its schema (NaN, Inf, a label outside 0..C-1).
enum class OnError {
  kRejectFile,  ///< DataError before anything is released: that there is a release tells that all records fit
  kClamp,  ///< numbers outside [lo, hi] are clamped, NaN becomes lo; a record with a bad label contributes
           ///< zero: the guarantee is for any records at all
};

/// Product of a shape: numbers per record.
inline std::size_t numbers_of(std::span<const std::size_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

/// What is public about the records (docs/math.md, "records"): never read off the private data.
struct Schema {
  std::vector<std::size_t> shape;  ///< one record: {channels, height, width} or {columns}
  std::size_t classes = 1;         ///< C; 1: unlabelled
  double lo = 0.0;                 ///< public bounds of every number as stored; scaled to [0, 1]
  double hi = 255.0;
  OnError on_error = OnError::kClamp;
  /// Of tables; null: others. Then shape is {numbers of a record}, each a position in [0, 1] (lo = 0, hi =
  /// 1), and the classes are the label column's codes.
  std::shared_ptr<const Table> table = nullptr;
  /// Of the classes, in the order of their labels; class_names_problem() holds for them. Empty: their
  /// numbers, or what a table's label column says.
  std::vector<std::string> class_names = {};

  std::size_t dims() const { return numbers_of(shape); }
  /// Checks what can be checked without the data: {columns} or {channels, height, width}, sizes and classes
  /// at least 1, bounds that are finite and apart as float32, and class_names_problem(). @throws DataError
  /// naming the first problem.
  void validate() const;
  bool is_image() const { return shape.size() == 3; }
};

/// What is wrong with class_names, to be read behind their name: other than one a class, two whose folders
/// would be one, or one that is empty, longer than 255 bytes or not printable. Empty: nothing.
std::string class_names_problem(const Schema& schema);
/// Whether records of one can be compared with those of the other, class by class: both name the same classes
/// in the same order, by plain_text(), or one of them names none.
bool class_names_agree(const Schema& one, const Schema& other);
/// The folder of a class of this name: plain_text(), with '_' for each '/' and for a '.' in front, so that it
/// is seen and lies where it is made.
std::string class_folder(std::string_view name);

/// Makes the schema that of a table: its shape, bounds and classes follow.
/// @param table  without problems()
void describe_table(Schema& schema, std::shared_ptr<const Table> table);

/// What each stored byte stands for, scaled to [0, 1]. Public.
using ByteScale = std::array<float, 256>;

/// The label of a record that contributes zero: the file's was outside 0..C-1.
inline constexpr std::int32_t kNoClass = -1;

/// {"shape", "classes", "lo", "hi", "on_error"}, of tables "table", of named classes "class_names": the
/// schema's only spelling, in releases and models.
nlohmann::json to_json(const Schema& schema);

/// Reads it back, strictly. The result is valid. @throws ProtocolError naming the field.
Schema read_schema(const JsonFields& fields);

}  // namespace muffle::schema
