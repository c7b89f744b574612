#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace muffle {

/// Writes a whole file so that it is complete or absent: temporary name in the same folder, fsync, rename,
/// fsync of the folder. An existing file is replaced. @throws IoError naming the path and the system's
/// reason.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Reads a whole file. @throws IoError if it is missing, unreadable or larger than max_bytes.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes = std::size_t{1} << 32);

/// Whether the file is there. What cannot be told is an error: it must not be taken for absent.
/// @param what  the file's name in the message, @param consequence  the message's end. @throws IoError.
bool is_there(const std::filesystem::path& file, const std::string& what, const std::string& consequence);

/// Creates the folder and its parents and proves that a file can be written in it. @throws IoError.
void ensure_writable_folder(const std::filesystem::path& folder);

/// Finds out whether a file of so many bytes could be written into the folder now, by making one and removing
/// it. @throws IoError  the disk is full or a quota used up.
void require_room(const std::filesystem::path& folder, std::size_t bytes);

}  // namespace muffle
