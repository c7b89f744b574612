#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {

#define MUFFLE_KIND(id) const Format& id##_format();
#include "format_kinds.inc"

std::span<const FormatKind> format_kinds() {
  static const std::vector<FormatKind> table{
#define MUFFLE_KIND(id) {kind_name(#id), &id##_format()},
#include "format_kinds.inc"
  };
  return table;
}

const Format& find_format(std::string_view name) {
  return *find_kind(format_kinds(), name, "record format").format;
}

std::string Format::labels_problem(const DataSpec& spec) const {
  if (!spec.labels.empty() || spec.schema.classes == 1) return {};
  return "data.labels names no file, but data.classes is above 1";
}

std::vector<Format::Part> Format::parts(const DataSpec& spec, int rank) const {
  return {{resolve_path(spec, spec.features, rank), {}}};
}

std::string Format::schema_problem(const schema::Schema& schema) const {
  const std::string self = name();
  if (schema.table && !holds_tables()) {
    return fmt::format(
        "data.schema describes a table, which data.format = \"{}\" does not hold: use {}", self,
        names_where(format_kinds(), [](const FormatKind& k) { return k.format->holds_tables(); }));
  }
  if (schema.table || holds_plain()) return {};
  return fmt::format("data.format = \"{}\" needs a schema of its columns: set data.schema", self);
}

DataSpec Format::written(const std::string& name) const {
  DataSpec spec;
  spec.format = this->name();
  spec.features = files(name).back();
  return spec;
}

DataSpec written_records(const std::filesystem::path& file, const DataSpec& text) {
  const std::string name = file.filename().string();
  std::string known;
  for (const FormatKind& kind : format_kinds()) {
    const std::string ending = kind.format->files("").back();
    if (name.ends_with(ending)) {
      DataSpec spec = kind.format->written(name.substr(0, name.size() - ending.size()));
      spec.dir = file.parent_path().string();
      spec.separator = text.separator;
      spec.header = text.header;
      spec.as_written = true;
      return spec;
    }
    known += fmt::format("{}*{}", known.empty() ? "" : ", ", ending);
  }
  throw DataError(fmt::format("'{}' is no file of records that muffle writes: those are named {}.",
                              file.string(), known));
}

}  // namespace muffle::data
