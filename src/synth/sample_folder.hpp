#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace muffle::synth {

/// Describes samples; written last, so its presence means that the rest is complete.
inline constexpr const char* kSamplesJson = "samples.json";
/// Holds one PNG a record.
inline constexpr const char* kPngFolder = "png";
/// Of a description: "format".
inline constexpr const char* kSamplesFormat = "muffle-samples";

/// A folder with samples, and within it, while new ones come to be, a working folder ".samples.tmp" for them:
/// the earlier samples stay as they are until all of the new ones are there. A process that is killed leaves
/// the working folder, which the next one removes.
class SampleFolder {
 public:
  /// @param png    there will be class folders
  /// @param bytes  that the new samples take
  /// @throws IoError  the folder cannot be written, somebody else's png/ is in the way, or there is no room.
  SampleFolder(const std::filesystem::path& folder, bool png, std::uint64_t bytes);
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
};

}  // namespace muffle::synth
