#include "muffle/http/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "answers.hpp"
#include "curl_request.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/message_name.hpp"
#include "muffle/core/text.hpp"
#include "shelf.hpp"

namespace muffle::http {
namespace {

using nlohmann::json;

constexpr std::uint64_t kPart = std::uint64_t{4} << 20, kLeastPart = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostListBytes = std::uint64_t{32} << 20, kMostSaid = std::uint64_t{64} << 10;

}  // namespace

class Client::Connection {
 public:
  Connection(const std::string& address, const ClientSettings& settings)
      : settings_(settings), curl_(address, settings) {}

  /// @throws CommError  all tries are used up.
  Answer request(const std::string& path, const std::optional<std::string_view>& body,
                 const std::string& range, std::uint64_t most) {
    double wait = settings_.first_wait_s;
    for (int tries = settings_.tries; true; --tries) {
      TryAgain again;
      if (auto answer = curl_.attempt(path, body, range, most, time_left(), again)) return *answer;
      if (again.too_slow) part_ = std::max(kLeastPart, part_ / 2);
      if (tries <= 1)
        throw CommError(fmt::format("{} Tried {} times; nothing is lost: run the same command again later.",
                                    again.why, settings_.tries));
      pause(std::min(wait, time_left()));
      wait *= 2;
    }
  }

  std::string path_of(const std::string& name) const { return fmt::format("{}/{}", kMessagesPath, name); }
  const std::string& root() const { return curl_.root(); }
  /// How much is sent or asked for at once: less, where more did not pass in time.
  std::uint64_t part() const { return part_; }

 private:
  void pause(double seconds) const {
    constexpr double kBeat = 0.2;
    for (; seconds > 0; seconds -= kBeat) {
      beat(settings_.heartbeat);
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(seconds, kBeat)));
    }
  }
  /// @throws CommError  there is none.
  double time_left() const {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun_;
    if (!(taken.count() < settings_.total_s))
      throw CommError(
          fmt::format("{} took more than {} s in all, a little at a time. What came whole is kept: run the "
                      "same command again later, and ask IT what slows it down.",
                      curl_.root(), settings_.total_s));
    return settings_.total_s - taken.count();
  }

  ClientSettings settings_;
  CurlRequest curl_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::uint64_t part_ = kPart;
};

Client::Client(const std::string& address, const ClientSettings& settings)
    : connection_(std::make_unique<Connection>(address, settings)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

std::vector<Client::Listed> Client::list() {
  const Answer answer = connection_->request(kMessagesPath, std::nullopt, "", kMostListBytes);
  if (answer.status != 200)
    throw CommError(fmt::format("{} does not list its messages: {}", connection_->root(),
                                error_of(answer.body, connection_->root())));
  return parse_list(answer.body, connection_->root());
}

std::optional<std::string> Client::get(const std::string& name, std::uint64_t most) {
  Connection& c = *connection_;
  std::string bytes;
  for (std::optional<std::uint64_t> total; !total || bytes.size() < *total;) {
    const std::uint64_t last = bytes.size() + std::clamp<std::uint64_t>(most - bytes.size(), 1, c.part()) - 1;
    const Answer answer =
        c.request(c.path_of(name), std::nullopt, fmt::format("{}-{}", bytes.size(), last), kPart + kMostSaid);
    if (answer.status == 404 && bytes.empty()) return std::nullopt;
    if (answer.status != 200 && answer.status != 206)
      throw CommError(
          fmt::format("{} does not give '{}': {}", c.root(), name, error_of(answer.body, c.root())));
    total = answer.status == 206 ? total_of(answer.content_range) : answer.body.size();
    if (!total || (answer.body.empty() && *total > 0))
      throw CommError(fmt::format(
          "the answer of {} for '{}' is garbled. Something in between changes it: ask IT.", c.root(), name));
    if (*total > most)
      throw ProtocolError(fmt::format("'{}' at {} has {} bytes, and such a message has {} at most.", name,
                                      c.root(), *total, most));
    if (answer.body.size() > *total - std::min<std::uint64_t>(bytes.size(), *total))
      throw CommError(
          fmt::format("{} sends more of '{}' than there is of it. Something in between changes it: ask IT.",
                      c.root(), name));
    bytes += answer.body;
  }
  return bytes;
}

void Client::put(const std::string& name, std::string_view bytes) {
  Connection& c = *connection_;
  const std::string digest = to_hex(sha256(PublicBytes(bytes)));
  std::uint64_t offset = 0;
  for (int restarts = 0;;) {
    // A long one begins with a short part: enough to hear that it is there already, or is refused.
    const std::string_view part =
        bytes.substr(offset, offset == 0 && bytes.size() > c.part() ? kLeastPart : c.part());
    const Answer answer = c.request(
        fmt::format("{}?offset={}&size={}&sha256={}", c.path_of(name), offset, bytes.size(), digest), part,
        "", kMostSaid);
    if (answer.status == 200 || answer.status == 201) return;
    if (answer.status == 409)
      throw ProtocolError(
          fmt::format("'{}' is there already at {}, and is another message. It was left as it is: a party "
                      "sends one message of each kind in a round. Find out who wrote it.",
                      name, c.root()));
    if (answer.status == 202) {
      const json fields = fields_of(answer.body, c.root());
      const JsonDocument document{c.root(), "an answer to a part of a message", "Ask who runs the server."};
      const std::uint64_t have = JsonFields(fields, document).integer("have", 0, bytes.size());
      if (have > offset) {
        offset = have;
        continue;
      }
      offset = have;  // it has lost some
    } else if (answer.status == 422) {
      offset = 0;
    } else if (answer.status == 507) {
      throw CommError(
          fmt::format("{} cannot store '{}': {}", c.root(), name, error_of(answer.body, c.root())));
    } else {
      throw ProtocolError(fmt::format("{} refuses '{}' (HTTP {}): {}", c.root(), name, answer.status,
                                      error_of(answer.body, c.root())));
    }
    if (++restarts > 3)
      throw CommError(
          fmt::format("{} does not keep the parts of '{}'. Something in between changes them, or the "
                      "server's disk is full: ask who runs it.",
                      c.root(), name));
  }
}

}  // namespace muffle::http
