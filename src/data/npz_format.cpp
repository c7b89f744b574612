#include <string>
#include <utility>

#include "arrays.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/data/format.hpp"
#include "zip_file.hpp"

namespace muffle::data {
namespace {

bool is_npy(const std::string& file) { return file.ends_with(".npy"); }

ArrayReader open_npy(const std::string& path) {
  auto bytes = std::make_unique<ByteStream>(path);
  if (bytes->compressed())
    throw DataError("'" + path +
                    "' is compressed; arrays are read uncompressed, or from an .npz. Unpack it first.");
  const std::uint64_t size = bytes->file_size();
  return read_npy("'" + path + "'", std::move(bytes), size);
}

ArrayReader open_member(const std::string& path, const std::string& array) {
  const std::string name = "array " + array + " of '" + path + "'";
  ZipMember member = open_zip_member(path, array + ".npy", name);
  if (!member.bytes) throw DataError(name + " is missing: muffle needs the arrays x and y in an .npz file.");
  return read_npy(name, std::move(member.bytes), member.size);
}

/// Its arrays grow in files of their own, which libzip then puts together: it writes no archive in pieces.
class NpzWriter final : public schema::RecordWriter {
 public:
  NpzWriter(const std::filesystem::path& path, const schema::RecordKind& kind)
      : RecordWriter(kind), path_(path), x_(path.string() + ".x.npy"), y_(path.string() + ".y.npy") {
    const auto begin = [](NewFile& file, const char* descr, std::vector<std::size_t> shape) {
      const std::string text = npy_header(descr, shape);
      file.write(std::as_bytes(std::span(text)));
    };
    begin(x_, kind.floats ? "<f4" : "|u1", {kind.count, kind.dims()});
    begin(y_, "|u1", {kind.count});
  }
  ~NpzWriter() override {
    const WatchedStep step("removing what is left of", path_);
    std::error_code nothing_to_do;
    std::filesystem::remove(whole(), nothing_to_do);
  }

 private:
  void write(const schema::Records& some) override {
    x_.write(kind().floats ? std::as_bytes(std::span(some.floats)) : std::as_bytes(std::span(some.bytes)));
    y_.write(std::as_bytes(std::span(some.labels)));
  }
  void complete(const Heartbeat& heartbeat) override {
    const ZipContent contents[] = {{"x.npy", x_.temporary()}, {"y.npy", y_.temporary()}};
    write_zip(whole(), contents, path_, heartbeat);
    move_into_place(whole(), path_);
  }
  std::filesystem::path whole() const { return x_.temporary().string() + ".zip"; }

  std::filesystem::path path_;
  NewFile x_, y_;
};

/// NumPy's arrays: records and labels as x and y of an .npz (stored or deflated), or in an .npy each.
class NpzFormat final : public Format {
 public:
  std::string name() const override { return "npz"; }
  std::string_view summary() const override {
    return "NumPy's .npz with arrays x and y, or an .npy for each: float32, float64, whole numbers";
  }

  std::string labels_problem(const DataSpec& spec) const override {
    if (is_npy(spec.features)) return Format::labels_problem(spec);
    if (spec.labels.empty()) return {};
    return "data.labels names a file, but an .npz has the labels in its array y, beside the records";
  }
  std::unique_ptr<RecordStream> open(const DataSpec& spec, int rank) const override {
    const std::string file = resolve_path(spec, spec.features, rank);
    std::optional<ArrayReader> labels;
    if (is_npy(file)) {
      ArrayReader numbers = open_npy(file);
      if (!spec.labels.empty()) labels.emplace(open_npy(resolve_path(spec, spec.labels, rank)));
      return array_records(spec.schema, std::move(numbers), std::move(labels));
    }
    ArrayReader numbers = open_member(file, "x");
    if (spec.schema.classes > 1) labels.emplace(open_member(file, "y"));
    return array_records(spec.schema, std::move(numbers), std::move(labels));
  }

  std::uint64_t bytes_on_disk(const schema::RecordKind& kind) const override {
    return 2 * kind.count * (kind.record_bytes() + 1);  // the arrays, and then the archive of them
  }
  std::vector<std::string> files(const std::string& name) const override { return {name + ".npz"}; }

 private:
  std::unique_ptr<schema::RecordWriter> writer(const std::filesystem::path& file,
                                               const schema::RecordKind& kind) const override {
    return std::make_unique<NpzWriter>(file, kind);
  }
};

}  // namespace

const Format& npz_format() {
  static const NpzFormat format;
  return format;
}

}  // namespace muffle::data
