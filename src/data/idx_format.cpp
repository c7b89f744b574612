#include <bit>
#include <limits>
#include <type_traits>

#include "arrays.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {
namespace {

constexpr const char* kLabelsEnding = "-labels.idx";
constexpr unsigned char kUint8 = 0x08, kFloat32 = 0x0D;  // element types that muffle reads and writes

void put_u32(std::vector<std::byte>& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift & 0xFF));
}

std::vector<std::byte> header_of(bool floats, std::span<const std::size_t> dims) {
  require(!dims.empty() && dims.size() <= 255, "an IDX file has 1 to 255 dimensions");
  std::vector<std::byte> header{std::byte{0}, std::byte{0}, std::byte{floats ? kFloat32 : kUint8},
                                static_cast<std::byte>(dims.size())};
  for (const std::size_t d : dims) {
    require(d <= std::numeric_limits<std::uint32_t>::max(),
            "an IDX size does not fit its 32 bits: " + std::to_string(d));
    put_u32(header, static_cast<std::uint32_t>(d));
  }
  return header;
}

void write_elements(NewFile& file, std::span<const std::uint8_t> elements) {
  file.write(std::as_bytes(elements));
}

void write_elements(NewFile& file, std::span<const float> elements) {
  std::vector<std::byte> bytes;
  bytes.reserve(elements.size_bytes());
  for (const float v : elements) put_u32(bytes, std::bit_cast<std::uint32_t>(v));
  file.write(bytes);
}

template <class Number>
void write_whole_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
                     std::span<const Number> elements) {
  NewFile file(path);
  file.write(header_of(std::is_same_v<Number, float>, dims));
  const std::size_t promised = schema::numbers_of(dims);
  require(elements.size() == promised, "IDX dimensions promise " + std::to_string(promised) +
                                           " elements, there are " + std::to_string(elements.size()));
  write_elements(file, elements);
  file.commit();
}

ElementType parse_type(const std::string& name, unsigned code) {
  if (code == kUint8) return {ElementType::Kind::kUnsigned, 1, true};
  if (code == kFloat32) return {ElementType::Kind::kFloat, 4, true};
  for (const auto& [other, what] :
       {std::pair{0x09u, "int8"}, {0x0Bu, "int16"}, {0x0Cu, "int32"}, {0x0Eu, "float64"}}) {
    if (code == other)
      throw DataError(name + " holds " + what +
                      " elements; muffle reads uint8 and float32. Convert the file.");
  }
  throw DataError(name + " is not an IDX file: its third byte, the element type, is " + std::to_string(code) +
                  ". Is it the right file?");
}

ArrayHeader read_header(const std::string& name, ByteReader& stream) {
  std::byte magic[4];
  if (stream.read(magic) < sizeof magic) throw truncated(name, "inside the IDX magic number");
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
    const bool numpy =
        magic[0] == std::byte{0x93} || (magic[0] == std::byte{'P'} && magic[1] == std::byte{'K'});
    throw DataError(
        name + " is not an IDX file (plain or gzip): an IDX file begins with two zero bytes. " +
        (numpy ? "It begins as NumPy's do: set data.format = \"npz\"." : "Is it the right file?"));
  }
  ArrayHeader header;
  header.type = parse_type(name, std::to_integer<unsigned>(magic[2]));
  const auto rank = std::to_integer<std::size_t>(magic[3]);
  if (rank == 0) throw DataError(name + " declares no dimensions; the first must count the records.");
  for (std::size_t i = 0; i < rank; ++i) {
    std::byte size[4];
    if (stream.read(size) < sizeof size) throw truncated(name, "inside the IDX header's sizes");
    std::uint64_t value = 0;
    for (const std::byte b : size) value = value << 8 | std::to_integer<std::uint64_t>(b);
    header.dims.push_back(value);
  }
  return header;
}

