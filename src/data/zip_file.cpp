#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "muffle/core/error.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/synth/export.hpp"
#include "npy.hpp"
#include "zip_archive.hpp"

namespace muffle::synth {
namespace {

constexpr std::uint64_t kDeflateRatio = 1032;                // no deflate stream grows by more
constexpr std::size_t kReadAtATime = std::size_t{16} << 20;  // between two calls of alive()

Archive open_archive(const std::filesystem::path& path) {
  // Asked of the system: libzip says "no such file" of some damaged files, too.
  const WatchedStep step("opening", path);
  if (::access(path.c_str(), R_OK) != 0)
    throw IoError("cannot read '" + path.string() + "': " + std::strerror(errno) + ".");
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = code == ZIP_ER_NOENT ? "its directory is damaged" : zip_error_strerror(&error);
  zip_error_fini(&error);
  if (code == ZIP_ER_OPEN || code == ZIP_ER_READ) {
    throw IoError("cannot read '" + path.string() + "': " + reason + ".");
  }
  throw DataError("'" + path.string() + "' is not an intact .npz file: " + reason +
                  ". Make or copy it again.");
}

/// The decompressed member, checked against the archive's CRC. Believes no size that the file could not hold.
std::string read_member(zip_t* archive, const char* member, const std::string& name,
                        const std::filesystem::path& path, std::uint64_t file_size,
                        const std::function<void()>& alive) {
  zip_stat_t info;
  if (zip_stat(archive, member, 0, &info) != 0) {
    throw DataError(name + " is missing: muffle needs the arrays x and y in an .npz file.");
  }
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  const bool stored = info.comp_method == ZIP_CM_STORE, deflated = info.comp_method == ZIP_CM_DEFLATE;
  if ((info.valid & kNeeded) != kNeeded || !(stored || deflated)) {
    throw DataError(
        name + " is compressed in a way that muffle does not read: use numpy.savez or savez_compressed.");
  }
  if (info.comp_size > file_size || info.size / kDeflateRatio > info.comp_size ||
      (stored && info.size != info.comp_size)) {
    throw DataError(name + " declares a size that its file cannot hold: the file is damaged or lies.");
  }
  const Member file([&] {
    const WatchedStep step("reading", path);
    return zip_fopen(archive, member, 0);
  }());
  const auto damaged = [&](const char* reason) {
    return DataError(name + " is damaged: " + reason + ". Make or copy the file again.");
  };
  if (!file) throw damaged(zip_strerror(archive));
  std::string out(info.size, '\0');
  std::size_t done = 0;
  while (done < out.size()) {
    if (alive) alive();
    const WatchedStep step("reading", path);
    const zip_int64_t n = zip_fread(file.get(), out.data() + done, std::min(out.size() - done, kReadAtATime));
    if (n < 0) throw damaged(zip_file_strerror(file.get()));
    if (n == 0) throw damaged("it ends early");
    done += static_cast<std::size_t>(n);
  }
  // libzip compares the checksum when it meets the end.
  char extra;
  const WatchedStep step("reading", path);
  const zip_int64_t n = zip_fread(file.get(), &extra, 1);
  if (n != 0) throw damaged(n < 0 ? zip_file_strerror(file.get()) : "it is longer than it declares");
  return out;
}

/// Throws unless `elements` holds exactly the shape's product of numbers of this size.
void check_length(const NpyHeader& header, std::string_view elements, std::size_t size,
                  const std::string& name) {
  std::size_t bytes = size;
  bool fits = true;
  for (const std::size_t s : header.shape) fits = fits && !__builtin_mul_overflow(bytes, s, &bytes);
  if (!fits || bytes != elements.size()) {
    throw DataError(name + " holds " + std::to_string(elements.size()) +
                    " bytes of elements, which is not what its shape says: the file is damaged or lies.");
  }
}

template <class T>
std::vector<T> copy_elements(std::string_view elements) {
  std::vector<T> out(elements.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), elements.data(), elements.size());
  return out;
}

/// @returns the number of records.
std::size_t parse_x(std::string_view bytes, const std::string& name, Records& out) {
  const NpyHeader header = take_npy_header(bytes, name);
  if (header.shape.empty()) throw DataError(name + " is a single number; one row per record is needed.");
  out.shape.assign(header.shape.begin() + 1, header.shape.end());
  if (header.descr == "|u1") {
    check_length(header, bytes, 1, name);
    out.bytes = copy_elements<std::uint8_t>(bytes);
  } else if (header.descr == "<f4") {
    check_length(header, bytes, 4, name);
    out.floats = copy_elements<float>(bytes);
  } else {
    throw DataError(name + " has elements of type '" + header.descr +
                    "'; muffle reads uint8 (|u1) and float32 (<f4).");
  }
  return header.shape[0];
}

void parse_y(std::string_view bytes, const std::string& name, Records& out) {
  const NpyHeader header = take_npy_header(bytes, name);
  if (header.shape.size() != 1) throw DataError(name + " must be one-dimensional: one label per record.");
  if (header.descr == "|u1") {
    check_length(header, bytes, 1, name);
    out.labels = copy_elements<std::uint8_t>(bytes);
  } else if (header.descr == "<i8") {
    check_length(header, bytes, 8, name);
    for (const std::int64_t v : copy_elements<std::int64_t>(bytes)) {
      if (v < 0 || v > std::numeric_limits<std::uint8_t>::max()) {
        throw DataError("label " + std::to_string(out.labels.size()) + " (counting from 0) of " + name +
                        " is outside 0..255.");
      }
      out.labels.push_back(static_cast<std::uint8_t>(v));
    }
  } else {
    throw DataError(name + " has elements of type '" + header.descr +
                    "'; muffle reads labels as uint8 (|u1) or int64 (<i8).");
  }
}

}  // namespace

Records read_npz(const std::filesystem::path& path, const std::function<void()>& alive) {
  const Archive archive = open_archive(path);
  const std::uint64_t file_size = [&] {
    const WatchedStep step("looking at", path);
    return std::filesystem::file_size(path);
  }();
  const auto name = [&](const char* array) {
    return std::string("array ") + array + " of '" + path.string() + "'";
  };
  Records out;
  const auto member = [&](const char* file, const char* array) {
    return read_member(archive.get(), file, name(array), path, file_size, alive);
  };
  const std::size_t rows = parse_x(member("x.npy", "x"), name("x"), out);
  parse_y(member("y.npy", "y"), name("y"), out);
  if (rows != out.count()) {
    throw DataError("'" + path.string() + "' holds " + std::to_string(rows) + " records in x but " +
                    std::to_string(out.count()) + " labels in y: the arrays do not belong together.");
  }
  return out;
}

}  // namespace muffle::synth
