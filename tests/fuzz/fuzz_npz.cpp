// read_npz. Input: 'R' and a file; 'N' and an array's bytes; any other byte: a piece that is the array x, and
// the array y, put into an archive with the right checksums.
#include <zlib.h>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/synth/export.hpp"
#include "synth/npy.hpp"

namespace {

using namespace muffle;

void put(std::string& out, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

/// What a member's local header and its entry in the directory share.
std::string description(std::string_view content, std::string_view name) {
  std::string out;
  put(out, 20, 2);  // version needed
  put(out, 0, 4);   // flags, stored
  put(out, 0x00210000, 4);
  put(out,
      static_cast<std::uint32_t>(
          ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()))),
      4);
  put(out, static_cast<std::uint32_t>(content.size()), 4);
  put(out, static_cast<std::uint32_t>(content.size()), 4);
  put(out, static_cast<std::uint32_t>(name.size()), 2);
  put(out, 0, 2);  // extra field
  return out;
}

std::string archive(std::string_view x, std::string_view y) {
  std::string files, directory;
  const auto add = [&](std::string_view name, std::string_view content) {
    const std::string shared = description(content, name);
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);  // version made by
    directory += shared;
    put(directory, 0, 2);  // comment
    put(directory, 0, 4);  // disk, internal attributes
    put(directory, 0, 4);  // external attributes
    put(directory, static_cast<std::uint32_t>(files.size()), 4);
    directory += name;
    put(files, 0x04034b50, 4);
    files.append(shared).append(name).append(content);
  };
  add("x.npy", x);
  add("y.npy", y);
  std::string out = files + directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, 2, 2);
  put(out, 2, 2);
  put(out, static_cast<std::uint32_t>(directory.size()), 4);
  put(out, static_cast<std::uint32_t>(files.size()), 4);
  put(out, 0, 2);
  return out;
}

void read(std::string_view bytes) {
  const fuzz::MemoryFile file(bytes);
  const synth::Records records = synth::read_npz(file.path());
  std::size_t numbers = records.count();
  for (const std::size_t s : records.shape) numbers *= s;
  fuzz::demand(records.bytes.size() + records.floats.size() == numbers, "the shape is true");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint8_t kind = input.byte();
  try {
    if (kind == 'R') {
      read(input.rest());
    } else if (kind == 'N') {
      std::string_view rest = input.rest();
      (void)synth::take_npy_header(rest, "x");
    } else {
      const std::string_view x = input.piece();
      read(archive(x, input.rest()));
    }
  } catch (const DataError&) {
  }
  return 0;
}
