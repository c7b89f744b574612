#include "npy_files.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "zip_file.hpp"

namespace muffle::data {
namespace {

/// Names that others give to records and labels.
constexpr std::pair<const char*, const char*> kOtherNames[] = {{"x_train", "y_train"},
                                                               {"X_train", "y_train"},
                                                               {"X_train", "Y_train"},
                                                               {"train_images", "train_labels"},
                                                               {"arr_0", "arr_1"},
                                                               {"X", "y"},
                                                               {"X", "Y"},
                                                               {"images", "labels"},
                                                               {"data", "labels"},
                                                               {"train_x", "train_y"},
                                                               {"train_data", "train_labels"},
                                                               {"data", "target"},
                                                               {"features", "labels"},
                                                               {"inputs", "targets"},
                                                               {"image", "label"},
                                                               {"imgs", "labels"}};

/// What to do where an archive has no such array.
std::string advice(const std::string& path) {
  const auto has = [&](const std::string& array) {
    return open_zip_member(path, array + ".npy", "array " + array).bytes != nullptr;
  };
  for (const bool both : {true, false}) {
    for (const auto& [records, labels] : kOtherNames) {
      if (has(records) && (!both || has(labels)))
        return fmt::format("It has {0}: set data.arrays = [\"{0}\", \"{1}\"]{2}", records,
                           both ? labels : "LABELS", both ? "" : ", with the name of its array of labels");
    }
  }
  return "Set data.arrays to the names of its arrays";
}

}  // namespace

ArrayReader open_npy(const std::string& path, bool texts) {
  const ByteStream stream(path);
  if (stream.compressed())
    throw DataError("'" + path +
                    "' is compressed; arrays are read uncompressed, or from an .npz. Unpack it first.");
  return read_npy(
      "'" + path + "'", [path] { return std::make_unique<ByteStream>(path); }, stream.file_size(), texts);
}

ArrayReader open_member(const std::string& path, const std::string& array, bool texts) {
  const std::string name = "array " + array + " of '" + path + "'", file = array + ".npy";
  const ZipMember member = open_zip_member(path, file, name);
  if (!member.bytes) {
    throw DataError(
        fmt::format("{} is missing. {}", name,
                    texts ? "An .npz of a table has one array for each column, named as in data.schema."
                          : advice(path) + "."));
  }
  return read_npy(
      name, [=] { return open_zip_member(path, file, name).bytes; }, member.size, texts);
}

}  // namespace muffle::data
