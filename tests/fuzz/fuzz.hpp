#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "support/container_around.hpp"

// Every target is one LLVMFuzzerTestOneInput: libFuzzer drives it in the preset `fuzz`, replay_main.cpp over
// the corpus in every other. A target lets the errors pass that its reader's contract names, and no other; a
// property that does not hold ends the process.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace muffle::fuzz {

inline void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

/// An input taken apart from the front.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  /// 0 at the end.
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  /// A piece whose length the next two bytes (little-endian) tell, or less at the end.
  std::string_view piece() {
    const std::size_t low = byte(), length = low | std::size_t{byte()} << 8;
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(out.size());
    return out;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// The file that an input stands for: 'R' and the file itself; or 'H', a piece that is the header, in
/// whatever spelling, and the payload, in a container whose checksum is right and whose header is spelt as it
/// must be.
inline std::string container_file(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  if (input.byte() == 'R') return std::string(input.rest());
  const std::string_view header = input.piece();
  const auto parsed = nlohmann::json::parse(
      header, [](int depth, auto, auto&) { return depth < 100; }, /*allow_exceptions=*/false);
  return test::container_around(parsed.is_discarded() ? std::string(header) : parsed.dump(), input.rest());
}

/// A file in memory, for readers that want a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("muffle-fuzz", MFD_CLOEXEC)) {
    demand(fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
           "a file in memory can be written");
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace muffle::fuzz
