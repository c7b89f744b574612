#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "muffle/schema/schema.hpp"

namespace muffle::synth {

/// What records are to be written, and how many in all.
struct RecordKind {
  std::vector<std::size_t> shape;  ///< of one record
  bool floats = false;             ///< float32 in original units; else uint8
  std::uint64_t count = 0;
  std::size_t dims() const;  ///< numbers of one record
};

/// Synthetic (or generated) records in memory: exactly one of `bytes` and `floats` is used.
struct Records {
  std::vector<std::size_t> shape;    ///< of one record
  std::vector<std::uint8_t> bytes;   ///< n x dims, images
  std::vector<float> floats;         ///< n x dims, original units
  std::vector<std::uint8_t> labels;  ///< n
  std::size_t count() const { return labels.size(); }
  RecordKind kind() const { return {shape, !floats.empty(), count()}; }
};

/// Writes records that come a few at a time, in order; holds none of them. Without finish() nothing is left
/// under the file's name (of a folder: what was written so far).
class RecordWriter {
 public:
  explicit RecordWriter(RecordKind kind) : kind_(std::move(kind)) {}
  virtual ~RecordWriter() = default;
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// The next records. @throws IoError;  InvariantError: they contradict themselves or the announced kind.
  void add(const Records& some);
  /// After the last record. `alive` is called as a long work gets on; what it throws ends that work.
  /// @throws IoError;  InvariantError: fewer or more records than announced.
  void finish(const std::function<void()>& alive);

 protected:
  const RecordKind& kind() const { return kind_; }
  std::uint64_t written() const { return written_; }

 private:
  virtual void write(const Records& some) = 0;
  virtual void complete(const std::function<void()>& alive) = 0;

  RecordKind kind_;
  std::uint64_t written_ = 0;
};

/// IDX, element type uint8 or float32 (big-endian) by the extension-free rule of the format. Images of one
/// channel are n x height x width. Atomic. @throws IoError.
std::unique_ptr<RecordWriter> idx_writer(const std::filesystem::path& path, const RecordKind& kind);
/// The labels, as IDX.
std::unique_ptr<RecordWriter> idx_label_writer(const std::filesystem::path& path, const RecordKind& kind);
/// A NumPy .npz (libzip, stored uncompressed) with arrays x (n x dims, uint8 or float32) and y (n, uint8).
/// Atomic. Until finish() returns, the arrays lie beside it as well: twice the room is needed.
std::unique_ptr<RecordWriter> npz_writer(const std::filesystem::path& path, const RecordKind& kind);
/// One PNG a record, folder/<class>/<number>.png. @throws ConfigError: not images of 1 or 3 channels.
std::unique_ptr<RecordWriter> png_folder_writer(const std::filesystem::path& folder, const RecordKind& kind);
/// Grid of images: row c shows the first `columns` records of class c; 2-pixel gaps. @throws ConfigError.
std::unique_ptr<RecordWriter> image_grid_writer(const std::filesystem::path& path, const RecordKind& kind,
                                                std::size_t classes, std::size_t columns);
/// Scatter plot of 2-D records inside [lo, hi]^2, one colour a class, with axes' frame and ticks.
/// @throws ConfigError: records of more or fewer numbers.
std::unique_ptr<RecordWriter> scatter_writer(const std::filesystem::path& path, const RecordKind& kind,
                                             const schema::Schema& schema);

/// All of the records at once.
void write_whole(RecordWriter& writer, const Records& records);
/// The same for the two file formats.
void write_idx_records(const std::filesystem::path& path, const Records& records);
void write_idx_labels(const std::filesystem::path& path, std::span<const std::uint8_t> labels);
void write_npz(const std::filesystem::path& path, const Records& records);
/// Reads back what write_npz wrote (also compressed members, and x of shape n x ...; dtypes |u1, <f4; y |u1
/// or <i8).
/// @param alive  called every 16 MiB; what it throws comes out of here.
/// @throws IoError, DataError.
Records read_npz(const std::filesystem::path& path, const std::function<void()>& alive = {});
/// Grey (1 channel) or RGB (3) PNG of interleaved bytes, height x width x channels. Atomic.
void write_png(const std::filesystem::path& path, std::span<const std::uint8_t> pixels, std::size_t height,
               std::size_t width, std::size_t channels);

}  // namespace muffle::synth
