#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/settings.hpp"
#include "muffle/data/source.hpp"
#include "muffle/schema/records.hpp"

namespace muffle::data {

/// One record as its file has it. Private.
struct Row {
  std::vector<std::uint8_t> bytes;  ///< d numbers, where the file holds bytes
  std::vector<float> floats;        ///< d numbers elsewhere, in original units
  std::int64_t label = 0;  ///< as stored; -1 where it is none that any class could have; unlabelled: 0
  /// Why it cannot be a record of the schema at all, such as a picture of another size: then its numbers are
  /// 0 and its label -1. Empty: it can.
  std::string misfit = {};
  std::string person;  ///< of tables, where DataSpec::records_per_person asks for it; empty: unknown
};

/// The records of one rank's files, in their order, before shards, bounds and classes are looked at: what a
/// format has to provide. Memory: a fixed buffer and a record, whatever the files declare.
/// Messages name the file; how many records it declares or holds is a local detail; nothing holds a number.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  virtual std::uint64_t records() const = 0;
  /// Row::bytes, or else Row::floats.
  virtual bool holds_bytes() const = 0;
  /// The next read() gives this record, counted from 0: none before those that were read. @throws DataError.
  virtual void go_to(std::uint64_t record) = 0;
  /// @throws DataError  truncated or damaged.
  virtual void read(Row& row) = 0;
  /// Passes over what is left and checks that the files end where they say. @throws DataError.
  virtual void expect_end() {}

  /// For messages: "'FILE'".
  virtual std::string name() const = 0;
  /// Where the record that was read last lies.
  struct Place {
    std::string files;           ///< "'FILE'", or "'RECORDS' and 'LABELS'"
    std::uint64_t record = 0;    ///< in its file
    std::string numbers, label;  ///< "'FILE'": which one holds them
  };
  virtual Place last() const = 0;
  /// So much was read since it was last asked that others should be let in, however few records that were.
  virtual bool pauses() { return false; }
  /// Of tables: what did not fit so far and was put right, for the rank's own log. Empty: nothing.
  virtual std::string misfits() const { return {}; }
};

/// A record format, stateless: a file of its own (src/data/NAME_format.cpp) and a line in format_kinds.inc.
class Format : public schema::RecordFormat {
 public:
  /// One line, for help.
  virtual std::string_view summary() const = 0;

  /// The keys of [data] that are its own, of the release stage. What several formats share the first of them
  /// in the table declares.
  virtual void declare(settings::Keys&, DataSpec&) const {}
  /// What is wrong with spec.labels, by itself; empty: nothing. By default labels are in a file of their own.
  virtual std::string labels_problem(const DataSpec& spec) const;
  /// Of tables, and of records that are none: its files can hold them.
  virtual bool holds_tables() const { return false; }
  virtual bool holds_plain() const { return true; }
  /// Its files are rows of text, of one or more files that a pattern names; else they are arrays of numbers.
  virtual bool is_text() const { return false; }
  /// Its records are pictures in files of their own: DataSpec::resize is for it.
  virtual bool holds_pictures() const { return false; }
  /// Why its files cannot hold such records; empty: they can.
  std::string schema_problem(const schema::Schema& schema) const;
  /// A file that this rank's records are in; of an archive the array that they are: else its whole.
  struct Part {
    std::string file, array;
  };
  /// What tells a rank's records: of several files each, so that share_records() finds one that is in both.
  /// @throws DataError  a name is wrong, or no file has it.
  virtual std::vector<Part> parts(const DataSpec& spec, int rank) const;
  /// Opens all files of this rank and checks them against the schema. @throws DataError, IoError.
  virtual std::unique_ptr<RecordStream> open(const DataSpec& spec, int rank) const = 0;
  /// How to read what writers() wrote: `features` and `labels`. By default files() holds one file.
  virtual DataSpec written(const std::string& name) const;
};

/// One line of the table of record formats.
struct FormatKind {
  std::string name;
  const Format* format;
};

/// The table of all kinds (src/data/format_kinds.inc).
std::span<const FormatKind> format_kinds();
/// @throws ConfigError  an unknown name: lists those that there are.
const Format& find_format(std::string_view name);

/// The stream behind open_shard(): all the records that this rank's files hold. @throws as open_shard().
std::unique_ptr<RecordStream> open_records(const DataSpec& spec, int rank = 0);

/// How to read records that a format has written (such as samples.npz), known by the file's name; the schema
/// is the caller's. @param text  text files have its separator, and a header if it has
/// @throws DataError  no format writes such files: lists what there is.
DataSpec written_records(const std::filesystem::path& file, const DataSpec& text = {});

/// Writes an IDX file, plain: magic 0 0 type rank, then `rank` sizes as big-endian u32, then the elements,
/// row-major: uint8 (type 0x08) or big-endian float32 (0x0D). Atomic.
/// @param dims  records first; their product must be elements.size().
/// @throws IoError;  InvariantError if dims and elements disagree or a size does not fit 32 bits.
void write_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
               std::span<const std::uint8_t> elements);
void write_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
               std::span<const float> elements);

}  // namespace muffle::data
