#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/data/format.hpp"
#include "muffle/schema/date_differences.hpp"
#include "muffle/schema/key_text.hpp"
#include "muffle/schema/table_text.hpp"
#include "npy_files.hpp"
#include "table_arrays.hpp"
#include "zip_file.hpp"

namespace muffle::data {
namespace {

/// An archive to be. Its arrays grow in files of their own, which libzip then puts together: it writes no
/// archive in pieces.
class NewArchive {
 public:
  explicit NewArchive(const std::filesystem::path& path) : path_(path) {}
  ~NewArchive() {
    if (arrays_.empty()) return;
    const WatchedStep step("removing what is left of", path_);
    std::error_code nothing_to_do;
    std::filesystem::remove(whole(), nothing_to_do);
  }
  NewArchive& operator=(NewArchive&&) = delete;

  /// A new member NAME.npy.
  void begin(const std::string& name, const std::string& descr, std::vector<std::size_t> shape) {
    const std::string file = path_.string() + "." + std::to_string(arrays_.size()) + ".npy";
    arrays_.push_back({name + ".npy", std::make_unique<NewFile>(file)});
    const std::string header = npy_header(descr, shape);
    write(arrays_.size() - 1, std::as_bytes(std::span(header)));
  }
  /// The array's next numbers.
  void write(std::size_t array, std::span<const std::byte> numbers) { arrays_[array].file->write(numbers); }
  void complete(const Heartbeat& heartbeat) {
    std::vector<ZipContent> contents;
    for (const Array& array : arrays_) contents.push_back({array.member, array.file->temporary()});
    write_zip(whole(), contents, path_, heartbeat);
    move_into_place(whole(), path_);
  }

 private:
  struct Array {
    std::string member;
    std::unique_ptr<NewFile> file;
  };
  std::filesystem::path whole() const { return arrays_.front().file->temporary().string() + ".zip"; }

  std::filesystem::path path_;
  std::vector<Array> arrays_;
};

/// The arrays x and y.
class NpzWriter final : public schema::RecordWriter {
 public:
  NpzWriter(const std::filesystem::path& path, const schema::RecordKind& kind)
      : RecordWriter(kind), archive_(path) {
    archive_.begin("x", kind.floats ? "<f4" : "|u1", {kind.count, kind.dims()});
    archive_.begin("y", "|u1", {kind.count});
  }

 private:
  void write(const schema::Records& some) override {
    archive_.write(
        0, kind().floats ? std::as_bytes(std::span(some.floats)) : std::as_bytes(std::span(some.bytes)));
    archive_.write(1, std::as_bytes(std::span(some.labels)));
  }
  void complete(const Heartbeat& heartbeat) override { archive_.complete(heartbeat); }

  NewArchive archive_;
};

/// The characters of a text in UTF-8, which the schema's are.
std::vector<std::uint32_t> characters(std::string_view text) {
  std::vector<std::uint32_t> out;
  for (const char c : text) {
    const auto byte = static_cast<std::uint32_t>(static_cast<unsigned char>(c));
    if ((byte & 0xC0) == 0x80 && !out.empty()) {
      out.back() = out.back() << 6 | (byte & 0x3F);
    } else {
      out.push_back(byte < 0x80 ? byte : byte < 0xE0 ? byte & 0x1F : byte < 0xF0 ? byte & 0x0F : byte & 0x07);
    }
  }
  return out;
}

/// A table: an array for each column that samples have, named as it is. Numbers are float64, NaN: missing;
/// categories are their codes, the last one: missing; or texts (U), where numbers would be taken for these.
/// Keys and people are texts.
class NpzTableWriter final : public schema::RecordWriter {
 public:
  NpzTableWriter(const std::filesystem::path& path, const schema::RecordKind& kind)
      : RecordWriter(kind), rows_(*this->kind().table), archive_(path) {
    std::size_t numbers = 0;
    for (std::size_t j = 0; j < kind.table->in_files(); ++j) {
      const schema::Column& column = kind.table->columns[j];
      if (!column.is_sampled()) continue;
      Array array{schema::ColumnText(column), std::nullopt, sizeof(double), {}, j, std::nullopt};
      if (column.is_feature()) array.number = numbers++;
      std::string descr = "<f8";
      if (column.type == schema::ColumnType::kKey || column.is_person()) {
        require(!column.is_person() || kind.persons, "rows of people whom nobody has dealt them to");
        array.key.emplace(column);
        const std::size_t longest = key_of(array, kind.last_key_number(column)).size();  // it has most digits
        array.bytes = longest * sizeof(std::uint32_t);
        descr = "<U" + std::to_string(longest);
      } else if (array.text.numbers_are_texts()) {
        for (std::uint32_t code = 0; code < column.codes(); ++code)
          array.texts.push_back(characters(text_of(array.text, code)));
        std::size_t longest = 1;
        for (const auto& text : array.texts) longest = std::max(longest, text.size());
        array.bytes = longest * sizeof(std::uint32_t);
        descr = "<U" + std::to_string(longest);
      } else if (!column.is_number()) {
        array.bytes = column.codes() <= 256 ? 1 : column.codes() <= 65536 ? 2 : 4;
        descr = array.bytes == 1 ? "|u1" : array.bytes == 2 ? "<u2" : "<u4";
      }
      archive_.begin(column.name, descr, {kind.count});
      arrays_.push_back(std::move(array));
    }
  }

 private:
  struct Array {
    schema::ColumnText text;
    std::optional<std::size_t> number;  ///< of a record; none: the label, a key, or it follows
    std::size_t bytes;                  ///< of a number or text in the file
    std::vector<std::vector<std::uint32_t>>
        texts;           ///< of the codes, in characters; empty: numbers are written
    std::size_t column;  ///< of the table
    std::optional<schema::KeyText> key;
  };

