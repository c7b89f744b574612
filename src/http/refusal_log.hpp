#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace muffle::http {

/// Tells who runs a server what it does not let in: whose connection, which message, why; of what the message
/// holds nothing. At most kMostOfAPeer lines a minute of one peer and kMostLines in all, so that nobody fills
/// the disk by being refused; how many were left out is said with the next minute's first one. Not
/// thread-safe.
class RefusalLog {
 public:
  static constexpr int kMostOfAPeer = 5, kMostLines = 30;
  /// @param now_s  a clock that never goes back, seconds  @param write  takes a line
  RefusalLog(std::function<double()> now_s, std::function<void(const std::string&)> write);
  /// @param name  of the message; empty: none is named  @param why  as the peer is told, or for this log
  /// alone
  void refused(const std::string& peer, std::string_view name, std::string_view why);

 private:
  std::function<double()> now_s_;
  std::function<void(const std::string&)> write_;
  double since_ = 0;
  int lines_ = 0;
  std::uint64_t left_out_ = 0;
  std::map<std::string, int> peers_;  ///< their lines of this minute; never more than kMostLines of them
};

}  // namespace muffle::http
