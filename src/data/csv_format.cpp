#include "csv_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "csv_header.hpp"
#include "csv_rows.hpp"
#include "file_names.hpp"
#include "muffle/core/log.hpp"
#include "table_fields.hpp"

namespace muffle::data {
namespace {

constexpr std::uint64_t kRowsABeat = std::uint64_t{1} << 18;  // a fraction of a second

/// Columns of the schema, for each of a file's columns.
using Places = std::vector<std::size_t>;

constexpr std::size_t kNobodys = HeaderMatch::kUnknown;

/// Which column of the schema each name of a header is; kNobodys: its fields are read past. Columns that
/// nobody needs may be missing. Where names stand that the schema does not know is told to the rank alone.
/// @throws DataError  naming the columns that are missing or there twice.
Places places_of_header(CsvRows& rows, const TableFields& fields, bool& unnamed_end) {
  const auto needed = [&](std::size_t j) { return fields.needs(j); };
  HeaderMatch match = match_header(rows.fields(), fields.table(), needed);
  if (match.matches()) {
    unnamed_end = !match.unnamed.empty() && match.unnamed.back() == match.places.size();
    if (const std::string past = unnamed_text(match.unnamed, rows.name()); !past.empty())
      note_local("data: " + past + ".");
    return std::move(match.places);
  }
  if (match.may_be_record()) {
    throw DataError("the first line of " + rows.name() +
                    " names few of the schema's columns, or none. Is it a header (data.header), separated by "
                    "data.separator, and the schema's file the right one?" +
                    (header_is_below(rows, fields.table(), needed)
                         ? " A later line is: data.skip says how many lines stand above it."
                         : ""));
  }
  throw DataError(fmt::format("the header of {} and the schema have different columns: the header {}. "
                              "Correct whichever is wrong (columns that nobody needs have the type "
                              "\"ignore\" in the schema).",
                              rows.name(), match.differences()),
                  LocalDetail{match.unknown.empty() ? std::string()
                                                    : "the schema does not know " + match.unknown_places() +
                                                          " in the header of " + rows.name() + "."});
}

/// Without a header: the schema's order. @param as_written  without the columns that samples lack
Places in_order(const schema::Table& table, bool as_written) {
  Places places;
  for (std::size_t j = 0; j < table.in_files(); ++j) {
    if (!as_written || table.columns[j].is_sampled()) places.push_back(j);
  }
  return places;
}

/// The rows of one file, behind its header.
class CsvFile {
 public:
  CsvFile(const std::string& path, const DataSpec& spec, const TableFields& fields)
      : rows_(path, dialect_of(spec)) {
    if (!spec.header) {
      places_ = in_order(fields.table(), spec.as_written);
      return;
    }
    if (!rows_.read_header()) {
      throw DataError(rows_.name() +
                      " is empty: data.header = true needs a first line with the columns' names. Is it the "
                      "right file?");
    }
    places_ = places_of_header(rows_, fields, unnamed_end_);
    if (!unnamed_end_ && rows_have_names(path, dialect_of(spec), places_.size())) {
      places_.insert(places_.begin(), kNobodys);
      note_local("data: " + unnamed_text({1}, rows_.name()) + ".");
    }
  }

  CsvRows& rows() { return rows_; }
  const CsvRows& rows() const { return rows_; }

  void read(TableFields& fields, Row& row) {
    const auto values = rows_.fields();
    const auto count = fields_that_count(values, places_.size(), unnamed_end_);
    if (!count) {
      throw rows_.malformed(fmt::format("has {} field{}, the file has {} columns", values.size(),
                                        values.size() == 1 ? "" : "s", places_.size()));
    }
    fields.begin(row);
    for (std::size_t i = 0; i < *count; ++i) {
      if (places_[i] != kNobodys) fields.put(places_[i], values[i], row);
    }
    fields.end(row);
  }

 private:
  CsvRows rows_;
  Places places_;             ///< of the file's columns
  bool unnamed_end_ = false;  ///< the last of them has no name
};

/// The rows of files one after the other, each counted when it is opened for the first time.
class CsvRecords final : public RecordStream {
 public:
  CsvRecords(const DataSpec& spec, int rank)
      : spec_(spec), name_("'" + spec.features + "'"), fields_(spec, [this] { return last(); }) {
    for (std::string& path : files_of(spec, rank)) {
      CsvFile file(path, spec, fields_);
      while (file.rows().skip()) {
        if (file.rows().rows() % kRowsABeat == 0) beat(spec.heartbeat);
      }
      if (const std::string rows = file.rows().long_rows(); !rows.empty()) note_local("data: " + rows + ".");
      files_.push_back({std::move(path), file.rows().rows()});
      records_ += files_.back().records;
    }
    if (files_.size() == 1) name_ = "'" + files_.front().path + "'";
  }

