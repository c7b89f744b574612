#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muffle::crypto {

/// Text that is wiped when it goes. Reserve its room first: what growing leaves behind is not wiped.
struct SecretText {
  std::string text;
  SecretText() = default;
  SecretText(const SecretText&) = delete;
  SecretText& operator=(const SecretText&) = delete;
  ~SecretText();
};

// Files that hold a secret key, and nobody but their owner may use. @param what  "the site key": for
// messages.

/// Writes the file, mode 0600, and syncs it. Never overwrites, and follows no link. @throws IoError.
void write_secret_file(const std::filesystem::path& path, std::string_view text, const std::string& what);
/// The same in place of one that is there already, which is erased first; the folder is synced, too, so that
/// no crash loses what this has returned for. @throws IoError.
void replace_secret_file(const std::filesystem::path& path, std::string_view text, const std::string& what);
/// Makes the folder, mode 0700, if it is not there, and syncs the one that holds it. @throws IoError.
void ensure_private_folder(const std::filesystem::path& folder);
/// @param most  bytes that it may have
/// @throws ConfigError  others than its owner may use the file, or it has more. @throws IoError.
void read_secret_file(const std::filesystem::path& path, const std::string& what, SecretText& into,
                      std::size_t most = std::size_t{1} << 20);
/// Overwrites the file with zeros, removes it, and syncs both; nothing if there is none. What a disk or a
/// file system keeps of a file's earlier contents (flash cells, snapshots, backups) is out of its reach.
/// @throws IoError.
void erase_secret_file(const std::filesystem::path& path, const std::string& what);

}  // namespace muffle::crypto
