#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "muffle/synth/sampler.hpp"

namespace muffle::synth {

/// Describes samples; written last, so its presence means that the rest is complete.
inline constexpr const char* kSamplesJson = "samples.json";
/// Of a description: "format".
inline constexpr const char* kSamplesFormat = "muffle-samples";

/// What the files of samples are named by; samples.png is a picture of them.
inline constexpr const char* kSamples = "samples";
inline constexpr const char* kPicture = "samples.png";

/// A folder with samples, and within it, while new ones come to be, a working folder ".samples.tmp" for them:
/// the earlier samples stay as they are until all of the new ones are there. A process that is killed leaves
/// the working folder, which the next one removes.
class SampleFolder {
 public:
  /// @param formats  all that samples can be written in  @param wanted  those that they will be
  /// @param bytes  that the new samples take
  /// @throws IoError  the folder cannot be written, somebody else's folder (png/) is in the way, or there is
  /// no room.
  SampleFolder(const std::filesystem::path& folder, Formats formats, const std::vector<std::string>& wanted,
               std::uint64_t bytes);
  /// Removes the working folder, with all that was not published.
  ~SampleFolder();
  SampleFolder(const SampleFolder&) = delete;
  SampleFolder& operator=(const SampleFolder&) = delete;

  const std::filesystem::path& working() const { return working_; }
  /// Puts what the working folder holds under these names, and samples.json, in the place of all earlier
  /// samples. @throws IoError.
  void publish(const std::vector<std::string>& names);

 private:
  std::filesystem::path folder_;
  std::filesystem::path working_;
  Formats formats_;
};

}  // namespace muffle::synth
