#include "hdf5_writer.hpp"

#include <fmt/format.h>

#include <vector>

#include "hdf5_file.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::data {
namespace {

class Hdf5Writer final : public schema::RecordWriter {
 public:
  Hdf5Writer(const std::filesystem::path& path, const schema::RecordKind& kind)
      : RecordWriter(kind), path_(path), file_(path) {
    const auto lock = hold_hdf5();
    // No times: the same records are the same bytes.
    const Hdf5Handle creation = opened(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    check(H5Pset_obj_track_times(creation.id(), false));
    const Hdf5Handle access = opened(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    check(H5Pset_file_locking(access.id(), false, true));
    hdf5_ = opened(H5Fcreate(file_.temporary().c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose);
    x_dims_.push_back(kind.count);
    x_dims_.insert(x_dims_.end(), kind.shape.begin(), kind.shape.end());
    x_ = array("x", kind.floats ? H5T_IEEE_F32LE : H5T_STD_U8LE, x_dims_);
    y_ = array("y", H5T_STD_U8LE, {kind.count});
  }

 private:
  void write(const schema::Records& some) override {
    const WatchedStep step("writing", path_);
    const auto lock = hold_hdf5();
    std::vector<hsize_t> dims = x_dims_;
    dims.front() = some.count();
    if (kind().floats) {
      append(x_, H5T_NATIVE_FLOAT, dims, some.floats.data());
    } else {
      append(x_, H5T_NATIVE_UINT8, dims, some.bytes.data());
    }
    append(y_, H5T_NATIVE_UINT8, {some.count()}, some.labels.data());
    done_ += some.count();
  }
  void complete(const Heartbeat&) override {
    {
      const WatchedStep step("writing", path_);
      const auto lock = hold_hdf5();
      x_ = {};
      y_ = {};
      check(H5Fflush(hdf5_.id(), H5F_SCOPE_GLOBAL));
      hdf5_ = {};
    }
    file_.commit();
  }

  [[noreturn]] void fail() const {
    throw IoError(fmt::format("cannot write '{}': libhdf5 failed. Is there room for it?", path_.string()));
  }
  void check(herr_t answer) const {
    if (answer < 0) fail();
  }
  Hdf5Handle opened(hid_t id, herr_t (*close)(hid_t)) const {
    if (id < 0) fail();
    return {id, close};
  }
  Hdf5Handle space(const std::vector<hsize_t>& dims) const {
    return opened(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
  }
  Hdf5Handle array(const char* name, hid_t type, const std::vector<hsize_t>& dims) const {
    const Hdf5Handle plan = opened(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    check(H5Pset_obj_track_times(plan.id(), false));
    check(H5Pset_alloc_time(plan.id(), H5D_ALLOC_TIME_EARLY));
    check(H5Pset_fill_time(plan.id(), H5D_FILL_TIME_NEVER));
    return opened(H5Dcreate2(hdf5_.id(), name, type, space(dims).id(), H5P_DEFAULT, plan.id(), H5P_DEFAULT),
                  H5Dclose);
  }
  void append(const Hdf5Handle& array, hid_t type, const std::vector<hsize_t>& dims, const void* from) const {
    if (dims.front() == 0) return;
    std::vector<hsize_t> begin(dims.size());
    begin.front() = done_;
    const Hdf5Handle there = opened(H5Dget_space(array.id()), H5Sclose);
    check(H5Sselect_hyperslab(there.id(), H5S_SELECT_SET, begin.data(), nullptr, dims.data(), nullptr));
    check(H5Dwrite(array.id(), type, space(dims).id(), there.id(), H5P_DEFAULT, from));
  }

  std::filesystem::path path_;
  NewFile file_;
  Hdf5Handle hdf5_, x_, y_;
  std::vector<hsize_t> x_dims_;
  std::uint64_t done_ = 0;
};

}  // namespace

std::unique_ptr<schema::RecordWriter> hdf5_writer(const std::filesystem::path& file,
                                                  const schema::RecordKind& kind) {
  return std::make_unique<Hdf5Writer>(file, kind);
}

}  // namespace muffle::data
