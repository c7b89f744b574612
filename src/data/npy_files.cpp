#include "npy_files.hpp"

#include <memory>
#include <utility>

#include "zip_file.hpp"

namespace muffle::data {

ArrayReader open_npy(const std::string& path, bool texts) {
  auto bytes = std::make_unique<ByteStream>(path);
  if (bytes->compressed())
    throw DataError("'" + path +
                    "' is compressed; arrays are read uncompressed, or from an .npz. Unpack it first.");
  const std::uint64_t size = bytes->file_size();
  return read_npy("'" + path + "'", std::move(bytes), size, texts);
}

ArrayReader open_member(const std::string& path, const std::string& array, bool texts) {
  const std::string name = "array " + array + " of '" + path + "'";
  ZipMember member = open_zip_member(path, array + ".npy", name);
  if (!member.bytes)
    throw DataError(name +
                    " is missing: muffle needs the arrays x and y in an .npz "
                    "file, or of a table one for each column, named as in data.schema.");
  return read_npy(name, std::move(member.bytes), member.size, texts);
}

}  // namespace muffle::data
