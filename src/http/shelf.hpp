#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "muffle/http/server.hpp"
#include "spool.hpp"

namespace muffle::http {

/// A request whose body is here, of a known length and no longer than a part.
struct Request {
  std::string method;
  std::string target;                ///< as it was sent: path and query
  std::optional<std::string> range;  ///< what the header Range says
  std::string_view body;
};

struct Reply {
  int status = 200;
  std::string body;
  bool json = true;           ///< otherwise a message's bytes
  std::string content_range;  ///< empty: none
  std::string refusal;        ///< of an error, its text; for the server's log
};

/// What the server's answers carry, by which a client knows them from a proxy's pages.
inline constexpr char kOursHeader[] = "Muffle-Exchange", kOursValue[] = "1";
inline constexpr char kFormat[] = "muffle-exchange";
inline constexpr char kMessagesPath[] = "/v1/messages";

/// {"format", "version", "error": text}.
Reply error_reply(int status, const std::string& text);
/// The message that a request's target names; empty: it names none that could be.
std::string message_asked_for(std::string_view target);

/// Answers requests out of one folder (docs/reference/exchange-http.md). No sockets. Not thread-safe.
class Shelf {
 public:
  /// @throws IoError  there is no such folder.
  Shelf(const std::filesystem::path& folder, Admission admission, const Limits& limits);

  /// Never throws: what the disk does not do is a 500 or 507, and in this process's log.
  Reply answer(const Request& request) noexcept;

 private:
  Reply serve(const Request& request);
  Reply list() const;
  Reply get(const std::string& name, const std::optional<std::string>& range) const;
  Reply put(const Incoming& message, std::uint64_t offset, std::string_view part);
  /// What lies there already: none, the same bytes, others.
  enum class There { kNothing, kSame, kOther };
  There there(const Incoming& message);

  std::filesystem::path folder_;
  Admission admission_;
  Limits limits_;
  Spool spool_;
  /// SHA-256 of messages that are there, by name and size: none is ever replaced.
  std::map<std::pair<std::string, std::uint64_t>, std::string> digests_;
};

}  // namespace muffle::http
