#include "muffle/data/idx.hpp"

#include <bit>
#include <cstring>
#include <limits>

#include "byte_stream.hpp"
#include "muffle/core/error.hpp"

namespace muffle::data {
namespace {

/// Deflate codes at most 258 bytes in two bits, so a longer stream than this cannot come out of the file.
constexpr std::uint64_t kDeflateRatio = 1032;

std::uint32_t load_u32(const std::byte* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

void put_u32(std::vector<std::byte>& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift & 0xFF));
}

/// After what is public about a damaged file.
constexpr const char* kCopyAgain = " Copy or download it again.";

std::string dims_text(const std::vector<std::uint64_t>& dims) {
  std::string text;
  for (const std::uint64_t d : dims) text += (text.empty() ? "" : " x ") + std::to_string(d);
  return text;
}

DataError truncated(const std::string& name, const std::string& where) {
  return DataError("'" + name + "' is truncated: it ends before what its header declares." + kCopyAgain,
                   LocalDetail{"'" + name + "' ends " + where + "."});
}

IdxType parse_type(const std::string& name, unsigned code) {
  switch (code) {
    case 0x08:
      return IdxType::kUint8;
    case 0x0D:
      return IdxType::kFloat32;
    case 0x09:
    case 0x0B:
    case 0x0C:
    case 0x0E: {
      const char* what = code == 0x09 ? "int8" : code == 0x0B ? "int16" : code == 0x0C ? "int32" : "float64";
      throw DataError("'" + name + "' holds " + what +
                      " elements; muffle reads uint8 and float32. Convert the file.");
    }
    default:
      throw DataError("'" + name + "' is not an IDX file: its third byte, the element type, is " +
                      std::to_string(code) + ". Is it the right file?");
  }
}

IdxHeader read_header(const std::string& name, ByteStream& stream) {
  std::byte magic[4];
  if (stream.read(magic) < sizeof magic) throw truncated(name, "inside the IDX magic number");
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
    throw DataError("'" + name +
                    "' is not an IDX file (plain or gzip): an IDX file begins with two zero bytes. " +
                    "Is it the right file?");
  }
  IdxHeader header;
  header.type = parse_type(name, std::to_integer<unsigned>(magic[2]));
  const auto rank = std::to_integer<std::size_t>(magic[3]);
  if (rank == 0) throw DataError("'" + name + "' declares no dimensions; the first must count the records.");
  std::vector<std::byte> sizes(4 * rank);
  if (stream.read(sizes) < sizes.size()) throw truncated(name, "inside the IDX header's sizes");
  for (std::size_t i = 0; i < rank; ++i) header.dims.push_back(load_u32(sizes.data() + 4 * i));
  return header;
}

/// Bytes that the header declares, itself included. The record's size comes first, so that a file of no
/// records may not hide an absurd one.
std::uint64_t declared_bytes(const std::string& name, const IdxHeader& header) {
  const auto overflow = [&] {
    return DataError("'" + name +
                         "' declares more elements than any file can hold: its header is damaged or lies." +
                         kCopyAgain,
                     LocalDetail{"'" + name + "' declares " + dims_text(header.dims) + " elements."});
  };
  std::uint64_t record = element_size(header.type);
  for (std::size_t i = 1; i < header.dims.size(); ++i) {
    if (__builtin_mul_overflow(record, header.dims[i], &record)) throw overflow();
  }
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(record, header.dims[0], &total) ||
      __builtin_add_overflow(total, 4 + 4 * header.dims.size(), &total) ||
      total > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw overflow();
  }
  return total;
}

void check_file_size(const std::string& name, const IdxHeader& header, const ByteStream& stream) {
  const std::uint64_t declared = declared_bytes(name, header);
  const std::uint64_t on_disk = stream.file_size();
  if (stream.compressed()) {
    if (declared / kDeflateRatio > on_disk) {
      throw DataError("'" + name +
                          "' declares more elements than its compressed bytes can hold: it is truncated or " +
                          "its header lies." + kCopyAgain,
                      LocalDetail{"'" + name + "' declares " + dims_text(header.dims) + " elements in " +
                                  std::to_string(on_disk) + " compressed bytes."});
    }
  } else if (declared != on_disk) {
    throw DataError("'" + name + "' " +
                        (on_disk < declared ? "has fewer bytes than its header declares: it is truncated"
                                            : "has more bytes than its header declares: others follow it") +
                        ", or its header lies." + kCopyAgain,
                    LocalDetail{"'" + name + "' declares " + dims_text(header.dims) + " elements, " +
                                std::to_string(declared) + " bytes with the header, but has " +
                                std::to_string(on_disk) + " bytes."});
  }
}

}  // namespace

std::size_t element_size(IdxType type) { return type == IdxType::kUint8 ? 1 : 4; }

std::uint64_t IdxHeader::record_elements() const {
  std::uint64_t product = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) product *= dims[i];
  return product;
}

IdxReader::IdxReader(const std::filesystem::path& path)
    : name_(path.string()),
      stream_(std::make_unique<ByteStream>(path)),
      header_(read_header(name_, *stream_)) {
  check_file_size(name_, header_, *stream_);
}

IdxReader::~IdxReader() = default;
IdxReader::IdxReader(IdxReader&&) noexcept = default;
IdxReader& IdxReader::operator=(IdxReader&&) noexcept = default;

void IdxReader::read(std::span<std::byte> out) {
  const std::uint64_t size = header_.record_bytes();
  if (out.empty()) return;
  require(size > 0 && out.size() % size == 0 && out.size() / size <= header_.records() - position_,
          "an IDX read must be a whole number of records inside the file");
  const std::size_t got = stream_->read(out);
  if (got < out.size()) throw truncated(name_, "inside record " + std::to_string(position_ + got / size));
  position_ += out.size() / size;
}

void IdxReader::skip(std::uint64_t records) {
  require(records <= header_.records() - position_, "an IDX skip must stay inside the file");
  const std::uint64_t size = header_.record_bytes();
  const std::uint64_t got = stream_->skip(records * size);
  if (got < records * size) throw truncated(name_, "inside record " + std::to_string(position_ + got / size));
  position_ += records;
}

void IdxReader::expect_end() {
  require(position_ == header_.records(), "the end of an IDX file is checked after its last record");
  std::byte extra[1];
  if (stream_->read(extra) > 0) {
    throw DataError(
        "'" + name_ + "' has bytes after the last record that its header declares: the header lies or the " +
            "file was damaged." + kCopyAgain,
        LocalDetail{"'" + name_ + "' declares " + std::to_string(header_.records()) + " records."});
  }
}

float load_float(const std::byte* bytes) { return std::bit_cast<float>(load_u32(bytes)); }

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
