#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "muffle/data/format.hpp"

namespace muffle::test {

/// All of the records at once.
inline void write_whole(schema::RecordWriter& writer, const schema::Records& records) {
  writer.add(records);
  writer.finish([] {});
}

/// Writes records in the format that has such files: "samples.npz", "x-images.idx" (and x-labels.idx).
inline void write_records(const std::filesystem::path& file, const schema::Records& records,
                          std::shared_ptr<const schema::Table> table = nullptr) {
  schema::RecordKind kind = records.kind();
  kind.table = std::move(table);
  const data::Format& format = data::find_format(data::written_records(file).format);
  const std::string name = file.filename().string(), ending = format.files("").back();
  for (const auto& written :
       format.writers(file.parent_path(), name.substr(0, name.size() - ending.size()), kind))
    write_whole(*written.writer, records);
}

/// Reads them back.
inline schema::Records read_records(const std::filesystem::path& file, std::vector<std::size_t> shape) {
  data::DataSpec spec = data::written_records(file);
  spec.schema.shape = shape;
  spec.schema.classes = 256;
  const auto stream = data::open_records(spec);
  schema::Records records;
  records.shape = std::move(shape);
  data::Row row;
  for (std::uint64_t i = 0; i < stream->records(); ++i) {
    stream->read(row);
    records.bytes.insert(records.bytes.end(), row.bytes.begin(), row.bytes.end());
    records.floats.insert(records.floats.end(), row.floats.begin(), row.floats.end());
    records.labels.push_back(static_cast<std::uint8_t>(row.label));
  }
  stream->expect_end();
  return records;
}

/// All record formats, and others.
inline std::vector<const schema::RecordFormat*> formats_and(
    std::vector<const schema::RecordFormat*> others = {}) {
  std::vector<const schema::RecordFormat*> all;
  for (const data::FormatKind& kind : data::format_kinds()) all.push_back(kind.format);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace muffle::test
