#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "muffle/core/hash.hpp"

namespace muffle::http {

/// Why a message is not let in.
struct Refusal {
  int status = 403;  ///< 403, 413 or 400
  std::string reason;
};
/// A message whose first part is here.
struct Arriving {
  std::string name;            ///< under which it is to lie
  std::string_view beginning;  ///< a part's bytes, the message's header among them
  std::uint64_t size = 0;      ///< of the whole
  Sha256Digest sha256{};       ///< of the whole, as its sender says
};
/// Whether it may come in: asked once. @returns none: it may.
using Admission = std::function<std::optional<Refusal>(const Arriving&)>;

/// Lets in signed messages, under the names that release/message_names.hpp gives them, of those whom the
/// folder's own messages name: a charter's members, a proposal's sites and holders; one of a kind from each
/// in a round, of the size that it may have. Charters and proposals are let in of the sender of a charter
/// that lies there already: the first one is put into the folder by who runs the server. Of strangers cards
/// and round keys are let in, which sign themselves, few and small. Readers check all of it again.
Admission known_senders(const std::filesystem::path& folder);

/// What a server keeps to, whoever connects.
struct Limits {
  std::uint64_t header_bytes = std::uint64_t{8} << 10;
  std::uint64_t part_bytes = std::uint64_t{4} << 20;
  double request_s = 60;  ///< from a request's beginning to the end of its answer, and for a handshake
  int connections = 64;
  int connections_of_a_peer = 8;                        ///< on loopback, where a proxy stands: no such limit
  std::uint64_t spool_bytes = std::uint64_t{16} << 30;  ///< of all unfinished messages
  double spool_s = 24 * 3600;  ///< an unfinished one is erased after that time without a part
};

struct ServerSettings {
  std::filesystem::path folder;  ///< must be there
  std::string listen;            ///< ADDRESS:PORT, [ADDRESS]:PORT; port 0: any that is free
  std::filesystem::path cert;    ///< PEM, with intermediates; empty: plain HTTP, on loopback alone
  std::filesystem::path key;
  std::filesystem::path client_ca;  ///< who may vouch for clients; empty: they show no certificate
  Limits limits{};
};

/// The folder of a round over HTTPS (TLS 1.3), or over plain HTTP on loopback, behind a reverse proxy. All
/// its state is that folder. It needs no trust: messages are signed, and masked where they must be.
class Server {
 public:
  /// Listens from here on.
  /// @throws ConfigError  an address beyond loopback without a certificate; files that are not there or no
  /// pair; a muffle that was built without HTTPS. @throws IoError  no such folder, the address is taken.
  Server(const ServerSettings& settings, Admission admission);
  ~Server();
  Server& operator=(Server&&) = delete;

  /// https://ADDRESS:PORT, with the port that it has.
  std::string address() const;
  /// Serves until stop(), or, if it heeds signals, SIGTERM or SIGINT.
  void run(bool heed_signals = false);
  /// From any thread.
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace muffle::http
