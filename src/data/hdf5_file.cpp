#include "hdf5_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::data {
namespace {

/// Records are read in pieces, of a row of chunks where there are chunks: no more bytes than this at once.
constexpr std::uint64_t kMostPieceBytes = std::uint64_t{1} << 26;
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;  ///< of an array in one piece
constexpr int kMostDimensions = 32;

constexpr const char* kAdvice =
    " Write it again, with h5py: create_dataset(\"x\", data=x, compression=\"gzip\").";

/// A file that is open.
struct OpenFile {
  std::filesystem::path path;
  std::string name;  ///< "'FILE'"
  Hdf5Handle handle;

  DataError unreadable(const std::string& what) const { return DataError(name + " " + what + "." + kAdvice); }
  DataError damaged(const std::string& how = "its headers cannot be read") const {
    return DataError(fmt::format("{} is damaged or cut off: {}.{}", name, how, kCopyAgain));
  }
  /// What libhdf5 has said. @throws DataError  that it failed.
  template <class Answer>
  Answer checked(Answer answer) const {
    if (answer < 0) throw damaged();
    return answer;
  }
  Hdf5Handle opened(hid_t id, herr_t (*close)(hid_t)) const { return {checked(id), close}; }
};

OpenFile open_file(const std::string& path) {
  OpenFile out{path, fmt::format("'{}'", path), {}};
  const htri_t is_ours = H5Fis_hdf5(path.c_str());
  if (is_ours == 0)
    throw DataError(out.name + " is not an HDF5 file: it has no such signature. Is it the right file?");
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Shared file systems may have no locks, and nobody writes to it here.
  (void)H5Pset_file_locking(access.id(), false, true);
  out.handle = out.opened(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
  return out;
}

/// One step along a path: what the file itself has there, and nothing that a link leads to.
Hdf5Handle member(const OpenFile& file, hid_t group, const std::string& name, const std::string& path) {
  if (file.checked(H5Lexists(group, name.c_str(), H5P_DEFAULT)) == 0)
    throw DataError(fmt::format(
        "array {} of {} is missing. Set data.arrays to the names of its arrays of records and labels.",
        printable(path), file.name));
  H5L_info_t link{};
  file.checked(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT));
  if (link.type != H5L_TYPE_HARD)
    throw DataError(
        fmt::format("{} of {} is a link to something elsewhere, which muffle does not follow: give the "
                    "array's own name in data.arrays, and its own file.",
                    printable(name), file.name));
  return file.opened(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose);
}

Hdf5Handle find_array(const OpenFile& file, const std::string& path) {
  Hdf5Handle at = file.opened(H5Gopen2(file.handle.id(), "/", H5P_DEFAULT), H5Gclose);
  std::string_view left = path;
  while (!left.empty()) {
    const std::string part(left.substr(0, left.find('/')));
    left.remove_prefix(std::min(left.size(), part.size() + 1));
    if (part.empty()) continue;
    if (H5Iget_type(at.id()) != H5I_GROUP)
      throw DataError(fmt::format("{} of {} is inside an array. Set data.arrays to the arrays' own names.",
                                  printable(path), file.name));
    at = member(file, at.id(), part, path);
  }
  if (H5Iget_type(at.id()) == H5I_GROUP)
    throw DataError(
        fmt::format("{} of {} is a group, not an array: give the array's whole path in data.arrays.",
                    printable(path), file.name));
  if (H5Iget_type(at.id()) != H5I_DATASET)
    throw file.unreadable("has something else than an array at " + printable(path));
  return at;
}

bool is_ieee(hid_t type, std::size_t size) {
  if (size == 4) return H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0;
  if (size == 8) return H5Tequal(type, H5T_IEEE_F64LE) > 0 || H5Tequal(type, H5T_IEEE_F64BE) > 0;
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  return size == 2 && H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
         sign == 15 && exponent == 10 && exponent_bits == 5 && mantissa == 0 && mantissa_bits == 10 &&
         H5Tget_ebias(type) == 15 && H5Tget_norm(type) == H5T_NORM_IMPLIED;
}

/// As they are stored. h5py's truth values are names for the numbers 0 and 1.
ElementType type_of(const OpenFile& file, hid_t stored) {
  const bool named = H5Tget_class(stored) == H5T_ENUM;
  const Hdf5Handle type = file.opened(named ? H5Tget_super(stored) : H5Tcopy(stored), H5Tclose);
  ElementType out;
  out.size = H5Tget_size(type.id());
  out.big_endian = H5Tget_order(type.id()) == H5T_ORDER_BE;
  const bool whole = H5Tget_class(type.id()) == H5T_INTEGER &&
                     (out.size == 1 || out.size == 2 || out.size == 4 || out.size == 8) &&
                     H5Tget_precision(type.id()) == 8 * out.size;
  const bool real = H5Tget_class(type.id()) == H5T_FLOAT && !named && is_ieee(type.id(), out.size);
  const bool ordered = out.big_endian || H5Tget_order(type.id()) == H5T_ORDER_LE || out.size == 1;
  if (!(whole || real) || !ordered)
    throw file.unreadable(
        "has elements that are neither whole numbers of 8 to 64 bits nor float16, float32 or float64");
  out.kind = real                                              ? ElementType::Kind::kFloat
             : named || H5Tget_sign(type.id()) == H5T_SGN_NONE ? ElementType::Kind::kUnsigned
                                                               : ElementType::Kind::kSigned;
  return out;
}

std::vector<std::uint64_t> dims_of(const OpenFile& file, hid_t space) {
  const int rank = file.checked(H5Sget_simple_extent_ndims(space));
  if (rank == 0 || rank > kMostDimensions)
    throw file.unreadable("has an array without dimensions, or with more than 32");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  file.checked(H5Sget_simple_extent_dims(space, dims.data(), nullptr));
  return {dims.begin(), dims.end()};
}

void require_own_filters(const OpenFile& file, hid_t plan) {
  const int filters = file.checked(H5Pget_nfilters(plan));
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t id =
        H5Pget_filter2(plan, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_FLETCHER32)
      throw file.unreadable(
          fmt::format("is compressed by filter {}; muffle reads gzip (deflate), shuffle and fletcher32, and "
                      "loads no plug-ins",
                      static_cast<int>(id)));
  }
}

