#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "muffle/core/files.hpp"

namespace muffle::http {

inline sockaddr_in address_of(const char* host, int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, host, &out.sin_addr);
  return out;
}

/// A peer that sends whatever a test likes.
class RawPeer {
 public:
  explicit RawPeer(int port, const char* host = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in to = address_of(host, port);
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("cannot connect");
  }
  /// @returns whether the other side still took it.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// What comes until the other side closes, or nothing more has come for so long.
  std::string receive(int patience_ms = 5000) const {
    std::string out;
    char buffer[4096];
    pollfd poll{fd_.get(), POLLIN, 0};
    while (::poll(&poll, 1, patience_ms) > 0) {
      const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) {
        closed_ = true;
        break;
      }
      out.append(buffer, static_cast<std::size_t>(n));
    }
    return out;
  }
  bool closed() const { return closed_; }

 private:
  FileDescriptor fd_;
  mutable bool closed_ = false;
};

/// Something that answers each connection in its own way: a proxy, a portal, a broken network.
class Stranger {
 public:
  /// @param answer  to the beginning of what a client sends; "" closes without a word
  explicit Stranger(std::function<std::string(const std::string& request)> answer)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here = address_of("127.0.0.1", 0);
    socklen_t size = sizeof here;
    if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&here), size) != 0 ||
        ::listen(fd_.get(), 16) != 0 ||
        ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&here), &size) != 0)
      throw std::runtime_error("cannot listen");
    port_ = ntohs(here.sin_port);
    thread_ = std::thread([this, answer = std::move(answer)] {
      for (;;) {
        const FileDescriptor peer(::accept(fd_.get(), nullptr, nullptr));
        if (peer.get() < 0) return;
        char buffer[65536];
        const ssize_t n = ::recv(peer.get(), buffer, sizeof buffer, 0);
        const std::string reply = answer(std::string(buffer, n > 0 ? static_cast<std::size_t>(n) : 0));
        (void)!::send(peer.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
        ::shutdown(peer.get(), SHUT_WR);
        while (::recv(peer.get(), buffer, sizeof buffer, 0) > 0) {
        }
      }
    });
  }
  ~Stranger() {
    ::shutdown(fd_.get(), SHUT_RDWR);
    thread_.join();
  }
  int port() const { return port_; }

 private:
  FileDescriptor fd_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace muffle::http
