// The one file that includes Beast.
#include "muffle/http/server.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <charconv>
#include <chrono>

#include "doors.hpp"
#include "muffle/core/error.hpp"
#include "refusal_log.hpp"
#include "shelf.hpp"

namespace muffle::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using beast::error_code;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What all connections share.
struct Hall {
  Hall(const ServerSettings& settings, Admission admission)
      : limits(settings.limits),
        doors(limits),
        shelf(settings.folder, std::move(admission), limits),
        log(steady_seconds, [](const std::string& line) { spdlog::warn("{}", line); }) {}

  Limits limits;
  Doors doors;
  Shelf shelf;
  RefusalLog log;
};

/// One connection: a request after the other. Each has one deadline for all of it, which nothing puts off.
/// @tparam Stream  beast::tcp_stream, or TLS over it
template <class Stream>
class Session : public std::enable_shared_from_this<Session<Stream>> {
 public:
  static constexpr bool kTls = !std::is_same_v<Stream, beast::tcp_stream>;

  template <class... Context>
  Session(tcp::socket&& socket, std::string peer, Hall& hall, Context&... tls)
      : stream_(std::move(socket), tls...), peer_(std::move(peer)), hall_(hall) {}
  ~Session() { hall_.doors.leave(peer_); }
  Session& operator=(Session&&) = delete;

  void start() {
    if constexpr (kTls) {
      begin_deadline(hall_.limits.request_s);
      stream_.async_handshake(ssl::stream_base::server, [self = this->shared_from_this()](error_code error) {
        if (!error) return self->read();
        self->drop("TLS was not agreed upon: " + error.message());
      });
    } else {
      read();
    }
  }

 private:
  void begin_deadline(double seconds) {
    beast::get_lowest_layer(stream_).expires_after(milliseconds(seconds));
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(hall_.limits.header_bytes));
    parser_->body_limit(hall_.limits.part_bytes);
    begin_deadline(hall_.limits.request_s);
    bhttp::async_read_header(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](error_code error, std::size_t) { self->on_header(error); });
  }

  void on_header(error_code error) {
    if (error == bhttp::error::header_limit) return refuse(431, "the request's header is too long.");
    if (error == bhttp::error::body_limit) return refuse(413, "a part has 4 MiB at most.");
    if (error == bhttp::error::end_of_stream || error == bhttp::error::partial_message) return;
    if (error && error.category() == make_error_code(bhttp::error::bad_version).category())
      return refuse(400, "that is no HTTP/1.1 request.");
    if (error) {  // it is gone, or its time is over
      if (error == beast::error::timeout && buffer_.size() > 0) drop_late();
      return;
    }
    const auto& request = parser_->get();
    const bool put = request.method() == bhttp::verb::put;
    if (parser_->chunked() || (put && !parser_->content_length()))
      return refuse(411, "a body needs a Content-Length, and comes in one piece.");
    if (parser_->upgrade() || request.method() == bhttp::verb::connect)
      return refuse(400, "nothing but HTTP is spoken here.");
    if (!put && parser_->content_length().value_or(0) > 0) return refuse(400, "only PUT has a body.");
    if (request.count(bhttp::field::expect) > 0) return refuse(417, "send the body at once.");
    bhttp::async_read(stream_, buffer_, *parser_,
                      [self = this->shared_from_this()](error_code failed, std::size_t) {
                        if (failed == bhttp::error::body_limit)
                          return self->refuse(413, "a part has 4 MiB at most.");
                        if (!failed) return self->on_request();
                        if (failed == beast::error::timeout) self->drop_late();
                      });
  }

  void on_request() {
    const auto& request = parser_->get();
    Request asked{std::string(request.method_string()), std::string(request.target()), std::nullopt,
                  request.body()};
    if (const auto range = request.find(bhttp::field::range); range != request.end())
      asked.range = std::string(range->value());
    write(hall_.shelf.answer(asked), request.keep_alive());
  }

  void drop(const std::string& why) { hall_.log.refused(peer_, asked_for(), why); }
  void drop_late() {
    drop(fmt::format("its request was not here within {:g} s; the connection was closed",
                     hall_.limits.request_s));
  }
  std::string asked_for() const {
    if (!parser_ || !parser_->is_header_done()) return {};
    const auto target = parser_->get().target();
    return message_asked_for({target.data(), target.size()});
  }

  /// The rest of the request is not read: the connection ends with the answer.
  void refuse(int status, const std::string& why) { write(error_reply(status, why), false); }

  void write(Reply reply, bool keep) {
    // What is not there is asked for all the time.
    if (reply.status >= 400 && reply.status != 404) drop(reply.refusal);
    response_.emplace(bhttp::int_to_status(static_cast<unsigned>(reply.status)), 11);
    response_->set(kOursHeader, kOursValue);
    response_->set(bhttp::field::content_type, reply.json ? "application/json" : "application/octet-stream");
    response_->set(bhttp::field::cache_control, "no-store");
    response_->set("X-Content-Type-Options", "nosniff");
    if (!reply.content_range.empty()) response_->set(bhttp::field::content_range, reply.content_range);
    response_->body() = std::move(reply.body);
    response_->keep_alive(keep);
    response_->prepare_payload();
    bhttp::async_write(
        stream_, *response_, [self = this->shared_from_this(), keep](error_code error, std::size_t) {
          if (error) return;
          if (keep) return self->read();
          error_code ignored;
          beast::get_lowest_layer(self->stream_).socket().shutdown(tcp::socket::shutdown_send, ignored);
          self->begin_deadline(2);
          self->discard();
        });
  }

  /// Takes in what is still under way: a closed socket would answer it with a reset, which overtakes our
  /// answer.
  void discard() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(65536),
                            [self = this->shared_from_this()](error_code error, std::size_t) {
                              if (!error) self->discard();
                            });
  }

  Stream stream_;
  std::string peer_;
  Hall& hall_;
  beast::flat_buffer buffer_;
  std::optional<bhttp::request_parser<bhttp::string_body>> parser_;
  std::optional<bhttp::response<bhttp::string_body>> response_;
};