/// How many records are read at once. Checks that all are there, in this file.
std::uint64_t piece_of(const OpenFile& file, hid_t array, const ArrayHeader& header, hid_t space) {
  const Hdf5Handle plan = file.opened(H5Dget_create_plist(array), H5Pclose);
  if (file.checked(H5Pget_external_count(plan.id())) > 0)
    throw file.unreadable("keeps its numbers in other files, which muffle does not open");
  const std::uint64_t record = std::max<std::uint64_t>(1, header.record_bytes());
  const H5D_layout_t layout = file.checked(H5Pget_layout(plan.id()));
  if (layout == H5D_VIRTUAL) throw file.unreadable("has an array that is put together of other files'");
  if (layout != H5D_CHUNKED) {
    H5D_space_status_t status{};
    file.checked(H5Dget_space_status(array, &status));
    if (layout == H5D_CONTIGUOUS && status != H5D_SPACE_STATUS_ALLOCATED && header.records() > 0)
      throw file.unreadable("has an array that was never written");
    if (record > kMostPieceBytes) throw file.unreadable("has records of more than 64 MiB");
    return std::max<std::uint64_t>(1, kPieceBytes / record);
  }
  require_own_filters(file, plan.id());
  std::vector<hsize_t> chunk(header.dims.size());
  file.checked(H5Pget_chunk(plan.id(), static_cast<int>(chunk.size()), chunk.data()));
  std::uint64_t chunks = 1, bytes = header.type.size;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (chunk[i] == 0) throw file.damaged();
    if (chunk[i] > kMostPieceBytes / bytes) throw file.unreadable("has chunks of more than 64 MiB");
    bytes *= chunk[i];
    chunks *= (header.dims[i] + chunk[i] - 1) / chunk[i];
  }
  hsize_t there = 0;
  file.checked(H5Dget_num_chunks(array, space, &there));
  if (there != chunks)
    throw file.unreadable(there == 0 ? "has an array that was never written"
                                     : "has an array of which parts were never written");
  const std::uint64_t rows =
      std::min<std::uint64_t>(chunk.front(), std::max<std::uint64_t>(1, header.records()));
  if (rows > kMostPieceBytes / record)
    throw file.unreadable("has chunks whose records are more than 64 MiB at once: choose smaller ones");
  return rows;
}

