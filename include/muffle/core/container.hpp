#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace muffle {

/// muffle's one binary file format (docs/reference/artifact-format.md), used for releases (.mfl) and models:
///   8 bytes   magic "MUFFLE\r\n"
///   u32 LE    container version (1)
///   u32 LE    header length H
///   H bytes   header, UTF-8 JSON; has "format" (what the file is) and "version" (of that format)
///   u64 LE    payload length P
///   P bytes   payload
///   32 bytes  SHA-256 of all the bytes before it
struct Container {
  nlohmann::json header;
  std::vector<std::byte> payload;
};

/// The file's bytes. header must hold "format" and "version".
std::string serialize(const Container& container);

/// Parses and verifies bytes, which messages call `name`. Allocates no more than the input's size.
/// @throws ProtocolError  no container, another format or version, truncated, trailing bytes, bad checksum.
Container parse_container(std::string_view bytes, std::string_view format, int version,
                          const std::string& name);

/// What the beginning of a container says: bytes that hold all of its header, whatever follows them.
struct ContainerStart {
  nlohmann::json header;
  std::uint64_t payload = 0;  ///< bytes of its payload
  std::uint64_t size = 0;     ///< and of the whole container
};
/// Reads that much of a container, whose checksum is not looked at. @throws ProtocolError  as
/// parse_container().
ContainerStart parse_container_start(std::string_view beginning, std::string_view format, int version,
                                     const std::string& name);

/// The "format" that the header names; empty if there is no readable header. Checks nothing else.
std::string container_format(std::string_view bytes);

}  // namespace muffle
