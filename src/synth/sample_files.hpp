#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "draw_tile.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/synth/export.hpp"
#include "sample_folder.hpp"

namespace muffle::synth {

/// Checks count and formats against what the model makes. @throws ConfigError with every problem found.
void check_sample_spec(const SampleSpec& spec, const schema::Schema& schema);

/// All files of one sampling, written on root as the tiles come: it holds one tile at a time. Without
/// finish() the folder has what it had before.
class SampleFiles {
 public:
  /// @param draw  outlives it
  /// @throws IoError  the folder cannot be used, or has no room for the samples.
  SampleFiles(const std::filesystem::path& folder, const Draw& draw);

  /// The next tile's records, as draw_tile() gives them. @throws IoError.
  void add(std::string_view tile);
  /// After the last tile: the files, the picture, and samples.json last. `alive` is called as the work gets
  /// on. @returns what sample() returns. @throws IoError.
  std::string finish(const std::string& model_hash, const std::string& sample_hash,
                     const std::function<void()>& alive);

 private:
  struct File {
    const char* name;
    std::unique_ptr<RecordWriter> writer;
  };
  std::string records_hash(const std::function<void()>& alive);

  const Draw& draw_;
  std::filesystem::path path_;
  SampleFolder folder_;
  std::vector<File> files_;
  std::uint64_t tiles_ = 0;  ///< that have come
  std::vector<std::uint64_t> class_counts_;
  Sha256 numbers_;  ///< of the records without their labels
};

}  // namespace muffle::synth