tcp::endpoint endpoint_of(const std::string& listen) {
  const auto bad = [&] {
    return ConfigError(
        fmt::format("--listen '{}' is no address to listen on: write ADDRESS:PORT, such as 127.0.0.1:8443, "
                    "0.0.0.0:8443 or [::]:8443.",
                    listen));
  };
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos) throw bad();
  std::string host = listen.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  std::uint16_t port = 0;
  const char* end = listen.data() + listen.size();
  const auto [stop, wrong] = std::from_chars(listen.data() + colon + 1, end, port);
  error_code error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (error || wrong != std::errc() || stop != end || colon + 1 == listen.size()) throw bad();
  return {address, port};
}

/// @throws ConfigError  a file is not there or not what it should be.
std::optional<ssl::context> context_of(const ServerSettings& settings) {
  if (settings.cert.empty() && settings.key.empty()) {
    if (!settings.client_ca.empty())
      throw ConfigError("--client-ca needs --cert and --key: clients show certificates over TLS alone.");
    return std::nullopt;
  }
  if (settings.cert.empty() || settings.key.empty())
    throw ConfigError("--cert and --key go together: the certificate's file, and its key's.");
  ssl::context tls(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_3_VERSION);
  const auto use = [](const std::filesystem::path& file, const char* what, const auto& load) {
    error_code error;
    load(file.string(), error);
    if (error)
      throw ConfigError(fmt::format("'{}' cannot be used as {}: {}. A PEM file is needed.", file.string(),
                                    what, error.message()));
  };
  use(settings.cert, "the server's certificate",
      [&](const std::string& file, error_code& error) { tls.use_certificate_chain_file(file, error); });
  use(settings.key, "the key of the server's certificate", [&](const std::string& file, error_code& error) {
    tls.use_private_key_file(file, ssl::context::pem, error);
  });
  if (SSL_CTX_check_private_key(tls.native_handle()) != 1)
    throw ConfigError(fmt::format("the key '{}' is not that of the certificate '{}'.", settings.key.string(),
                                  settings.cert.string()));
  if (!settings.client_ca.empty()) {
    use(settings.client_ca, "the clients' authority",
        [&](const std::string& file, error_code& error) { tls.load_verify_file(file, error); });
    tls.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  }
  return tls;
}

}  // namespace

class Server::Listener {
 public:
  Listener(const ServerSettings& settings, Admission admission)
      : endpoint_(endpoint_of(settings.listen)),
        tls_(context_of(settings)),
        hall_(settings, std::move(admission)),
        acceptor_(io_),
        pause_(io_),
        signals_(io_) {
    if (!tls_ && !endpoint_.address().is_loopback())
      throw ConfigError(
          fmt::format("--listen {} without --cert and --key: plain HTTP is served on this machine alone. "
                      "Name a certificate and its key, or listen on 127.0.0.1 and let a reverse proxy "
                      "(nginx) end TLS in front of it.",
                      settings.listen));
    error_code error;
    acceptor_.open(endpoint_.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint_, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      throw IoError(fmt::format("cannot listen on {}: {}. Choose another address or port.", settings.listen,
                                error.message()));
    endpoint_ = acceptor_.local_endpoint();
    accept();
  }

  std::string address() const {
    const std::string host = endpoint_.address().to_string();
    return fmt::format("{}://{}:{}", tls_ ? "https" : "http",
                       endpoint_.address().is_v6() ? "[" + host + "]" : host, endpoint_.port());
  }

  void run(bool heed_signals) {
    if (heed_signals) {
      signals_.add(SIGTERM);
      signals_.add(SIGINT);
      signals_.async_wait([this](error_code error, int) {
        if (!error) io_.stop();
      });
    }
    io_.run();
  }
  void stop() { io_.stop(); }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) {  // too many open files, say: not at once again
        pause_.expires_after(std::chrono::milliseconds(100));
        pause_.async_wait([this](error_code) { accept(); });
        return;
      }
      error_code gone;
      const auto from = socket.remote_endpoint(gone).address();
      if (!gone) admit(std::move(socket), peer_of(from.to_string()));
      accept();
    });
  }

  /// Beyond the limits it is closed without a word.
  void admit(tcp::socket&& socket, const std::string& peer) {
    if (const auto why = hall_.doors.enter(peer)) return hall_.log.refused(peer, {}, *why);
    if (tls_) {
      std::make_shared<Session<beast::ssl_stream<beast::tcp_stream>>>(std::move(socket), peer, hall_, *tls_)
          ->start();
    } else {
      std::make_shared<Session<beast::tcp_stream>>(std::move(socket), peer, hall_)->start();
    }
  }

  tcp::endpoint endpoint_;
  std::optional<ssl::context> tls_;
  Hall hall_;
  asio::io_context io_{1};  // its sessions end before what they refer to
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  asio::signal_set signals_;
};

Server::Server(const ServerSettings& settings, Admission admission)
    : listener_(std::make_unique<Listener>(settings, std::move(admission))) {}
Server::~Server() = default;
std::string Server::address() const { return listener_->address(); }
void Server::run(bool heed_signals) { listener_->run(heed_signals); }
void Server::stop() { listener_->stop(); }

}  // namespace muffle::http
