#include "shelf.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/message_name.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/crypto/pair_keys.hpp"
#include "muffle/crypto/site_keys.hpp"

namespace muffle::http {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kSpoolFolder[] = ".incoming";
/// So many names are told at once; a client's limit follows from it.
constexpr std::size_t kMostListed = 100'000;

/// The same folder. @throws IoError  there is none.
const fs::path& existing(const fs::path& folder) {
  const WatchedStep step("opening the folder", folder);
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw IoError(fmt::format("there is no folder '{}' to serve{}: make it, or mount it.", folder.string(),
                              error ? ": " + error.message() : ""));
  return folder;
}

json document() { return {{"format", kFormat}, {"version", 1}}; }

Reply json_reply(int status, json fields) {
  json out = document();
  out.update(fields);
  Reply reply;
  reply.status = status;
  reply.body = out.dump() + "\n";
  return reply;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "offset=0&size=3&sha256=...", in this order and spelling alone.
std::optional<std::pair<Incoming, std::uint64_t>> announcement(const std::string& name,
                                                               std::string_view query) {
  const auto take = [&](std::string_view key) -> std::string_view {
    if (!query.starts_with(key)) return {};
    query.remove_prefix(key.size());
    const std::string_view value = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), value.size() + 1));
    return value;
  };
  const auto offset = number(take("offset=")), size = number(take("size="));
  Incoming message{name, size.value_or(0), {}};
  const std::string_view digits = take("sha256=");
  if (!offset || !size || !query.empty() || !is_hex(digits, 64) ||
      !crypto::from_hex(std::string(digits), message.sha256))
    return std::nullopt;
  return std::pair(message, *offset);
}

/// "bytes=FIRST-LAST" of a file of `size` bytes, cut to it. None: no such range, or one that is not served.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_range(std::string_view text,
                                                                   std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  const std::size_t dash = text.find('-');
  if (!text.starts_with(kUnit) || dash == std::string_view::npos) return std::nullopt;
  const auto first = number(text.substr(kUnit.size(), dash - kUnit.size())),
             last = number(text.substr(dash + 1));
  if (!first || !last || *first > *last || *first >= size) return std::nullopt;
  return std::pair(*first, std::min(*last, size - 1));
}

Reply told(int status, std::uint64_t have, bool whole) {
  return json_reply(status, {{"have", have}, {"whole", whole}});
}

}  // namespace

Reply error_reply(int status, const std::string& text) {
  Reply reply = json_reply(status, {{"error", text}});
  reply.refusal = text;
  return reply;
}

std::string message_asked_for(std::string_view target) {
  const std::string root = std::string(kMessagesPath) + "/";
  if (!target.starts_with(root)) return {};
  const std::string_view name = target.substr(root.size(), target.find('?') - root.size());
  return is_message_name(name) ? std::string(name) : std::string();
}

Shelf::Shelf(const fs::path& folder, Admission admission, const Limits& limits)
    : folder_(folder),
      admission_(std::move(admission)),
      limits_(limits),
      spool_(existing(folder) / kSpoolFolder, limits.spool_bytes, limits.spool_s) {}

Reply Shelf::answer(const Request& request) noexcept try {
  try {
    return serve(request);
  } catch (const std::exception& e) {
    spdlog::error("serve: {}", e.what());
    return error_reply(507,
                       "the server cannot read or write its folder; its log says why. Tell who runs it.");
  }
} catch (...) {  // no memory for the words
  Reply nothing;
  nothing.status = 500;
  return nothing;
}

Reply Shelf::serve(const Request& request) {
  std::string_view path = request.target;
  std::string_view query;
  if (const std::size_t mark = path.find('?'); mark != std::string_view::npos) {
    query = path.substr(mark + 1);
    path = path.substr(0, mark);
  }
  const std::string_view root = kMessagesPath;
  if (!path.starts_with(root) || (path.size() > root.size() && path[root.size()] != '/'))
    return error_reply(404, "there is nothing here; muffle's messages are at " + std::string(root) + ".");
  path.remove_prefix(root.size());
  if (request.method == "GET" && path.empty()) return list();
  const std::string name(path.substr(std::min<std::size_t>(path.size(), 1)));
  if (!is_message_name(name)) return error_reply(400, "that is no name of a message.");
  if (request.method == "GET") return get(name, request.range);
  if (request.method != "PUT") return error_reply(405, "only GET and PUT are served.");
  const auto message = announcement(name, query);
  if (!message) return error_reply(400, "a part needs ?offset=N&size=N&sha256=DIGITS.");
  return put(message->first, message->second, request.body);
}