/// Whether the last call failed for a checksum.
bool is_checksum() {
  bool found = false;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
        const std::string_view text = error->desc == nullptr ? "" : error->desc;
        if (text.find("Fletcher32") != std::string_view::npos) *static_cast<bool*>(out) = true;
        return 0;
      },
      &found);
  return found;
}

/// An array's numbers, a piece after the other.
class Numbers final : public ByteReader {
 public:
  Numbers(OpenFile&& file, Hdf5Handle&& array, Hdf5Handle&& type, ArrayHeader header, std::uint64_t piece)
      : file_(std::move(file)),
        array_(std::move(array)),
        type_(std::move(type)),
        header_(std::move(header)),
        piece_(piece) {}

 private:
  std::span<const std::byte> more() override {
    const std::uint64_t record = header_.record_bytes();
    const std::uint64_t first = next_ / piece_ * piece_;  // as chunks lie
    if (record == 0 || next_ >= header_.records()) return {};
    const std::uint64_t count = std::min(piece_, header_.records() - first);
    bytes_.resize(count * record);
    const WatchedStep step("reading", file_.path);
    const auto lock = hold_hdf5();
    std::vector<hsize_t> from(header_.dims.size()), size(header_.dims.begin(), header_.dims.end());
    from.front() = first;
    size.front() = count;
    const Hdf5Handle space = file_.opened(H5Dget_space(array_.id()), H5Sclose);
    file_.checked(
        H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, from.data(), nullptr, size.data(), nullptr));
    const Hdf5Handle memory =
        file_.opened(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr), H5Sclose);
    if (H5Dread(array_.id(), type_.id(), memory.id(), space.id(), H5P_DEFAULT, bytes_.data()) < 0)
      throw file_.damaged(is_checksum() ? "a checksum of its numbers is wrong"
                                        : "its numbers cannot be read or unpacked");
    const std::uint64_t passed = (next_ - first) * record;
    next_ = first + count;
    return std::span<const std::byte>(bytes_).subspan(passed);
  }
  std::uint64_t jump(std::uint64_t n) override {
    const std::uint64_t record = header_.record_bytes();
    if (record == 0) return 0;
    const std::uint64_t records = std::min(n / record, header_.records() - next_);
    next_ += records;
    return records * record;
  }

  OpenFile file_;
  Hdf5Handle array_, type_;
  ArrayHeader header_;
  std::uint64_t piece_;     ///< records
  std::uint64_t next_ = 0;  ///< record
  std::vector<std::byte> bytes_;
};

}  // namespace

std::unique_lock<std::recursive_mutex> hold_hdf5() {
  static std::recursive_mutex mutex;
  std::unique_lock lock(mutex);
  static const bool quiet = [] {
    H5open();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLset_loading_state(0);
    return true;
  }();
  (void)quiet;
  return lock;
}

Hdf5Handle::~Hdf5Handle() {
  if (id_ < 0) return;
  const auto lock = hold_hdf5();
  (void)close_(id_);
}

ArrayReader open_hdf5_array(const std::string& path, const std::string& array) {
  (void)record_file(path);  // says of what is no file, or is missing, that it is
  const std::filesystem::path watched(path);
  const WatchedStep step("reading the headers of", watched);
  const auto lock = hold_hdf5();
  OpenFile file = open_file(path);
  Hdf5Handle found = find_array(file, array);
  Hdf5Handle type = file.opened(H5Dget_type(found.id()), H5Tclose);
  const Hdf5Handle space = file.opened(H5Dget_space(found.id()), H5Sclose);
  ArrayHeader header{type_of(file, type.id()), dims_of(file, space.id())};
  const std::string name = "array " + array + " of " + file.name;
  (void)header.checked_bytes(name);
  const std::uint64_t piece = piece_of(file, found.id(), header, space.id());
  return {name, header,
          std::make_unique<Numbers>(std::move(file), std::move(found), std::move(type), header, piece)};
}

}  // namespace muffle::data
