#include "muffle/schema/schema_json.hpp"

#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"

namespace muffle::schema {
namespace {

constexpr std::uint64_t kMostSide = std::uint64_t{1} << 24;
constexpr std::uint64_t kMostClasses = std::uint64_t{1} << 20;

}  // namespace

nlohmann::json to_json(const Schema& schema) {
  return {{"shape", schema.shape},
          {"classes", schema.classes},
          {"lo", schema.lo},
          {"hi", schema.hi},
          {"on_error", schema.on_error == OnError::kRejectFile ? "reject-file" : "clamp"}};
}

Schema read_schema(const JsonFields& fields) {
  fields.only({"shape", "classes", "lo", "hi", "on_error"});
  Schema schema;
  schema.shape = fields.sizes("shape", 3, 1, kMostSide);
  schema.classes = fields.integer("classes", 1, kMostClasses);
  schema.lo = fields.number("lo");
  schema.hi = fields.number("hi");
  schema.on_error =
      fields.choice("on_error", {"reject-file", "clamp"}) == 0 ? OnError::kRejectFile : OnError::kClamp;
  try {
    schema.validate();
  } catch (const DataError& e) {
    fields.fail("", std::string("describes no records: ") + e.what());
  }
  return schema;
}

std::string hash_of(const Schema& schema) { return to_hex(sha256(to_json(schema).dump())); }

}  // namespace muffle::schema
