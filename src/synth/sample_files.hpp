#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "draw_tile.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/schema/records.hpp"
#include "muffle/synth/sampler.hpp"

namespace muffle::synth {

/// A folder with samples, and within it, while new ones come to be, a working folder ".samples.tmp" for them:
/// the earlier samples stay as they are until all of the new ones are there. A process that is killed leaves
/// the working folder, which the next one removes.
class SampleFolder {
 public:
  /// @param formats  all that samples can be written in  @param spec  which of them they will be in
  /// @param bytes  that the new samples take
  /// @throws IoError  the folder cannot be written, somebody else's folder (png/) is in the way, or there is
  /// no room.
  SampleFolder(const std::filesystem::path& folder, Formats formats, const SampleSpec& spec,
               std::uint64_t bytes);
  /// Removes the working folder, with all that was not published.
  ~SampleFolder();
  SampleFolder& operator=(SampleFolder&&) = delete;

  const std::filesystem::path& working() const { return working_; }
  /// Puts what the working folder holds under these names, and samples.json, in the place of all earlier
  /// samples. @throws IoError.
  void publish(const std::vector<std::string>& names);

 private:
  std::filesystem::path folder_;
  std::filesystem::path working_;
  Formats formats_;
};

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
                     const Heartbeat& heartbeat);

 private:
  /// A file, and which of the records it has.
  struct Part {
    schema::NamedWriter file;
    std::uint64_t first, end;
  };

  const Draw& draw_;
  std::filesystem::path path_;
  SampleFolder folder_;
  std::vector<Part> files_;
  std::set<std::string> folders_;  ///< those of files_ that are folders
  std::string main_;               ///< whose hash stands for all; empty: none
  std::uint64_t tiles_ = 0;        ///< that have come
  std::vector<std::uint64_t> class_counts_;
  Sha256 numbers_;  ///< of the records without their labels
};

}  // namespace muffle::synth