  std::uint64_t records() const override { return records_; }
  bool holds_bytes() const override { return false; }

  void go_to(std::uint64_t record) override {
    if (record == records_) return;
    while (record - before_ >= files_[file_].records) {
      before_ += files_[file_].records;
      ++file_;
      open_.reset();
    }
    CsvRows& rows = open();
    while (rows.rows() < record - before_) {
      if (!rows.skip()) throw changed();
    }
  }

  void read(Row& row) override {
    go_to(before_ + open().rows());
    CsvFile& file = *open_;
    if (!file.rows().read()) throw changed();
    file.read(fields_, row);
  }

  void expect_end() override {
    for (;; ++file_, open_.reset()) {
      if (file_ == files_.size()) return;
      CsvRows& rows = open();
      while (rows.skip()) {
      }
      if (rows.rows() != files_[file_].records) throw changed();
    }
  }

  std::string name() const override { return name_; }
  Place last() const override {
    const std::string file = "'" + files_[file_].path + "'";
    return {file, open_->rows().rows() - 1, file, file};
  }
  std::string misfits() const override { return fields_.misfits(); }

 private:
  struct CountedFile {
    std::string path;
    std::uint64_t records = 0;
  };

  CsvRows& open() {
    if (!open_) open_.emplace(files_[file_].path, spec_, fields_);
    return open_->rows();
  }
  DataError changed() const {
    return DataError("'" + files_[file_].path +
                     "' was changed while it was read: nothing was released. Run again when it is at rest.");
  }

  DataSpec spec_;
  std::string name_;
  TableFields fields_;
  std::vector<CountedFile> files_;
  std::uint64_t records_ = 0;
  std::size_t file_ = 0;
  std::uint64_t before_ = 0;  ///< records in the files before file_
  std::optional<CsvFile> open_;
};

}  // namespace

std::vector<Format::Part> CsvFormat::parts(const DataSpec& spec, int rank) const {
  std::vector<Part> out;
  for (std::string& file : files_of(spec, rank)) out.push_back({std::move(file), {}});
  return out;
}

void CsvFormat::declare(settings::Keys& keys, DataSpec& s) const {
  if (compressed_) return;  // both have them, and the plain one declares them
  keys.choice<char>(
      "separator", s.separator,
      {{",", ','}, {";", ';'}, {"tab", '\t'}, {"\t", '\t'}, {"|", '|'}, {"blank", kBlankSeparator}},
      "between the fields of a CSV file; blank: any blanks and tabs");
  keys.also(settings::Stage::kSample);  // samples are written as the records are
  keys.flag("header", s.header,
            "the first line of a CSV file names its columns, in any order; false: the schema's order");
  keys.also(settings::Stage::kSample);
  keys.text(
      "comment", s.comment,
      "one character: lines of a CSV file before its header that begin with it are passed over; empty: none. "
      "Without a header: data.skip");
  keys.count("skip", s.skip, 0, 1'000'000,
             "lines at the beginning of a CSV file that are none of the table's");
  keys.text(
      "encoding", s.encoding,
      "of a CSV file's text, by a name that iconv knows: utf-8, latin-1, windows-1252, utf-16, ...; samples "
      "are UTF-8");
}

std::string CsvFormat::labels_problem(const DataSpec& spec) const {
  if (spec.labels.empty()) return {};
  return fmt::format("data.labels names a file, but data.format = \"{}\" has labels in a column", name());
}

std::unique_ptr<RecordStream> CsvFormat::open(const DataSpec& spec, int rank) const {
  return std::make_unique<CsvRecords>(spec, rank);
}

std::string CsvFormat::cannot_hold(const schema::RecordKind& kind) const {
  return kind.table ? "" : "it holds the columns of a table, and these records have no schema of columns";
}

DataSpec CsvFormat::written(const std::string& name) const {
  return Format::written(schema::part_pattern(name));
}

const Format& csv_format() {
  static const CsvFormat format(/*compressed=*/false);
  return format;
}

}  // namespace muffle::data
