#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "muffle/comm/host_comm.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/schema/records.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::synth {

/// How often the classes are drawn.
enum class Labels {
  kAuto,            ///< a table's by the released counts' shares, if there are any; else equally often
  kUniform,         ///< equally often
  kReleasedCounts,  ///< by the released counts' shares
};

/// How many records are drawn, of which classes, and how they are written.
struct SampleSpec {
  std::uint64_t count = 60000;
  Labels labels = Labels::kAuto;
  std::uint64_t seed = 1;
  double floor = 0.0;     ///< numbers in [0, 1] below it become 0
  double outliers = 0.0;  ///< below 1: share of records whose normal numbers are four times as large
  double mixed = 0.0;     ///< below 1: share of records that lie 0.4 of the way to another class's mean
  double stray = 0.0;     ///< below 1: share of a record that is taken over from others of the tile
  double sharpen = 0.0;   ///< of images, 0 to 10, 0: none: unsharp masking's amount where all is blurred
  std::vector<std::string> formats{"npz"};  ///< names
  std::uint64_t files = 1;      ///< above 1: of each format, schema::part_name(); file p of N has the records
                                ///< floor(p count / N) .. floor((p+1) count / N) - 1
  schema::TextStyle text{};     ///< of tables; separator and header are those of [data]
  std::uint64_t skip_keys = 0;  ///< of tables with columns of keys: record i has number skip_keys + i + 1

  /// What the records of file p are called, but for the format's ending.
  std::string file_name(std::uint64_t file) const {
    return files == 1 ? "samples" : schema::part_name("samples", file, files);
  }
  std::uint64_t first_of(std::uint64_t file) const {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(file) * count / files);
  }
  /// Whether classes are drawn by the released counts' shares.
  bool by_counts(const schema::Schema& schema, bool counts_released) const {
    return labels == Labels::kReleasedCounts ||
           (labels == Labels::kAuto && schema.table != nullptr && counts_released);
  }
  bool wants(const schema::RecordFormat& format) const {
    return std::find(formats.begin(), formats.end(), format.name()) != formats.end();
  }
};

/// All formats that records can be written in. They come from the caller, in an order of its own: nothing in
/// this room can read a record.
using Formats = std::span<const schema::RecordFormat* const>;

/// The keys of section [sample].
void declare(settings::Keys& keys, SampleSpec& spec, Formats formats);
/// What is wrong with the settings by themselves, and with such records.
void problems(const SampleSpec& spec, Formats formats, settings::Problems& problems);
void problems(const SampleSpec& spec, const schema::Schema& schema, Formats formats,
              settings::Problems& problems);

/// Records are drawn in tiles of so many consecutive indices, tile t by rank t mod K, each by a single
/// thread: what a record looks like depends on neither ranks nor threads.
inline constexpr std::size_t kTileRecords = 500;

/// What a thread holds while it draws a tile, whatever the model: the numbers, a copy, what is stored.
double tile_bytes(const schema::Schema& schema);

/// Draws records from a trained or closed-form model and writes them under `folder` on root: the files
/// "samples" of each of spec.formats (out of `formats`), samples.json (what, from which model, hashes;
/// written last, so its presence means that the rest is complete) and, for images of 1 or 3 channels,
/// samples.png (a grid of 10 columns, one row a class, at most 10), or for 2-D records that are no table's a
/// scatter plot samples.png. Images are rounded to uint8 (half up); other records are scaled back to [lo, hi]
/// as float32. Labels meet the class shares as closely as whole numbers allow, and are interleaved in a fixed
/// public order: the files are not sorted by class, and every run of records holds the classes about evenly.
/// Files of an earlier run stay until all new ones are complete, and then go. Collective: every rank calls it
/// with equal arguments but `threads`; root alone reads `model_file` and writes. The files are the same for
/// any number of ranks and threads (on one kind of processor). Memory does not grow with the count: a rank
/// holds the tiles of one round, one a thread and at most 256 MiB (or one tile), root at most 64 MiB (or one
/// tile) of all ranks' besides, which it writes as they come. Of the threads, so many draw at a time as hold
/// 2 GiB together (or one).
/// @param sample_hash  identifies the settings; goes into samples.json as it is.
/// @returns SHA-256 of the records' file in the last of the formats, in the order of `formats`, that is not a
/// folder; without any, of the records' bytes.
/// @throws on every rank alike: ConfigError (count 0 or beyond 1 TB, records beyond what a
///         thread may hold, unknown or impossible format, shares of counts that were not released); IoError
///         (model, folder, no room on its disk); ProtocolError (model); InvariantError (the model makes
///         numbers that are not finite); CommError.
/// Privacy: post-processing of the release the model was trained on.
std::string sample(comm::HostComm& comm, const std::filesystem::path& model_file,
                   const std::filesystem::path& folder, const SampleSpec& spec, Formats formats,
                   const std::string& sample_hash, int threads);

/// Sets the thread counts of LibTorch, OpenMP and OpenBLAS for its own lifetime; then the count that LibTorch
/// had before holds for all three. They belong to the process: no other thread may compute with LibTorch
/// meanwhile, unless with the same count.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads);
  ~ScopedThreads();
  ScopedThreads& operator=(ScopedThreads&&) = delete;

 private:
  int before_;
};

}  // namespace muffle::synth
