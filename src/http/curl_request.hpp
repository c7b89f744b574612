#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "muffle/http/settings.hpp"

namespace muffle::http {

/// An answer that is the server's own.
struct Answer {
  int status = 0;
  std::string body;
  std::string content_range;
};

/// One try of one request could not be brought to an end; another one may.
struct TryAgain {
  std::string why;        ///< for people, with what to do
  bool too_slow = false;  ///< it took too long: a shorter one may pass
};

/// libcurl with a network's peculiarities: certificates, proxies, deadlines, strangers who answer in place of
/// the server. Knows nothing of messages. Not thread-safe.
class CurlRequest {
 public:
  /// @param root  the address that all paths are behind  @throws ConfigError.
  CurlRequest(std::string root, const ClientSettings& settings);
  ~CurlRequest();
  CurlRequest& operator=(CurlRequest&&) = delete;

  /// One try. @param body  none: GET; else PUT  @param range  "0-99"; empty: all  @param most  bytes of an
  /// answer  @param limit_s  for all of it, if that is less than the settings' request_s
  /// @returns the answer, or why not yet. @throws ConfigError, CommError  no further try can help.
  std::optional<Answer> attempt(const std::string& path, const std::optional<std::string_view>& body,
                                const std::string& range, std::uint64_t most, double limit_s,
                                TryAgain& again);
  /// "https://host:8443".
  const std::string& root() const { return root_; }

 private:
  struct State;
  [[noreturn]] void refuse_certificate(long verdict) const;
  /// What libcurl's code means here. @throws ConfigError, CommError.
  TryAgain lost(int code) const;
  /// @throws ConfigError  what answered is not the server.
  void require_ours(const Answer& answer, TryAgain& again) const;

  std::string root_;
  ClientSettings settings_;
  std::unique_ptr<State> state_;
};

}  // namespace muffle::http
