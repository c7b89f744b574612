#include "muffle/interop/array_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "muffle/core/error.hpp"

namespace muffle::interop {
namespace {

using model::NamedArray;

static_assert(std::endian::native == std::endian::little, "arrays are little-endian and copied as they lie");

void append(std::string& out, const NamedArray& array) {
  out.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
}

/// NumPy's format 1.0: the header is padded so that the numbers begin at a multiple of 64.
std::string npy_header(const char* type, const std::vector<std::size_t>& shape) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t kBefore = 10, kAlign = 64;
  header.append(kAlign - 1 - (kBefore + header.size()) % kAlign, ' ');
  header += '\n';
  std::string out = "\x93NUMPY";
  out += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return out + header;
}

[[noreturn]] void no_archive(const std::string& why) {
  throw IoError("the archive of the model's arrays cannot be made: " + why);
}

/// A zip archive in memory, of members that are stored as they are.
std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const whole = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_t* const zip = whole == nullptr ? nullptr : zip_open_from_source(whole, ZIP_TRUNCATE, &error);
  if (zip == nullptr) no_archive(zip_error_strerror(&error));
  zip_source_keep(whole);
  for (const auto& [name, bytes] : members) {
    zip_source_t* const source = zip_source_buffer(zip, bytes.data(), bytes.size(), 0);
    const zip_int64_t at = source == nullptr ? -1 : zip_file_add(zip, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    const auto index = static_cast<zip_uint64_t>(at);
    // A fixed time, so that equal models make equal files.
    if (at < 0 || zip_set_file_compression(zip, index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(zip, index, 0, (1 << 5) + 1, 0) != 0)
      no_archive(zip_strerror(zip));
  }
  if (zip_close(zip) != 0) no_archive(zip_strerror(zip));
  zip_stat_t stat;
  if (zip_source_stat(whole, &stat) != 0 || zip_source_open(whole) != 0)
    no_archive(zip_error_strerror(zip_source_error(whole)));
  std::string out(stat.size, '\0');
  const zip_int64_t read = zip_source_read(whole, out.data(), out.size());
  require(read == static_cast<zip_int64_t>(out.size()), "an archive in memory was read in part");
  zip_source_close(whole);
  zip_source_free(whole);
  return out;
}

}  // namespace

std::string npz_bytes(const model::ModelParts& parts) {
  std::vector<std::pair<std::string, std::string>> members;
  const std::string header = parts.header.dump();
  members.emplace_back("description.npy", npy_header("|u1", {header.size()}) + header);
  for (const NamedArray& array : parts.arrays) {
    members.emplace_back(array.name + ".npy",
                         npy_header(array.type == NamedArray::Type::kFloat64 ? "<f8" : "<f4", array.shape));
    append(members.back().second, array);
  }
  return zip_of(members);
}

std::string safetensors_bytes(const model::ModelParts& parts) {
  nlohmann::json table = {{"__metadata__", {{"muffle", parts.header.dump()}}}};
  std::size_t at = 0;
  for (const NamedArray& array : parts.arrays) {
    table[array.name] = {{"dtype", array.type == NamedArray::Type::kFloat64 ? "F64" : "F32"},
                         {"shape", array.shape},
                         {"data_offsets", {at, at + array.bytes.size()}}};
    at += array.bytes.size();
  }
  std::string header = table.dump();
  constexpr std::size_t kAlign = 8;
  header.append((kAlign - header.size() % kAlign) % kAlign, ' ');
  std::string out;
  for (std::size_t i = 0; i < sizeof(std::uint64_t); ++i)
    out += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  out += header;
  for (const NamedArray& array : parts.arrays) append(out, array);
  return out;
}

}  // namespace muffle::interop
