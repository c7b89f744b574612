#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muffle/core/files.hpp"

namespace muffle::train {

/// Writes numbers that TensorBoard draws: a file of TFRecords, each a serialised `Event` message
/// (tensorflow/core/util/event.proto). Written by hand: two messages of
/// four scalar fields do not carry a protobuf dependency. Root alone uses it. Public numbers only.
class EventFile {
 public:
  /// Makes `folder` and a file in it whose name says when and where. Unless the time is public (it tells how
  /// long the release took, and so how many records there are), times are the beginning of the day, UTC, and
  /// a second a step. A file that cannot be written is named in the log, once, and nothing more happens: no
  /// training ends for its curve. Points of steps after `resumed_at` in the folder's older files are of a
  /// training that ended without a checkpoint of them: TensorBoard is told to drop them.
  EventFile(const std::filesystem::path& folder, const std::string& host, bool time_is_public,
            std::uint64_t resumed_at = 0);
  ~EventFile();
  EventFile& operator=(EventFile&&) = delete;

  /// One point of each curve at `step`; flushed, so that TensorBoard sees it while the training runs.
  void add(std::uint64_t step, const std::vector<std::pair<std::string, double>>& scalars);

 private:
  void write(const std::string& event);
  void give_up();
  /// Seconds since 1970 that an event of this step is given.
  double wall_s(std::uint64_t step) const;

  std::optional<double> day_;  ///< where the time is not public
  std::filesystem::path file_;
  FileDescriptor out_;  ///< none: it cannot be written
};

/// The record around an event: length, its checksum, the event, its checksum (masked CRC-32C).
std::string tf_record(std::string_view event);

}  // namespace muffle::train
