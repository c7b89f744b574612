#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "draw_tile.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/schema/records.hpp"
#include "sample_folder.hpp"

namespace muffle::synth {

/// All files of one sampling, written on root as the tiles come: it holds one tile at a time. Without
/// finish() the folder has what it had before.
class SampleFiles {
 public:
  /// @param draw  outlives it
  /// @throws IoError  the folder cannot be used, or has no room for the samples.
  SampleFiles(const std::filesystem::path& folder, const Draw& draw, Formats formats);

  /// The next tile's records, as draw_tile() gives them. @throws IoError.
  void add(std::string_view tile);
  /// After the last tile: the files, the picture, and samples.json last. `heartbeat` is called as the work
  /// gets on. @returns what sample() returns. @throws IoError.
  std::string finish(const std::string& model_hash, const std::string& sample_hash,
                     const std::function<void()>& heartbeat);

 private:
  std::string records_hash(const std::function<void()>& heartbeat);

  const Draw& draw_;
  std::filesystem::path path_;
  SampleFolder folder_;
  std::vector<schema::NamedWriter> files_;
  std::set<std::string> folders_;  ///< those of files_ that are folders
  std::string main_;               ///< whose hash stands for all; empty: none
  std::uint64_t tiles_ = 0;        ///< that have come
  std::vector<std::uint64_t> class_counts_;
  Sha256 numbers_;  ///< of the records without their labels
};

}  // namespace muffle::synth
