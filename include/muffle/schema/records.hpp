#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/schema/person_rows.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::schema {

/// How a table is written as text (RFC 4180): as the files of its records are, so that whatever reads those
/// reads it too.
struct TextStyle {
  char separator = ',';
  bool header = true;        ///< the first line names the columns
  bool quote_texts = false;  ///< names and categories are all in quotes; else what must be

  bool operator==(const TextStyle&) const = default;
};

/// What records are to be written, and how many in all.
struct RecordKind {
  std::vector<std::size_t> shape;  ///< of one record
  bool floats = false;             ///< float32 in original units; else uint8
  std::uint64_t count = 0;
  std::shared_ptr<const Table> table = nullptr;  ///< of tables: `floats` are positions (table.hpp)
  TextStyle text = {};
  std::uint64_t keys_before = 0;  ///< of columns of keys: record i has the key of number keys_before + i + 1
  std::uint64_t rows_before = 0;  ///< of them, those that are the sample's own, in other files
  /// Of a person's column with Column::rows: record i is of the person at(rows_before + i), whose key has the
  /// number keys_before - rows_before + person + 1.
  std::shared_ptr<const PersonRows> persons = nullptr;
  std::vector<std::string> class_names = {};  ///< Schema::class_names

  /// The number of record i's key in such a column.
  std::uint64_t key_number(const Column& column, std::uint64_t i) const {
    if (!column.is_person()) return keys_before + i + 1;
    return keys_before - rows_before + persons->at(rows_before + i).person + 1;
  }
  /// No record has a larger one.
  std::uint64_t last_key_number(const Column& column) const {
    return column.is_person() ? keys_before - rows_before + persons->persons() : keys_before + count;
  }

  std::size_t dims() const { return numbers_of(shape); }
  std::size_t record_bytes() const { return dims() * (floats ? sizeof(float) : 1); }
  /// uint8 images of 1 or 3 channels.
  bool is_picture() const { return !floats && shape.size() == 3 && (shape[0] == 1 || shape[0] == 3); }
};

/// Synthetic (or generated) records in memory: exactly one of `bytes` and `floats` is used.
struct Records {
  std::vector<std::size_t> shape;    ///< of one record
  std::vector<std::uint8_t> bytes;   ///< n x dims, images
  std::vector<float> floats;         ///< n x dims, original units
  std::vector<std::uint8_t> labels;  ///< n

  std::size_t count() const { return labels.size(); }
  RecordKind kind() const { return {shape, !floats.empty(), count()}; }
  /// @throws InvariantError unless one of bytes and floats, not both, holds count() records (neither: 0).
  void check() const;
};

/// Writes records that come a few at a time, in order; holds none of them. Without finish() nothing is left
/// under the file's name (of a folder: what was written so far).
class RecordWriter {
 public:
  explicit RecordWriter(RecordKind kind) : kind_(std::move(kind)) {}
  virtual ~RecordWriter() = default;
  RecordWriter& operator=(RecordWriter&&) = delete;

  /// The next records. @throws IoError;  InvariantError: they contradict themselves or the announced kind.
  void add(const Records& some);
  /// After the last record. `heartbeat` is called as a long work gets on; what it throws ends that work.
  /// @throws IoError;  InvariantError: fewer or more records than announced.
  void finish(const Heartbeat& heartbeat);

 protected:
  const RecordKind& kind() const { return kind_; }
  std::uint64_t written() const { return written_; }

 private:
  virtual void write(const Records& some) = 0;
  virtual void complete(const Heartbeat& heartbeat) = 0;

  RecordKind kind_;
  std::uint64_t written_ = 0;
};

/// "NAME-00003-of-00008": what one of the parts is called in which records are written. They count from 0.
std::string part_name(const std::string& name, std::uint64_t part, std::uint64_t parts);
/// Of a part's name, or that of its file, the pattern (glob(7)) of all of them; any other as it is.
std::string part_pattern(const std::string& name);
/// How many parts there are, by a part's name or its pattern; 0: it is none.
std::uint64_t parts_of(const std::string& name);
inline constexpr std::uint64_t kMostParts = 99999;

/// A writer, and the file's name within its folder.
struct NamedWriter {
  std::string file;
  std::unique_ptr<RecordWriter> writer;
};

/// How records are written: what a record format (muffle/data/format.hpp), or pictures, say of themselves to
/// whoever makes records and must not be able to read any.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  /// In configurations.
  virtual std::string name() const = 0;
  /// Why it cannot hold such records; empty: it can.
  virtual std::string cannot_hold(const RecordKind&) const { return {}; }
  /// Bytes that such records take on the disk while they are written, at most.
  virtual std::uint64_t bytes_on_disk(const RecordKind& kind) const = 0;
  /// What is written for records of this name ("samples"); the last one is what others know the records by.
  virtual std::vector<std::string> files(const std::string& name) const = 0;
  /// One for each of these files, which appear in `folder`. @throws IoError; ConfigError: cannot_hold().
  std::vector<NamedWriter> writers(const std::filesystem::path& folder, const std::string& name,
                                   const RecordKind& kind) const;
  /// What it writes is a folder of very many files, not single ones.
  virtual bool writes_folder() const { return false; }
  /// Records may lie in several files, each named part_name(); whoever reads one reads all of them.
  virtual bool writes_parts() const { return false; }

 private:
  /// Of one of files(), for records that it can hold.
  virtual std::unique_ptr<RecordWriter> writer(const std::filesystem::path& file,
                                               const RecordKind& kind) const = 0;
};

}  // namespace muffle::schema
