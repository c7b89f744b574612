#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "byte_stream.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {
namespace {

/// The names in data.features. @throws DataError  one is empty.
std::vector<std::string> split_at_commas(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::size_t first = list.find_first_not_of(' ', at), last = list.find_last_not_of(' ', comma - 1);
    if (first >= comma || comma == at) {
      throw DataError("data.features = '" + list +
                      "' has an empty name between its commas: name the files, separated by single commas.");
    }
    names.push_back(list.substr(first, last + 1 - first));
    at = comma + 1;
  }
  return names;
}

struct CifarFile {
  std::string name;
  std::uint64_t records = 0;
};

/// Sizes are private where the number of records is: they go to the rank's own log.
CifarFile inspect(const std::string& name, std::uint64_t record_bytes) {
  const ByteStream stream(name);
  if (stream.compressed()) {
    throw DataError("'" + name +
                    "' is compressed; records in the CIFAR format are read uncompressed. Unpack it first.");
  }
  if (stream.file_size() % record_bytes != 0) {
    throw DataError(
        "'" + name + "' is not a whole number of records of " + std::to_string(record_bytes) +
            " bytes, a label and data.shape: it is truncated, or data.shape or data.format is wrong.",
        LocalDetail{"'" + name + "' has " + std::to_string(stream.file_size()) + " bytes"});
  }
  return {name, stream.file_size() / record_bytes};
}

/// Files that one after the other hold records of a label byte and then a byte for each number. Nothing in
/// them says what they are: the schema does.
class CifarRecords final : public RecordStream {
 public:
  CifarRecords(const DataSpec& spec, int rank)
      : name_("'" + spec.features + "'"),
        labelled_(spec.schema.classes > 1),
        record_bytes_(1 + spec.schema.dims()) {
    for (const std::string& name : split_at_commas(spec.features)) {
      files_.push_back(inspect(resolve_path(spec, name, rank), record_bytes_));
      records_ += files_.back().records;
    }
  }

  std::uint64_t records() const override { return records_; }
  bool holds_bytes() const override { return true; }

  void go_to(std::uint64_t record) override {
    if (record == records_) return;
    std::uint64_t place = record - before_;
    while (place >= files_[file_].records) {
      place -= files_[file_].records;
      before_ += files_[file_].records;
      ++file_;
      stream_.reset();
    }
    if (!stream_) {
      stream_.emplace(files_[file_].name);
      position_ = 0;
      if (stream_->file_size() != files_[file_].records * record_bytes_ || stream_->compressed())
        throw changed();
    }
    const std::uint64_t bytes = (place - position_) * record_bytes_;
    if (stream_->skip(bytes) < bytes) throw changed();
    position_ = place;
  }

  void read(Row& row) override {
    go_to(before_ + position_);
    std::byte label[1];
    row.bytes.resize(record_bytes_ - 1);
    if (stream_->read(label) < 1 ||
        stream_->read(std::as_writable_bytes(std::span(row.bytes))) < row.bytes.size())
      throw changed();
    row.label = labelled_ ? std::to_integer<std::int64_t>(label[0]) : 0;
    ++position_;
  }

  std::string name() const override { return name_; }
  Place last() const override {
    const std::string file = "'" + files_[file_].name + "'";
    return {file, position_ - 1, file, file};
  }

 private:
  DataError changed() const {
    return DataError("'" + files_[file_].name +
                     "' was changed while it was read: nothing was released. Run again when it is at rest.");
  }

  std::string name_;
  bool labelled_;  ///< else the byte may be anything
  std::size_t record_bytes_;
  std::vector<CifarFile> files_;
  std::uint64_t records_ = 0;
  std::size_t file_ = 0;
  std::uint64_t before_ = 0;  ///< records in the files before file_
  std::optional<ByteStream> stream_;
  std::uint64_t position_ = 0;  ///< in the file that is open
};

class CifarWriter final : public schema::RecordWriter {
 public:
  CifarWriter(const std::filesystem::path& path, const schema::RecordKind& kind)
      : RecordWriter(kind), file_(path) {}

 private:
  void write(const schema::Records& some) override {
    const std::size_t dims = kind().dims();
    std::vector<std::uint8_t> out;
    out.reserve(some.count() * (1 + dims));
    for (std::size_t i = 0; i < some.count(); ++i) {
      out.push_back(some.labels[i]);
      out.insert(out.end(), some.bytes.begin() + static_cast<std::ptrdiff_t>(i * dims),
                 some.bytes.begin() + static_cast<std::ptrdiff_t>((i + 1) * dims));
    }
    file_.write(std::as_bytes(std::span(out)));
  }
  void complete(const Heartbeat&) override { file_.commit(); }

  NewFile file_;
};

/// CIFAR-10's binary version, of any shape.
class CifarFormat final : public Format {
 public:
  std::string name() const override { return "cifar"; }
  std::string_view summary() const override {
    return "CIFAR's binary files: a label byte before every record's bytes; several, separated by commas";
  }

  std::vector<Part> parts(const DataSpec& spec, int rank) const override {
    std::vector<Part> out;
    for (const std::string& name : split_at_commas(spec.features))
      out.push_back({resolve_path(spec, name, rank), {}});
    return out;
  }
  std::string labels_problem(const DataSpec& spec) const override {
    if (spec.labels.empty()) return {};
    return "data.labels names a file, but data.format = \"cifar\" has the labels beside the records";
  }
  std::unique_ptr<RecordStream> open(const DataSpec& spec, int rank) const override {
    return std::make_unique<CifarRecords>(spec, rank);
  }

  std::string cannot_hold(const schema::RecordKind& kind) const override {
    return kind.floats || kind.table ? "a number of a record takes one byte there, and these are no images"
                                     : "";
  }
  std::uint64_t bytes_on_disk(const schema::RecordKind& kind) const override {
    return kind.count * (kind.record_bytes() + 1);
  }
  std::vector<std::string> files(const std::string& name) const override { return {name + ".bin"}; }

 private:
  std::unique_ptr<schema::RecordWriter> writer(const std::filesystem::path& file,
                                               const schema::RecordKind& kind) const override {
    return std::make_unique<CifarWriter>(file, kind);
  }
};

}  // namespace

const Format& cifar_format() {
  static const CifarFormat format;
  return format;
}

}  // namespace muffle::data
