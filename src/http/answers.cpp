#include "answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "muffle/core/error.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/json_text.hpp"
#include "muffle/core/message_name.hpp"
#include "muffle/core/text.hpp"
#include "shelf.hpp"

namespace muffle::http {

using nlohmann::json;

constexpr std::size_t kMostMessages = 100'000;

json fields_of(const std::string& body, const std::string& root) {
  json out = parse_json(body);
  if (!out.is_object() || out.value("format", json()) != kFormat)
    throw CommError(fmt::format(
        "the answer of {} is garbled. Something in between changes it: ask IT to let it pass unchanged.",
        root));
  if (out.value("version", json()) != 1)
    throw ConfigError(
        fmt::format("{} speaks another version of muffle's exchange. Use the coordinator's muffle.", root));
  return out;
}

std::string error_of(const std::string& body, const std::string& root) {
  const json fields = fields_of(body, root);
  const auto error = fields.find("error");
  return error != fields.end() && error->is_string() ? printable(error->get<std::string>().substr(0, 500))
                                                     : "no reason";
}

std::optional<std::uint64_t> total_of(const std::string& content_range) {
  const std::size_t slash = content_range.find('/');
  if (slash == std::string::npos) return std::nullopt;
  std::uint64_t total = 0;
  const char* end = content_range.data() + content_range.size();
  const auto [stop, error] = std::from_chars(content_range.data() + slash + 1, end, total);
  if (error != std::errc() || stop != end) return std::nullopt;
  return total;
}

std::vector<Client::Listed> parse_list(const std::string& body, const std::string& root) {
  const json fields = fields_of(body, root);
  const JsonDocument document{root, "a list of messages", "Ask who runs the server."};
  const JsonFields f(fields, document);
  std::vector<Client::Listed> out;
  if (f.at("messages") == json::array()) return out;
  for (const JsonFields& one : f.objects("messages", kMostMessages)) {
    Client::Listed listed{one.text("name", 128), one.integer("size", 0, std::uint64_t{1} << 62)};
    if (is_message_name(listed.name)) out.push_back(std::move(listed));
  }
  std::ranges::sort(out, {}, &Client::Listed::name);
  return out;
}

}  // namespace muffle::http
