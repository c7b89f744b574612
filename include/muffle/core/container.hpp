#pragma once

#include <cstddef>
#include <filesystem>
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

/// Parses and verifies the bytes of a container whose header says `format`.
/// `name` is what error messages call it. Allocates no more than the input's size.
/// @throws ProtocolError  no container, another format or version, truncated, trailing bytes, bad checksum.
Container parse_container(std::string_view bytes, std::string_view format, int version,
                          const std::string& name);

/// The "format" that the header names; empty if the bytes are no container with a readable header. Checks
/// nothing else: parse_container() does, once it is known which reader wants the bytes.
std::string container_format(std::string_view bytes);

/// Atomic write (core/files.hpp). @returns the SHA-256 of the whole file in hex.
std::string write_container(const std::filesystem::path& path, const Container& container);

}  // namespace muffle
