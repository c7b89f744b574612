#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "muffle/core/hash.hpp"

namespace muffle::http {

/// A message that is on its way: what its sender says that it will be.
struct Incoming {
  std::string name;
  std::uint64_t size = 0;
  Sha256Digest sha256{};
};

/// Messages that are not whole yet, in a folder that no reader of the exchange looks into. What it knows lies
/// in the files' names and lengths: a server that is started again goes on. Public bytes.
class Spool {
 public:
  /// @param folder  made if need be  @param most_bytes  of all messages, as their senders announce them
  /// @param keep_s  an older file is erased  @throws IoError, as the others.
  Spool(std::filesystem::path folder, std::uint64_t most_bytes, double keep_s);

  /// How many of its bytes are here.
  std::uint64_t have(const Incoming& message) const;
  /// Makes room for a message: erases what is too old, and other bytes of this name.
  /// @returns whether there is any.
  bool reserve(const Incoming& message);
  /// Adds a part, as far as it follows what is here. @returns how many bytes are here then.
  std::uint64_t add(const Incoming& message, std::uint64_t offset, std::string_view part);
  /// Once all bytes are here: puts the message into its place, unless something is there.
  enum class End { kPlaced, kNameTaken, kOtherBytes };
  /// kOtherBytes: they are not those that were announced, and are erased.
  End finish(const Incoming& message, const std::filesystem::path& place);
  void erase(const Incoming& message) const;

 private:
  std::filesystem::path file_of(const Incoming& message) const;

  std::filesystem::path folder_;
  std::uint64_t most_bytes_;
  double keep_s_;
};

}  // namespace muffle::http
