#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/data/format.hpp"
#include "muffle/schema/table.hpp"

namespace muffle::data {

/// CSV files of a table. The two kinds read the same, plain and gzip; they differ in what they write.
class CsvFormat : public Format {
 public:
  explicit CsvFormat(bool compressed) : compressed_(compressed) {}

  std::string name() const override { return compressed_ ? "csv-gz" : "csv"; }
  std::string_view summary() const override {
    return compressed_ ? "the same, written compressed"
                       : "CSV (RFC 4180), plain or .gz, of a table (data.schema); a name with * stands for "
                         "all files that match";
  }

  void declare(settings::Keys& keys, DataSpec& s) const override;
  std::string labels_problem(const DataSpec& spec) const override;
  bool holds_tables() const override { return true; }
  bool holds_plain() const override { return false; }
  bool is_text() const override { return true; }
  std::vector<Part> parts(const DataSpec& spec, int rank) const override;
  std::unique_ptr<RecordStream> open(const DataSpec& spec, int rank) const override;

  std::string cannot_hold(const schema::RecordKind& kind) const override;
  std::uint64_t bytes_on_disk(const schema::RecordKind& kind) const override;
  std::vector<std::string> files(const std::string& name) const override {
    return {name + (compressed_ ? ".csv.gz" : ".csv")};
  }

  bool writes_parts() const override { return true; }
  DataSpec written(const std::string& name) const override;

 private:
  std::unique_ptr<schema::RecordWriter> writer(const std::filesystem::path& file,
                                               const schema::RecordKind& kind) const override;

  bool compressed_;
};

}  // namespace muffle::data