/// The file's own size: exactly what the header declares (plain), or at least possible for gzip's best ratio.
void check_file_size(const std::string& name, const ArrayHeader& header, const ByteStream& stream) {
  const std::uint64_t declared = header.checked_bytes(name) + 4 + 4 * header.dims.size();
  const std::uint64_t on_disk = stream.file_size();
  if (stream.compressed()) {
    if (declared / kDeflateRatio > on_disk) {
      throw DataError(name +
                          " declares more elements than its compressed bytes can hold: it is truncated or " +
                          "its header lies." + kCopyAgain,
                      LocalDetail{name + " declares " + header.text() + " elements in " +
                                  std::to_string(on_disk) + " compressed bytes."});
    }
  } else {
    check_size(name, header, declared, on_disk);
  }
}

ArrayReader open_idx(const std::string& path) {
  const std::string name = "'" + path + "'";
  auto stream = std::make_unique<ByteStream>(path);
  ArrayHeader header = read_header(name, *stream);
  check_file_size(name, header, *stream);
  return {name, std::move(header), std::move(stream)};
}

std::vector<std::size_t> idx_dims(const schema::RecordKind& kind) {
  std::vector<std::size_t> dims{kind.count};
  const bool one_channel = kind.shape.size() == 3 && kind.shape[0] == 1;
  dims.insert(dims.end(), kind.shape.begin() + (one_channel ? 1 : 0), kind.shape.end());
  return dims;
}

/// The records without their labels, or the labels alone.
class IdxWriter final : public schema::RecordWriter {
 public:
  IdxWriter(const std::filesystem::path& path, const schema::RecordKind& kind, bool labels)
      : RecordWriter(kind), file_(path), labels_(labels) {
    file_.write(header_of(!labels && kind.floats, labels ? std::vector{kind.count} : idx_dims(kind)));
  }

 private:
  void write(const schema::Records& some) override {
    if (kind().floats && !labels_) {
      write_elements(file_, some.floats);
    } else {
      write_elements(file_, labels_ ? some.labels : some.bytes);
    }
  }
  void complete(const Heartbeat&) override { file_.commit(); }

  NewFile file_;
  bool labels_;
};

/// IDX, plain or .gz: records of uint8 or float32, and uint8 labels in a file of their own.
class IdxFormat final : public Format {
 public:
  std::string name() const override { return "idx"; }
  std::string_view summary() const override {
    return "IDX, plain or .gz: records of uint8 or float32, labels in a file of their own";
  }

  std::unique_ptr<RecordStream> open(const DataSpec& spec, int rank) const override {
    ArrayReader numbers = open_idx(resolve_path(spec, spec.features, rank));
    std::optional<ArrayReader> labels;
    if (!spec.labels.empty()) labels.emplace(open_idx(resolve_path(spec, spec.labels, rank)));
    return array_records(spec, std::move(numbers), std::move(labels));
  }

  std::string cannot_hold(const schema::RecordKind& kind) const override {
    return kind.table ? "it has no columns, and these records are a table's" : "";
  }
  std::uint64_t bytes_on_disk(const schema::RecordKind& kind) const override {
    return kind.count * (kind.record_bytes() + 1);
  }
  std::vector<std::string> files(const std::string& name) const override {
    return {name + kLabelsEnding, name + "-images.idx"};
  }
  DataSpec written(const std::string& name) const override {
    DataSpec spec = Format::written(name);
    spec.labels = name + kLabelsEnding;
    return spec;
  }

 private:
  std::unique_ptr<schema::RecordWriter> writer(const std::filesystem::path& file,
                                               const schema::RecordKind& kind) const override {
    return std::make_unique<IdxWriter>(file, kind, file.string().ends_with(kLabelsEnding));
  }
};

}  // namespace

const Format& idx_format() {
  static const IdxFormat format;
  return format;
}

void write_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
               std::span<const std::uint8_t> elements) {
  write_whole_idx(path, dims, elements);
}

void write_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
               std::span<const float> elements) {
  write_whole_idx(path, dims, elements);
}

}  // namespace muffle::data