Reply Shelf::list() const {
  const WatchedStep step("listing", folder_);
  std::vector<std::pair<std::string, std::uint64_t>> files;
  std::error_code error;
  for (auto i = fs::directory_iterator(folder_, error); !error && i != fs::directory_iterator();
       i.increment(error)) {
    std::string name = i->path().filename().string();
    std::error_code gone;
    if (!is_message_name(name) || !i->is_regular_file(gone) || gone) continue;
    const auto size = i->file_size(gone);
    if (!gone) files.emplace_back(std::move(name), size);
  }
  if (error) throw IoError(fmt::format("cannot list '{}': {}.", folder_.string(), error.message()));
  if (files.size() > kMostListed)
    throw IoError("too many files in '" + folder_.string() + "': keep a round a folder.");
  std::ranges::sort(files);
  json messages = json::array();
  for (const auto& [name, size] : files) messages.push_back({{"name", name}, {"size", size}});
  return json_reply(200, {{"messages", std::move(messages)}});
}

Reply Shelf::get(const std::string& name, const std::optional<std::string>& range) const {
  const fs::path path = folder_ / name;
  if (!is_there(path, "the message", "Nothing was read.")) return error_reply(404, "no such message.");
  InputFile file(path, "a message", "Check the folder.");
  std::uint64_t first = 0, bytes = file.size();
  Reply reply;
  if (range && file.size() > 0) {
    const auto part = parse_range(*range, file.size());
    if (!part) {
      reply = error_reply(416, "such a range is not served.");
      reply.content_range = fmt::format("bytes */{}", file.size());
      return reply;
    }
    first = part->first;
    bytes = std::min(part->second - first + 1, limits_.part_bytes);
    reply.status = 206;
    reply.content_range = fmt::format("bytes {}-{}/{}", first, first + bytes - 1, file.size());
  } else if (bytes > limits_.part_bytes) {
    return error_reply(400, fmt::format("ask for it in ranges of {} bytes.", limits_.part_bytes));
  }
  reply.json = false;
  reply.body.resize(bytes);
  file.skip(first);
  std::size_t read = 0;
  while (read < bytes) {
    const std::size_t more = file.read(std::as_writable_bytes(std::span(reply.body)).subspan(read));
    if (more == 0) throw IoError("'" + path.string() + "' became shorter while it was read.");
    read += more;
  }
  return reply;
}

Shelf::There Shelf::there(const Incoming& message) {
  const fs::path path = folder_ / message.name;
  if (!is_there(path, "the message", "Nothing was written.")) return There::kNothing;
  if (InputFile(path, "a message", "Check the folder.").size() != message.size) return There::kOther;
  std::string& digest = digests_[{message.name, message.size}];
  if (digest.empty()) digest = sha256_file_hex(PublicFile(path));
  return digest == to_hex(message.sha256) ? There::kSame : There::kOther;
}

Reply Shelf::put(const Incoming& message, std::uint64_t offset, std::string_view part) {
  const auto other = [&] {
    return error_reply(409, "another message of this name is there already; it stays.");
  };
  const There what = there(message);
  if (what == There::kSame) return told(200, message.size, true);
  if (what == There::kOther) return other();
  if (offset > message.size || part.size() > message.size - offset || (part.empty() && message.size > 0))
    return error_reply(400, "the part does not fit into the message that was announced.");
  if (offset == 0) {
    if (part.size() < std::min<std::uint64_t>(message.size, std::uint64_t{64} << 10))
      return error_reply(400, "a first part has 64 KiB or more, unless the message is shorter.");
    if (const auto refusal = admission_({message.name, part, message.size, message.sha256}))
      return error_reply(refusal->status, refusal->reason);
    if (!spool_.reserve(message))
      return error_reply(503, "too many messages are on their way; try again later.");
  } else if (spool_.have(message) < offset) {
    return told(202, spool_.have(message), false);  // the sender goes on from there
  }
  const std::uint64_t have = spool_.add(message, offset, part);
  if (have < message.size) return told(202, have, false);
  switch (spool_.finish(message, folder_ / message.name)) {
    case Spool::End::kOtherBytes:
      return error_reply(422, "the bytes that came are not those that were announced; send them again.");
    case Spool::End::kNameTaken:
      return there(message) == There::kSame ? told(200, message.size, true) : other();
    case Spool::End::kPlaced:
      break;
  }
  spdlog::info("serve: '{}', {} bytes, is here", message.name, message.size);
  return told(201, message.size, true);
}

}  // namespace muffle::http
