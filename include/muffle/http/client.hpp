#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/http/settings.hpp"

namespace muffle::http {

/// Speaks to a `muffle coordinator serve` (docs/reference/exchange-http.md), through whatever proxies stand
/// in between: short requests, HTTP/1.1, no redirects. What a network lost is asked for again, with the same
/// bytes; what is not the server's own answer is never taken for one. Not thread-safe.
///
/// Errors of all methods: CommError  nobody answers, or in time; the server's certificate has expired; it
/// cannot store anything. ConfigError  something has to be changed, and the message says by whom: an unknown
/// authority, another host's certificate, a proxy that wants a password or refuses, a page that is not the
/// server's. ProtocolError  the server refuses this message.
class Client {
 public:
  /// @param address  https://HOST[:PORT][/PATH]; http:// on this machine alone
  /// @throws ConfigError  no such address; files that are not there; a muffle that was built without HTTPS.
  Client(const std::string& address, const ClientSettings& settings);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  struct Listed {
    std::string name;
    std::uint64_t size;
  };
  /// Messages only, sorted by name.
  std::vector<Listed> list();
  /// None: it is not there. @throws ProtocolError  it has more bytes than `most`.
  std::optional<std::string> get(const std::string& name, std::uint64_t most);
  /// Sends a message in parts. Nobody sees it before it is there whole; the same bytes again are no error.
  /// @param bytes  public, or masked: their SHA-256 goes with them
  /// @throws ProtocolError  another message of this name is there.
  void put(const std::string& name, std::string_view bytes);

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace muffle::http
