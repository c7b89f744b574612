// Every record format, through open_shard. Input: the kind's place in the table, options, a piece that is the
// first file, and the second: the labels (or more records) and the records. Option 128: the two are put into
// a zip archive with right checksums, as x.npy and y.npy.
#include <zlib.h>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "read_shard.hpp"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const auto kinds = data::format_kinds();
  const data::FormatKind& kind = kinds[input.byte() % kinds.size()];
  const std::uint8_t options = input.byte();
  const std::string_view a = input.piece(), b = input.rest();
  const fuzz::MemoryFile first(a), second((options & 128) != 0 ? archive(a, b) : std::string(b));
  static const std::vector<std::size_t> kShapes[] = {{4}, {1, 2, 2}, {2}, {3, 2, 2}};
  data::DataSpec spec;
  spec.format = kind.name;
  spec.features = second.path();
  spec.schema.classes = (options & 1) != 0 ? 3 : 1;
  spec.schema.shape = kShapes[options >> 1 & 3];
  if ((options & 8) != 0) spec.schema.on_error = schema::OnError::kClamp;
  spec.shards = (options & 16) != 0 ? data::ShardRule::kRoundRobin : data::ShardRule::kContiguous;
  if (!kind.format->labels_problem(spec).empty()) spec.labels = first.path();
  data::DataSpec both = spec;
  both.features = first.path() + "," + second.path();
  if (spec.labels.empty() && kind.format->record_files(both).size() == 2) spec = both;
  const int ranks = 1 + (options >> 5 & 3);
  for (int rank = 0; rank < ranks; ++rank) {
    try {
      fuzz::read_shard(spec, rank, ranks);
    } catch (const DataError&) {
    }
  }
  return 0;
}
