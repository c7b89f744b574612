// Whose messages a server lets in, so that strangers cannot fill its disk. Who said what is checked by the
// readers.
#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/message_name.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/http/server.hpp"
#include "muffle/release/sealed_round.hpp"

namespace muffle::http {
namespace {

namespace fs = std::filesystem;
using crypto::SitePublicKey;
using release::MessageKind;
using release::SignedHeader;

/// The most bytes of a message beside its numbers, and of a proposal, which holds a release plan.
constexpr std::uint64_t kBeside = std::uint64_t{64} << 10, kProposal = std::uint64_t{4} << 20;

/// What the folder's messages say. Each file is read once: none is ever replaced.
class Folder {
 public:
  explicit Folder(fs::path folder) : folder_(std::move(folder)) {}

  std::optional<Refusal> refusal(const std::string& name, std::string_view beginning, std::uint64_t size) {
    SignedHeader header;
    try {
      header = release::parse_message_start(beginning, size, name);
    } catch (const ProtocolError& e) {
      return Refusal{400, e.what()};
    }
    look();
    if (header.kind == MessageKind::kProposal) {
      if (!proposers_.contains(header.sender))
        return Refusal{
            403,
            "no proposal of this sender's is here yet: the first one is put into the folder by who "
            "runs the server."};
      return within(size, kProposal);
    }
    const auto round = rounds_.find(header.round);
    if (round == rounds_.end()) return Refusal{403, "it is of a round whose proposal is not here."};
    if (!round->second.parties.contains(header.sender))
      return Refusal{403, "its sender is neither site nor key holder nor coordinator of its round."};
    if (seen_.contains({header.kind, header.round, header.sender}))
      return Refusal{403,
                     "its sender has put a message of this kind and round here already, under another name."};
    if (header.numbers != 0 && header.numbers != round->second.length)
      return Refusal{
          413, fmt::format("it has {} numbers, and its round has {}.", header.numbers, round->second.length)};
    // A seal holds a header for each contribution.
    return within(size, 8 * header.numbers + kBeside + (header.kind == MessageKind::kSeal ? kProposal : 0));
  }

 private:
  struct Round {
    std::set<SitePublicKey> parties;
    std::uint64_t length = 0;
  };

  static std::optional<Refusal> within(std::uint64_t size, std::uint64_t most) {
    if (size <= most) return std::nullopt;
    return Refusal{413, fmt::format("it has {} bytes, and such a message has {} at most.", size, most)};
  }

  /// Reads what has come since.
  void look() {
    const WatchedStep step("listing", folder_);
    std::error_code error;
    for (auto i = fs::directory_iterator(folder_, error); !error && i != fs::directory_iterator();
         i.increment(error)) {
      const std::string name = i->path().filename().string();
      std::error_code gone;
      if (!is_message_name(name) || !i->is_regular_file(gone) || gone) continue;
      const auto size = i->file_size(gone);
      if (gone || !read_.insert({name, size}).second) continue;
      note(i->path(), size);
    }
    if (error) throw IoError(fmt::format("cannot list '{}': {}.", folder_.string(), error.message()));
  }

  void note(const fs::path& path, std::uint64_t size) {
    std::string beginning(std::min(size, kProposal), '\0');
    InputFile file(path, "a message", "Check the folder.");
    std::size_t read = 0;
    while (read < beginning.size()) {
      const std::size_t more = file.read(std::as_writable_bytes(std::span(beginning)).subspan(read));
      if (more == 0) break;
      read += more;
    }
    try {
      const SignedHeader header = release::parse_message_start(beginning, size, path.filename().string());
      if (header.kind != MessageKind::kProposal) {
        seen_.insert({header.kind, header.round, header.sender});
        return;
      }
      const release::ProposedRound round(release::parse_message(beginning, path.filename().string()),
                                         path.filename().string());
      Round& known = rounds_[round.id];
      known.length = round.length;
      known.parties.insert(header.sender);
      for (const auto& site : round.proposal.sites) known.parties.insert(site.key);
      for (const auto& holder : round.proposal.holders) known.parties.insert(holder.holder.key);
      proposers_.insert(header.sender);
    } catch (const Error&) {  // some other file, or one that its readers will refuse
    }
  }

  fs::path folder_;
  std::set<std::pair<std::string, std::uint64_t>> read_;
  std::map<crypto::RoundId, Round> rounds_;
  std::set<SitePublicKey> proposers_;
  std::set<std::tuple<MessageKind, crypto::RoundId, SitePublicKey>> seen_;
};

}  // namespace

Admission known_senders(const fs::path& folder) {
  return [known = std::make_shared<Folder>(folder)](const std::string& name, std::string_view beginning,
                                                    std::uint64_t size) {
    return known->refusal(name, beginning, size);
  };
}

}  // namespace muffle::http
