#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "byte_stream.hpp"
#include "muffle/core/heartbeat.hpp"

namespace muffle::data {

/// A member of a zip archive, stored or deflated. Believes no size that the file could not hold; whoever
/// reads it whole, and one byte more, has it checked against the archive's checksum.
struct ZipMember {
  std::unique_ptr<ByteReader> bytes;  ///< null: there is no such member
  std::uint64_t size = 0;             ///< decompressed, as the archive declares
};

/// @param name  what messages call the member  @throws IoError;  DataError: damaged, or another compression.
ZipMember open_zip_member(const std::filesystem::path& archive, const std::string& member,
                          const std::string& name);

/// The name of an archive's member, where it has one and no other; empty: it has more, or none.
std::string only_zip_member(const std::filesystem::path& archive);

/// A member to be, and the file that has its content.
struct ZipContent {
  std::string member;
  std::filesystem::path file;
};

/// Puts files together in a new archive, uncompressed; equal contents make equal archives.
/// @param called     what messages call the archive
/// @param heartbeat  called as the work gets on; what it throws ends it. @throws IoError.
void write_zip(const std::filesystem::path& archive, std::span<const ZipContent> contents,
               const std::filesystem::path& called, const Heartbeat& heartbeat);

}  // namespace muffle::data
