#pragma once

#include <string>
#include <string_view>

#include "muffle/core/heartbeat.hpp"
#include "muffle/core/settings.hpp"

/// Messages of rounds between institutions over HTTPS. It carries files that are signed, and masked where
/// they must be: this room links none that sees a record.
namespace muffle::http {

/// How this institution's network lets muffle out. Paths are files in PEM.
struct ClientSettings {
  std::string ca;           ///< who may vouch for the server; empty: whom the system trusts
  std::string client_cert;  ///< by which the server knows this site, if it asks; empty: none
  std::string client_key;   ///< of client_cert
  std::string proxy;        ///< http://[NAME:PASSWORD@]HOST:PORT; empty: as https_proxy and no_proxy say

  int tries = 5;              ///< of a request that a network has lost
  double first_wait_s = 1;    ///< before the second try; each further wait is twice as long
  double connect_s = 30;      ///< until there is a connection
  double request_s = 90;      ///< for one request in all
  double total_s = 4 * 3600;  ///< for all that one client does, however little comes with each answer
  Heartbeat heartbeat{};      ///< called some times a second while it waits; what it throws ends the request
};

/// Whether it begins as the address of a server does.
bool is_address(std::string_view address);

/// Binds the keys ca, client_cert, client_key and proxy.
void declare(settings::Keys& keys, ClientSettings& settings);
/// What MUFFLE_EXCHANGE_CA, _CLIENT_CERT, _CLIENT_KEY and _PROXY say, where no file has a say.
ClientSettings settings_from_environment();

}  // namespace muffle::http