  static std::vector<std::uint32_t> key_of(const Array& array, std::uint64_t number) {
    std::string text;
    array.key->write(number, text);
    return characters(text);
  }

  static std::string text_of(const schema::ColumnText& column, std::uint32_t code) {
    std::string text;
    column.write({code, 0.5f}, text);
    return text;
  }
  void store(std::uint64_t bits, std::size_t bytes) {
    for (std::size_t b = 0; b < bytes; ++b) stored_.push_back(static_cast<std::byte>(bits >> (8 * b) & 0xFF));
  }

  void write(const schema::Records& some) override {
    const std::size_t dims = kind().dims();
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const Array& array = arrays_[a];
      const schema::Column& column = array.text.column();
      stored_.clear();
      for (std::size_t i = 0; i < some.count(); ++i) {
        if (array.key) {
          for (const std::uint32_t c : key_of(array, kind().key_number(column, written() + i)))
            store(c, sizeof c);
          stored_.resize((i + 1) * array.bytes);
          continue;
        }
        schema::Cell cell{some.labels[i], 0.5f};
        if (rows_.follows(array.column)) {
          const double value = rows_.number(array.column, std::span(some.floats).subspan(i * dims, dims));
          if (column.is_number()) {
            store(std::bit_cast<std::uint64_t>(value), array.bytes);
            continue;
          }
          cell.code = std::isnan(value) ? column.missing_code() : static_cast<std::uint32_t>(value);
        } else if (array.number) {
          cell = schema::cell_at(some.floats[i * dims + *array.number], column.codes());
        }
        if (array.texts.empty()) {
          store(column.is_number() ? std::bit_cast<std::uint64_t>(array.text.number(cell)) : cell.code,
                array.bytes);
          continue;
        }
        for (const std::uint32_t c : array.texts.at(cell.code)) store(c, sizeof c);
        stored_.resize((i + 1) * array.bytes);
      }
      archive_.write(a, stored_);
    }
  }
  void complete(const Heartbeat& heartbeat) override { archive_.complete(heartbeat); }

  schema::RowNumbers rows_;
  NewArchive archive_;
  std::vector<Array> arrays_;
  std::vector<std::byte> stored_;
};

/// NumPy's arrays: records and labels as x and y of an .npz (stored or deflated), or in an .npy each; of a
/// table an array for each column of an .npz, or all columns in an .npy.
class NpzFormat final : public Format {
 public:
  std::string name() const override { return "npz"; }
  std::string_view summary() const override {
    return "NumPy's .npz with arrays x and y (data.arrays), or an .npy for each: float32, float64, whole "
           "numbers; of a "
           "table one array a column, of texts too";
  }

  bool holds_tables() const override { return true; }
  void declare(settings::Keys& keys, DataSpec& s) const override {
    keys.texts("arrays", s.arrays, "[\"x_train\", \"y_train\"]",
               "names of an .npz or HDF5 file's arrays: the records, and their labels (none if classes = 1)");
    keys.choice<bool>("layout", s.channels_last, {{"channels-first", false}, {"channels-last", true}},
                      "of an image in arrays and IDX files: channels x height x width, or height x width x "
                      "channels; data.shape names the channels first in either");
  }
  std::string labels_problem(const DataSpec& spec) const override {
    if (spec.schema.table) {
      return spec.labels.empty() ? "" : "data.labels names a file, but the label of a table is a column";
    }
    if (is_npy(spec.features)) return Format::labels_problem(spec);
    if (spec.labels.empty()) return {};
    return "data.labels names a file, but an .npz has the labels in its array y (data.arrays), beside the "
           "records";
  }
  std::vector<Part> parts(const DataSpec& spec, int rank) const override {
    std::string file = resolve_path(spec, spec.features, rank);
    const bool array = !spec.schema.table && !is_npy(file);
    return {{std::move(file), array ? spec.arrays.front() : ""}};
  }
  std::unique_ptr<RecordStream> open(const DataSpec& spec, int rank) const override {
    const std::string file = resolve_path(spec, spec.features, rank);
    if (spec.schema.table) return table_records(spec, file);
    std::optional<ArrayReader> labels;
    if (is_npy(file)) {
      ArrayReader numbers = open_npy(file, false);
      if (!spec.labels.empty()) labels.emplace(open_npy(resolve_path(spec, spec.labels, rank), false));
      return array_records(spec, std::move(numbers), std::move(labels));
    }
    ArrayReader numbers = open_member(file, spec.arrays.front(), false);
    if (spec.schema.classes > 1) labels.emplace(open_member(file, spec.arrays.at(1), false));
    return array_records(spec, std::move(numbers), std::move(labels));
  }

  std::uint64_t bytes_on_disk(const schema::RecordKind& kind) const override {
    // The arrays, and then the archive of them.
    if (kind.table) return 2 * (kind.count * sizeof(double) + 512) * kind.table->columns.size();
    return 2 * kind.count * (kind.record_bytes() + 1);
  }
  std::vector<std::string> files(const std::string& name) const override { return {name + ".npz"}; }

 private:
  std::unique_ptr<schema::RecordWriter> writer(const std::filesystem::path& file,
                                               const schema::RecordKind& kind) const override {
    if (kind.table) return std::make_unique<NpzTableWriter>(file, kind);
    return std::make_unique<NpzWriter>(file, kind);
  }
};

}  // namespace

const Format& npz_format() {
  static const NpzFormat format;
  return format;
}

}  // namespace muffle::data
