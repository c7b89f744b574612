#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/chained_file.hpp"
#include "muffle/release/messages.hpp"

namespace muffle::release {

/// What a party has bound itself to, so that it says nothing else after a crash.
struct JournalEntry {
  enum class Kind {
    kSeal,     ///< SEAL: this key holder opens this seal with this round key, and never another one
    kPending,  ///< PENDING: this message of its own is the only one of its kind that it sends in the round
    kErased,   ///< ERASED: the round key is gone
  };
  Kind kind = Kind::kSeal;
  crypto::RoundId round{};
  crypto::ExchangePoint key{};  ///< the round key; zeros where there is none
  MessageKind what = MessageKind::kSeal;
  Sha256Digest message{};  ///< id() of the seal, or of its own message; zeros in ERASED
  bool operator==(const JournalEntry&) const = default;
};

/// What a journal's lines say.
struct JournalState : Chain {
  crypto::SitePublicKey party{};
  std::vector<JournalEntry> entries;

  /// The seal that this round key is for, if it is for one.
  std::optional<Sha256Digest> seal_of(const crypto::ExchangePoint& key) const;
  /// The message of this kind that alone is sent in the round.
  std::optional<Sha256Digest> pending(const crypto::RoundId& round, MessageKind what) const;
  bool erased(const crypto::ExchangePoint& key) const;
};

/// Parses and verifies a journal's bytes: every line's own hash, the chain, and that nothing is said twice.
/// @param name  what messages call the file. @throws ProtocolError naming the line.
JournalState parse_journal(std::string_view bytes, const std::string& name);

/// The book of a key holder or a coordinator (docs/reference/ledger-format.md, "journal"), chained, locked
/// and on the disk as the privacy ledger is. Public values only. Not thread-safe.
class Journal {
 public:
  /// Locks, verifies, and mends a torn last line, for which nothing was sent; creates the journal if there is
  /// none.
  /// @throws CommError  another process holds it. @throws ProtocolError  it is damaged, or another party's.
  /// @throws IoError.
  Journal(const std::filesystem::path& file, const crypto::SitePublicKey& party,
          std::chrono::milliseconds deadline);

  /// Others may open it, until take_again(): for what takes long. The state is what it was.
  void let_go() { book_.reset(); }
  /// Locks and reads it once more; others may have added to it. @throws  as the constructor does.
  void take_again();

  const JournalState& state() const { return state_; }
  /// On the disk when this returns. @throws IoError  act upon nothing. @throws InvariantError  it contradicts
  /// an earlier entry.
  void add(const JournalEntry& entry);

 private:
  std::filesystem::path file_;
  crypto::SitePublicKey party_;
  std::chrono::milliseconds deadline_;
  std::optional<Book> book_;
  JournalState state_;
};

}  // namespace muffle::release
