#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "muffle/http/client.hpp"

namespace muffle::http {

// What a client reads in a server's answers: of a server that may be anybody. No sockets.

/// The fields of an answer that is JSON. @param root  the server, in errors
/// @throws CommError  it is cut off or garbled. @throws ConfigError  another version.
nlohmann::json fields_of(const std::string& body, const std::string& root);
/// Why the server refuses, fit to be shown. @throws as fields_of().
std::string error_of(const std::string& body, const std::string& root);
/// Messages only, sorted by name. @throws as fields_of(); ProtocolError  it is no list.
std::vector<Client::Listed> parse_list(const std::string& body, const std::string& root);
/// How many bytes the whole has: "bytes 0-9/100", "bytes */100".
std::optional<std::uint64_t> total_of(const std::string& content_range);

}  // namespace muffle::http
