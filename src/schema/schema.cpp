#include "muffle/schema/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/plain_text.hpp"

namespace muffle::schema {
namespace {

/// More numbers than this in one record is a mistyped shape: such a record would not fit a batch in memory.
constexpr std::size_t kMaxDims = std::size_t{1} << 28;
/// A schema that was read has no larger side, and no more classes.
constexpr std::uint64_t kMostSide = std::uint64_t{1} << 24;
constexpr std::uint64_t kMostClasses = std::uint64_t{1} << 20;
/// Of a class's name, in bytes: no file's name is longer on Linux's file systems.
constexpr std::size_t kLongestName = 255;

}  // namespace

std::string class_folder(std::string_view name) {
  std::string out = plain_text(name);
  std::replace(out.begin(), out.end(), '/', '_');
  if (out.starts_with('.')) out.front() = '_';
  return out;
}

std::string class_names_problem(const Schema& schema) {
  if (schema.class_names.empty()) return {};
  if (schema.table) return "is for records without a schema file: a table's label column has its names";
  std::set<std::string> folders;
  for (const std::string& name : schema.class_names) {
    const std::string plain = plain_text(name);  // what is released: some characters compose to longer ones
    if (plain.empty() || std::max(name.size(), plain.size()) > kLongestName || printable(name) != name)
      return fmt::format("has '{}': a name has 1 to {} bytes and no control characters", printable(name),
                         kLongestName);
    folders.insert(class_folder(name));
  }
  if (folders.size() == schema.class_names.size() && folders.size() == schema.classes) return {};
  return fmt::format("needs a name of its own for each of the {} classes (data.classes), not {}",
                     schema.classes, schema.class_names.size());
}

bool class_names_agree(const Schema& one, const Schema& other) {
  return one.class_names.empty() || other.class_names.empty() ||
         std::equal(one.class_names.begin(), one.class_names.end(), other.class_names.begin(),
                    other.class_names.end(), [](const std::string& a, const std::string& b) {
                      return plain_text(a) == plain_text(b);
                    });
}

void Schema::validate() const {
  if (shape.size() != 1 && shape.size() != 3) {
    throw DataError("the schema's shape has " + std::to_string(shape.size()) +
                    " sizes; write {columns} for vectors or {channels, height, width} for images.");
  }
  std::size_t product = 1;
  for (const std::size_t s : shape) {
    if (s == 0 || s > kMaxDims / product) {
      throw DataError("the schema's shape has a size of " + std::to_string(s) +
                      "; every size must be at least 1 and a record at most " + std::to_string(kMaxDims) +
                      " numbers.");
    }
    product *= s;
  }
  if (classes == 0 || classes > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw DataError("the schema has " + std::to_string(classes) +
                    " classes; write 1 for unlabelled records.");
  }
  const float low = static_cast<float>(lo), high = static_cast<float>(hi);
  if (!(low < high) || !std::isfinite(high - low)) {
    throw DataError("the schema's bounds lo = " + exact_text(lo) + " and hi = " + exact_text(hi) +
                    " must be finite float32 numbers with lo < hi.");
  }
  const std::string names = class_names_problem(*this);
  if (!names.empty()) throw DataError("the schema's class_names " + names + ".");
}

nlohmann::json to_json(const Schema& schema) {
  nlohmann::json out{{"shape", schema.shape},
                     {"classes", schema.classes},
                     {"lo", schema.lo},
                     {"hi", schema.hi},
                     {"on_error", schema.on_error == OnError::kRejectFile ? "reject-file" : "clamp"}};
  if (schema.table) out["table"] = to_json(*schema.table);
  if (!schema.class_names.empty()) out["class_names"] = schema.class_names;
  return out;
}

void describe_table(Schema& schema, std::shared_ptr<const Table> table) {
  const std::optional<std::size_t> label = table->label();
  schema.shape = {table->features().size()};
  schema.classes = label ? table->columns[*label].values.size() : 1;
  schema.lo = 0.0;
  schema.hi = 1.0;
  schema.table = std::move(table);
}

Schema read_schema(const JsonFields& fields) {
  fields.only({"shape", "classes", "lo", "hi", "on_error", "table", "class_names"});
  Schema schema;
  schema.shape = fields.sizes("shape", 3, 1, kMostSide);
  schema.classes = fields.integer("classes", 1, kMostClasses);
  schema.lo = fields.number("lo");
  schema.hi = fields.number("hi");
  schema.on_error =
      fields.choice("on_error", {"reject-file", "clamp"}) == 0 ? OnError::kRejectFile : OnError::kClamp;
  if (fields.has("table")) {
    const Schema said = schema;
    describe_table(schema, std::make_shared<const Table>(read_table(fields.object("table"))));
    if (said.shape != schema.shape || said.classes != schema.classes || said.lo != schema.lo ||
        said.hi != schema.hi)
      fields.fail("table", "has other columns or classes than the schema around it says");
  }
  if (fields.has("class_names")) {
    schema.class_names = fields.texts("class_names", kMostClasses, kLongestName);
    if (schema.class_names.empty()) fields.fail("class_names", "is empty");
  }
  try {
    schema.validate();
  } catch (const DataError& e) {
    fields.fail("", std::string("describes no records: ") + e.what());
  }
  return schema;
}

}  // namespace muffle::schema
