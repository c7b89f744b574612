#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/message_name.hpp"
#include "muffle/http/settings.hpp"

namespace muffle::round {

/// Where the messages of a round between institutions lie, as named files, for days. Whoever carries them is
/// trusted with nothing: every message is signed, and masked where it must be. A party puts its own, lists
/// what there is, and gets what it needs; nobody waits. Not thread-safe.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Puts a message under its name, whole or not at all. The same bytes once more are no error.
  /// @param name  as muffle::is_message_name() has it
  /// @throws ProtocolError  other bytes lie under this name: they stay. @throws IoError.
  virtual void put(const std::string& name, std::string_view bytes) = 0;
  /// The names of all that is there, sorted; what is no message's name is left out. @throws IoError.
  virtual std::vector<std::string> list() = 0;
  /// None: it is not there. @param most  bytes that it may have
  /// @throws ProtocolError  it is larger. @throws IoError.
  virtual std::optional<std::string> get(const std::string& name, std::uint64_t most) = 0;
};

/// A line of the table of exchanges.
struct ExchangeKind {
  std::string_view name;
  /// Across a network: a party works on its own copy, and `site sync` carries messages there and back.
  bool is_far;
  /// Whether an address is of this kind, such as a folder or an https:// URL.
  bool (*serves)(std::string_view address);
  /// @param network  for kinds that use one
  /// @throws IoError, ConfigError  it cannot be reached like this.
  std::unique_ptr<Exchange> (*make)(const std::string& address, const http::ClientSettings& network);
};

/// All kinds, in the order in which they are asked.
std::span<const ExchangeKind> exchange_kinds();
/// Whether an address is of a kind that is far.
bool is_far(std::string_view address);
/// @throws ConfigError  no kind has such addresses.
std::unique_ptr<Exchange> make_exchange(
    const std::string& address, const http::ClientSettings& network = http::settings_from_environment());

}  // namespace muffle::round
