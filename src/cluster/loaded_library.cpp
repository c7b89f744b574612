#include "loaded_library.hpp"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>

#include "muffle/core/watchdog.hpp"

namespace muffle::cluster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShown = 6;  ///< bytes of a build ID

std::size_t padded(std::size_t n) { return (n + 3) & ~std::size_t{3}; }

/// Of the notes of one segment, in hexadecimal digits; empty: none of them is a build ID.
std::string build_id(std::span<const std::byte> notes) {
  ElfW(Nhdr) head;
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    notes = notes.subspan(sizeof head);
    const std::size_t name = padded(head.n_namesz), content = padded(head.n_descsz);
    if (notes.size() < name || notes.size() - name < content) break;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && std::memcmp(notes.data(), "GNU", 4) == 0) {
      std::string digits;
      for (const std::byte b : notes.subspan(name, std::min<std::size_t>(head.n_descsz, kShown)))
        digits += fmt::format("{:02x}", std::to_integer<unsigned>(b));
      return digits;
    }
    notes = notes.subspan(name + content);
  }
  return "";
}

struct Search {
  const std::string& name;
  std::string found;
};

int look_at(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const fs::path path = info->dlpi_name;
  if (!path.filename().string().starts_with(search.name)) return 0;
  const WatchedStep step("looking at", path);
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  std::string id;
  for (int i = 0; i < info->dlpi_phnum && id.empty(); ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_NOTE)
      id = build_id({reinterpret_cast<const std::byte*>(info->dlpi_addr + part.p_vaddr), part.p_memsz});
  }
  if (id.empty()) {
    const auto bytes = fs::file_size(path, error);
    id = error ? "of unknown build" : fmt::format("of {} bytes", bytes);
  }
  search.found = fmt::format("{} {}", (file.empty() ? path : file).filename().string(), id);
  return 1;
}

}  // namespace

std::string loaded_library(const std::string& name) {
  Search search{name, ""};
  ::dl_iterate_phdr(look_at, &search);
  return search.found;
}

}  // namespace muffle::cluster
