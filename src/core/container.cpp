#include "muffle/core/container.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "muffle/core/container_view.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/json_text.hpp"

namespace muffle {
namespace {

constexpr std::string_view kMagic = "MUFFLE\r\n";
constexpr std::uint32_t kContainerVersion = 1;
constexpr std::size_t kDigestSize = 32;

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

template <class T>
T take(std::string_view& in) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<unsigned char>(in[i])) << (8 * i);
  in.remove_prefix(sizeof(T));
  return value;
}

/// A container that is not as it should be.
ProtocolError not_intact(std::string_view format, const std::string& name, const std::string& what) {
  return ProtocolError(fmt::format(
      "'{}' is not an intact {} file: {}. Copy it again from where it was made{}", name, format, what,
      format == "muffle-release" ? "; a release must not be drawn again to replace it."
                                 : ", or make it again."));
}

/// The length of the header, whose beginning and own length are taken off.
std::size_t take_header_size(std::string_view& bytes, std::string_view format, const std::string& name) {
  if (bytes.substr(0, kMagic.size()) != kMagic)
    throw not_intact(format, name, "its first bytes are not muffle's");
  bytes.remove_prefix(kMagic.size());
  if (const auto v = take<std::uint32_t>(bytes); v != kContainerVersion)
    throw not_intact(format, name,
                     fmt::format("its container version is {}, this muffle reads {}", v, kContainerVersion));
  const std::size_t header_size = take<std::uint32_t>(bytes);
  if (header_size > bytes.size() || bytes.size() - header_size < sizeof(std::uint64_t))
    throw not_intact(format, name, "it is truncated");
  return header_size;
}

nlohmann::json checked_header(std::string_view text, std::string_view format, int version,
                              const std::string& name) {
  nlohmann::json header = parse_json(text);
  if (!header.is_object() || !header.contains("format") || !header["format"].is_string() ||
      !header.contains("version") || !header["version"].is_number_integer())
    throw not_intact(format, name, "its header is not readable");
  // One spelling for one content: with a name twice, say, two readers could read two things.
  if (header.dump() != text) throw not_intact(format, name, "its header is not spelt as muffle spells it");
  const auto theirs = header["format"].get<std::string>();
  if (theirs != format) throw not_intact(format, name, "it is a '" + theirs + "' file");
  if (header["version"].get<std::int64_t>() != version)
    throw ProtocolError(fmt::format(
        "'{}' is a {} file of version {}; this muffle reads version {} alone. Use the muffle that wrote it{}",
        name, format, header["version"].dump(), version,
        format == "muffle-release" ? "; a new release in its place would be charged to the ledger anew."
                                   : ", or make it again."));
  return header;
}

constexpr std::size_t kBeforeHeader = kMagic.size() + 2 * sizeof(std::uint32_t);

}  // namespace

std::string serialize(const Container& container) { return serialize(container.header, container.payload); }

std::string serialize(const nlohmann::json& fields, std::span<const std::byte> payload) {
  const std::string header = fields.dump();
  std::string out;
  out.reserve(kBeforeHeader + header.size() + sizeof(std::uint64_t) + payload.size() + kDigestSize);
  out += kMagic;
  put<std::uint32_t>(out, kContainerVersion);
  put<std::uint32_t>(out, static_cast<std::uint32_t>(header.size()));
  out += header;
  put<std::uint64_t>(out, payload.size());
  out.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  const Sha256Digest digest = sha256(PublicBytes(out));
  out.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  return out;
}

Container parse_container(std::string_view bytes, std::string_view format, int version,
                          const std::string& name) {
  ContainerView view = view_container(bytes, format, version, name);
  const auto payload = std::as_bytes(std::span(view.payload));
  return {std::move(view.header), {payload.begin(), payload.end()}};
}

ContainerView view_container(std::string_view bytes, std::string_view format, int version,
                             const std::string& name) {
  const auto bad = [&](const std::string& what) { return not_intact(format, name, what); };
  const std::string_view whole = bytes;
  if (bytes.size() < kBeforeHeader + sizeof(std::uint64_t) + kDigestSize)
    throw bad("it has only " + std::to_string(bytes.size()) + " bytes");
  const std::size_t header_size = take_header_size(bytes, format, name);
  if (bytes.size() - header_size < sizeof(std::uint64_t) + kDigestSize) throw bad("it is truncated");
  const std::string_view header = bytes.substr(0, header_size);
  bytes.remove_prefix(header_size);
  const auto payload_size = take<std::uint64_t>(bytes);
  if (bytes.size() < kDigestSize || payload_size != bytes.size() - kDigestSize)
    throw bad("its length does not agree with what it declares (truncated, or bytes added)");
  const Sha256Digest digest = sha256(PublicBytes(whole.substr(0, whole.size() - kDigestSize)));
  if (std::memcmp(digest.data(), whole.data() + whole.size() - kDigestSize, kDigestSize) != 0)
    throw bad("its checksum does not match its content (a flipped byte, or an edit)");
  return {checked_header(header, format, version, name), bytes.substr(0, payload_size)};
}

ContainerStart parse_container_start(std::string_view beginning, std::string_view format, int version,
                                     const std::string& name) {
  if (beginning.size() < kBeforeHeader + sizeof(std::uint64_t))
    throw not_intact(format, name, "it has only " + std::to_string(beginning.size()) + " bytes");
  const std::size_t header_size = take_header_size(beginning, format, name);
  ContainerStart out{checked_header(beginning.substr(0, header_size), format, version, name), 0, 0};
  beginning.remove_prefix(header_size);
  out.payload = take<std::uint64_t>(beginning);
  if (out.payload > std::uint64_t{1} << 62)
    throw not_intact(format, name, "it declares more bytes than there can be");
  out.size = kBeforeHeader + header_size + sizeof(std::uint64_t) + out.payload + kDigestSize;
  return out;
}

std::string container_format(std::string_view bytes) {
  if (bytes.size() < kMagic.size() + 8 || bytes.substr(0, kMagic.size()) != kMagic) return {};
  bytes.remove_prefix(kMagic.size() + sizeof(std::uint32_t));
  const std::size_t header_size = take<std::uint32_t>(bytes);
  const auto header = parse_json(bytes.substr(0, header_size));
  if (!header.is_object() || !header.contains("format") || !header["format"].is_string()) return {};
  return header["format"].get<std::string>();
}

}  // namespace muffle
