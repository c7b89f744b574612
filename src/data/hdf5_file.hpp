#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>

#include "arrays.hpp"

// HDF5 files by libhdf5, which is one state for the whole process and takes no threads: whoever calls it
// holds hold_hdf5().
namespace muffle::data {

/// The first one also sees to it that libhdf5 prints nothing and loads no plug-ins.
std::unique_lock<std::recursive_mutex> hold_hdf5();

/// What libhdf5 has opened, and closes again.
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  /// @param id  negative: it could not be opened
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept { *this = std::move(other); }
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Handle();

  bool opened() const { return id_ >= 0; }
  hid_t id() const { return id_; }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// An array of a file, by its path, such as "train/x", through the file's own groups alone.
/// @throws DataError  it is missing, damaged, or none that muffle reads; IoError.
ArrayReader open_hdf5_array(const std::string& file, const std::string& path);

}  // namespace muffle::data
