#include <optional>
#include <utility>

#include "hdf5_file.hpp"
#include "hdf5_writer.hpp"
#include "muffle/data/format.hpp"

namespace muffle::data {
namespace {

/// HDF5, as h5py, MATLAB (7.3) and others write it: records and labels are two arrays of a file.
class Hdf5Format final : public Format {
 public:
  std::string name() const override { return "hdf5"; }
  std::string_view summary() const override {
    return "HDF5 with arrays x and y (data.arrays): float16 to float64, whole numbers; in one piece, or in "
           "chunks with gzip";
  }

  std::string labels_problem(const DataSpec& spec) const override {
    return spec.labels.empty() ? ""
                               : "data.labels names a file, but an HDF5 file has the labels in its array y "
                                 "(data.arrays), beside the records";
  }
  std::vector<Part> parts(const DataSpec& spec, int rank) const override {
    return {{resolve_path(spec, spec.features, rank), spec.arrays.front()}};
  }
  std::unique_ptr<RecordStream> open(const DataSpec& spec, int rank) const override {
    const std::string file = resolve_path(spec, spec.features, rank);
    ArrayReader numbers = open_hdf5_array(file, spec.arrays.front());
    std::optional<ArrayReader> labels;
    if (spec.schema.classes > 1) labels.emplace(open_hdf5_array(file, spec.arrays.at(1)));
    return array_records(spec, std::move(numbers), std::move(labels));
  }

  std::string cannot_hold(const schema::RecordKind& kind) const override {
    return kind.table ? "its arrays have no columns, and these records are a table's" : "";
  }
  std::uint64_t bytes_on_disk(const schema::RecordKind& kind) const override {
    return kMostHdf5HeaderBytes + kind.count * (kind.record_bytes() + 2);
  }
  std::vector<std::string> files(const std::string& name) const override { return {name + ".h5"}; }

 private:
  std::unique_ptr<schema::RecordWriter> writer(const std::filesystem::path& file,
                                               const schema::RecordKind& kind) const override {
    return hdf5_writer(file, kind);
  }
};

}  // namespace

const Format& hdf5_format() {
  static const Hdf5Format format;
  return format;
}

}  // namespace muffle::data
