#include <array>
#include <bit>
#include <limits>

#include "array_records.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "muffle/data/idx.hpp"

namespace muffle::data {
namespace {

/// Deflate codes at most 258 bytes in two bits, so a longer stream than this cannot come out of the file.
constexpr std::uint64_t kDeflateRatio = 1032;

void put_u32(std::vector<std::byte>& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift & 0xFF));
}

ElementType parse_type(const std::string& name, unsigned code) {
  switch (code) {
    case 0x08:
      return {ElementType::Kind::kUnsigned, 1, true};
    case 0x0D:
      return {ElementType::Kind::kFloat, 4, true};
    case 0x09:
    case 0x0B:
    case 0x0C:
    case 0x0E: {
      const char* what = code == 0x09 ? "int8" : code == 0x0B ? "int16" : code == 0x0C ? "int32" : "float64";
      throw DataError(name + " holds " + what +
                      " elements; muffle reads uint8 and float32. Convert the file.");
    }
    default:
      throw DataError(name + " is not an IDX file: its third byte, the element type, is " +
                      std::to_string(code) + ". Is it the right file?");
  }
}

ArrayHeader read_header(const std::string& name, ByteReader& stream) {
  std::byte magic[4];
  if (stream.read(magic) < sizeof magic) throw truncated(name, "inside the IDX magic number");
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
    throw DataError(name + " is not an IDX file (plain or gzip): an IDX file begins with two zero bytes. " +
                    "Is it the right file?");
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
  } else if (declared != on_disk) {
    throw DataError(
        name + " " +
            (on_disk < declared ? "has fewer bytes than its header declares: it is truncated"
                                : "has more bytes than its header declares: others follow it") +
            ", or its header lies." + kCopyAgain,
        LocalDetail{name + " declares " + header.text() + " elements, " + std::to_string(declared) +
                    " bytes with the header, but has " + std::to_string(on_disk) + " bytes."});
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

class IdxRecords final : public schema::RecordWriter {
 public:
  IdxRecords(const std::filesystem::path& path, const schema::RecordKind& kind)
      : RecordWriter(kind), file_(path, kind.floats ? IdxType::kFloat32 : IdxType::kUint8, idx_dims(kind)) {}

 private:
  void write(const schema::Records& some) override {
    if (kind().floats) {
      file_.write(some.floats);
    } else {
      file_.write(some.bytes);
    }
  }
  void complete(const std::function<void()>&) override { file_.commit(); }

  IdxWriter file_;
};

class IdxLabels final : public schema::RecordWriter {
 public:
  IdxLabels(const std::filesystem::path& path, const schema::RecordKind& kind)
      : RecordWriter(kind), file_(path, IdxType::kUint8, std::array<std::size_t, 1>{kind.count}) {}

 private:
  void write(const schema::Records& some) override { file_.write(some.labels); }
  void complete(const std::function<void()>&) override { file_.commit(); }

  IdxWriter file_;
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
    return array_records(spec.schema, std::move(numbers), std::move(labels));
  }

  std::string cannot_hold(const schema::RecordKind&) const override { return {}; }
  std::uint64_t bytes_on_disk(const schema::RecordKind& kind) const override {
    return kind.count * (kind.record_bytes() + 1);
  }
  std::vector<std::string> files(const std::string& name) const override {
    return {name + "-labels.idx", name + "-images.idx"};
  }
  std::vector<schema::NamedWriter> writers(const std::filesystem::path& folder, const std::string& name,
                                           const schema::RecordKind& kind) const override {
    const std::vector<std::string> names = files(name);
    std::vector<schema::NamedWriter> out;
    out.push_back({names[0], std::make_unique<IdxLabels>(folder / names[0], kind)});
    out.push_back({names[1], std::make_unique<IdxRecords>(folder / names[1], kind)});
    return out;
  }
  DataSpec written(const std::string& name) const override {
    DataSpec spec = Format::written(name);
    spec.labels = files(name).front();
    return spec;
  }
};

}  // namespace

const Format& idx_format() {
  static const IdxFormat format;
  return format;
}

IdxWriter::IdxWriter(const std::filesystem::path& path, IdxType type, std::span<const std::size_t> dims)
    : file_(path), type_(type) {
  require(!dims.empty() && dims.size() <= 255, "an IDX file has 1 to 255 dimensions");
  std::vector<std::byte> header{std::byte{0}, std::byte{0}, static_cast<std::byte>(type),
                                static_cast<std::byte>(dims.size())};
  for (const std::size_t d : dims) {
    require(
        d <= std::numeric_limits<std::uint32_t>::max() && !__builtin_mul_overflow(promised_, d, &promised_),
        "an IDX size does not fit its 32 bits: " + std::to_string(d));
    put_u32(header, static_cast<std::uint32_t>(d));
  }
  file_.write(header);
}

void IdxWriter::count(IdxType type, std::size_t elements) {
  require(type == type_, "elements of another type than the IDX file's");
  written_ += elements;
}

void IdxWriter::write(std::span<const std::uint8_t> elements) {
  count(IdxType::kUint8, elements.size());
  file_.write(std::as_bytes(elements));
}

void IdxWriter::write(std::span<const float> elements) {
  count(IdxType::kFloat32, elements.size());
  std::vector<std::byte> bytes;
  bytes.reserve(elements.size_bytes());
  for (const float v : elements) put_u32(bytes, std::bit_cast<std::uint32_t>(v));
  file_.write(bytes);
}

void IdxWriter::commit() {
  require(written_ == promised_, "IDX dimensions promise " + std::to_string(promised_) +
                                     " elements, there are " + std::to_string(written_));
  file_.commit();
}

void write_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
               std::span<const std::uint8_t> elements) {
  IdxWriter file(path, IdxType::kUint8, dims);
  file.write(elements);
  file.commit();
}

void write_idx(const std::filesystem::path& path, std::span<const std::size_t> dims,
               std::span<const float> elements) {
  IdxWriter file(path, IdxType::kFloat32, dims);
  file.write(elements);
  file.commit();
}

}  // namespace muffle::data
