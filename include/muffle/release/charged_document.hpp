#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "muffle/privacy/ledger.hpp"

namespace muffle::release {

/// Proof that a charge is on the disk: whoever draws noise that protects records must be shown one.
class Charge {
 public:
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  /// Its id in the ledger.
  const std::string& id() const { return id_; }
  /// What it is for: privacy::ChargeTerms::run, of a round between institutions charged_as().
  const std::string& run() const { return run_; }
  /// The name that the owner of the records has given them, of whose ledger it is. Public.
  const std::string& data_id() const { return data_id_; }

 private:
  friend class ChargedDocument;
  friend struct TestAccess;  // defined in test builds only
  Charge(std::string id, std::string run, std::string data_id)
      : id_(std::move(id)), run_(std::move(run)), data_id_(std::move(data_id)) {}

  std::string id_, run_, data_id_;
};

/// The book that a document is charged to.
struct ChargeBook {
  std::filesystem::path ledger;
  std::string data_id;
  std::optional<privacy::Budget> budget;      ///< none: no limit but the one that the ledger has already
  std::chrono::milliseconds lock_deadline{};  ///< how long to wait for other releases of the data set
};

/// A document that noise is drawn for, once: a release, or a contribution to a round between institutions.
///   settle()  is there a document already, that a charge is bound to? then it is committed
///   begin()   INTENT on the disk, and only then the noise
///   write()   PENDING {hash} on the disk, and only then the document
///   commit()  COMMIT
/// The process may end at any point. A document without a PENDING of its hash is never committed, and nothing
/// is drawn twice for one charge. It holds the ledger's lock for as long as it lives. Not thread-safe.
class ChargedDocument {
 public:
  /// Opens (or creates) the ledger and locks it; says so if it had to be made. As privacy::Ledger::open.
  ChargedDocument(const ChargeBook& book, const Heartbeat& heartbeat = {});

  const privacy::LedgerState& state() const { return ledger_.state(); }

  /// As privacy::Ledger::settle(). @returns whether `found` is this document, and committed now.
  bool settle(const privacy::ChargeTerms& terms, const std::optional<privacy::FoundArtifact>& found);
  /// Charges, then calls `draw`, once: never before the charge is on the disk. A draw that fails leaves the
  /// charge spent. @throws PrivacyError, IoError  nothing was drawn. @throws InvariantError  a second
  /// begin().
  void begin(const privacy::ChargeTerms& terms, const std::function<void(const Charge&)>& draw);

  // Of a release of several rounds (ReleaseTransaction): an earlier charge goes on.
  void resume(const privacy::ChargeRecord& charge);
  void keep_round(std::uint64_t round, const std::string& kept, const std::string& summed);
  void begin_round(std::uint64_t round, const std::string& summed,
                   const std::function<void(const Charge&)>& draw);

  /// Binds these bytes to the charge, then writes them. @returns their SHA-256, in hex.
  /// @throws IoError  nothing may be handed out. @throws InvariantError  no charge is open.
  std::string write(const std::filesystem::path& file, std::string_view bytes);
  void commit();
  /// As privacy::Ledger::note_release(), of any charge.
  void note_release(const std::string& charge, const std::string& release_sha256);

  /// Id and terms of the open or finished charge; empty before begin().
  const std::string& charge() const { return charge_; }
  const privacy::ChargeTerms& terms() const { return terms_; }

 private:
  enum class State { kOpen, kDrawn, kWritten, kCommitted };

  privacy::Ledger ledger_;
  State state_ = State::kOpen;
  privacy::ChargeTerms terms_;
  std::string charge_, hash_;
};

}  // namespace muffle::release
