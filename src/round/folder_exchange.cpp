// Messages as files of one folder: a share, what SFTP or a synchronising program keeps, a USB stick.
#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/round/exchange.hpp"

namespace muffle::round {
namespace {

namespace fs = std::filesystem;

class FolderExchange final : public Exchange {
 public:
  explicit FolderExchange(fs::path folder) : folder_(std::move(folder)) {
    const WatchedStep step("opening the folder", folder_);
    std::error_code error;
    if (!fs::is_directory(folder_, error))
      throw IoError(fmt::format("there is no folder '{}' to leave messages in{}: make it, or mount it.",
                                folder_.string(), error ? ": " + error.message() : ""));
  }

  void put(const std::string& name, std::string_view bytes) override {
    const fs::path path = place_of(name);
    if (!fits(name, bytes)) {
      NewFile file(path);
      file.write(std::as_bytes(std::span(bytes)));
      if (!file.commit_if_new() && !fits(name, bytes)) throw IoError(gone(path));
    }
  }

  std::vector<std::string> list() override {
    const WatchedStep step("listing", folder_);
    std::vector<std::string> names;
    std::error_code error;
    for (auto i = fs::directory_iterator(folder_, error); !error && i != fs::directory_iterator();
         i.increment(error)) {
      std::string name = i->path().filename().string();
      if (is_message_name(name)) names.push_back(std::move(name));
    }
    if (error) throw IoError(fmt::format("cannot list '{}': {}.", folder_.string(), error.message()));
    std::ranges::sort(names);
    return names;
  }

  std::optional<std::string> get(const std::string& name, std::uint64_t most) override {
    const fs::path path = place_of(name);
    if (!is_there(path, "the message", "Nothing was read.")) return std::nullopt;
    InputFile file(path, "a message", "Check the folder and your permissions.");
    if (file.size() > most)
      throw ProtocolError(fmt::format("'{}' has {} bytes, and such a message has {} at most.", path.string(),
                                      file.size(), most));
    std::string bytes(file.size(), '\0');
    std::size_t read = 0;
    while (read < bytes.size()) {
      const std::size_t more = file.read(std::as_writable_bytes(std::span(bytes)).subspan(read));
      if (more == 0) break;  // somebody is still copying it, or has cut it off: its reader sees that
      read += more;
    }
    bytes.resize(read);
    return bytes;
  }

 private:
  fs::path place_of(const std::string& name) const {
    require(is_message_name(name), "a message was to have no name of a message: this is a bug in muffle.");
    return folder_ / name;
  }
  static std::string gone(const fs::path& path) {
    return fmt::format("'{}' came and went while it was written: does somebody clear the folder?",
                       path.string());
  }
  /// Whether these bytes lie there. @throws ProtocolError  others do.
  bool fits(const std::string& name, std::string_view bytes) {
    const fs::path path = place_of(name);
    if (!is_there(path, "the message", "Nothing was written.")) return false;
    if (InputFile(path, "a message", "Check the folder.").size() == bytes.size() &&
        get(name, bytes.size()) == bytes)
      return true;
    throw ProtocolError(
        fmt::format("'{}' is there already, and is another message. It was left as it is: a party sends one "
                    "message of each kind in a round. Find out who wrote it.",
                    path.string()));
  }

  fs::path folder_;
};

}  // namespace

const ExchangeKind& folder_exchange_kind() {
  static const ExchangeKind kind{
      "folder", /*is_far=*/false,
      [](std::string_view address) { return address.find("://") == std::string_view::npos; },
      [](const std::string& address, const http::ClientSettings&) -> std::unique_ptr<Exchange> {
        return std::make_unique<FolderExchange>(address);
      }};
  return kind;
}

}  // namespace muffle::round
