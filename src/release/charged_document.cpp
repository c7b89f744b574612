#include "muffle/release/charged_document.hpp"

#include <spdlog/spdlog.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"

namespace muffle::release {

ChargedDocument::ChargedDocument(const ChargeBook& book, const Heartbeat& heartbeat)
    : ledger_(privacy::Ledger::open(book.ledger, book.data_id, book.budget, book.lock_deadline, heartbeat)) {
  if (ledger_.created())
    spdlog::warn(
        "new ledger created at {}, nothing spent yet: if data set '{}' has a ledger already, stop, and name "
        "that one (privacy.ledger)",
        printable(book.ledger.string()), book.data_id);
}

bool ChargedDocument::settle(const privacy::ChargeTerms& terms,
                             const std::optional<privacy::FoundArtifact>& found) {
  return ledger_.settle(terms, found);
}

void ChargedDocument::begin(const privacy::ChargeTerms& terms,
                            const std::function<void(const Charge&)>& draw) {
  require(state_ == State::kOpen && charge_.empty(),
          "noise was to be drawn twice for one document: this is a bug in muffle.");
  terms_ = terms;
  charge_ = ledger_.begin(terms_);
  state_ = State::kDrawn;  // whatever comes of it: a failed draw is not tried again
  draw(Charge(charge_, terms_.run, ledger_.state().data_id));
}

void ChargedDocument::resume(const privacy::ChargeRecord& charge) {
  require(state_ == State::kOpen && charge_.empty(),
          "a charge was to go on beside another one: this is a bug in muffle.");
  charge_ = charge.id;
  terms_ = charge.terms;
}

void ChargedDocument::keep_round(std::uint64_t round, const std::string& kept, const std::string& summed) {
  ledger_.keep_round(charge_, round, kept, summed);
}

void ChargedDocument::begin_round(std::uint64_t round, const std::string& summed,
                                  const std::function<void(const Charge&)>& draw) {
  require(state_ == State::kOpen, "a round was to be drawn twice: this is a bug in muffle.");
  ledger_.begin_round(charge_, round, summed);
  state_ = State::kDrawn;
  draw(Charge(charge_, terms_.run, ledger_.state().data_id));
}

std::string ChargedDocument::write(const std::filesystem::path& file, std::string_view bytes) {
  require(state_ == State::kDrawn, "a document was to be written without a charge: this is a bug in muffle.");
  state_ = State::kWritten;
  hash_ = to_hex(sha256(PublicBytes(bytes)));
  // Before the file has its name: a file that is found there later is adopted by this hash alone.
  ledger_.bind(charge_, hash_);
  write_file_atomically(file, bytes);
  return hash_;
}

void ChargedDocument::commit() {
  require(state_ == State::kWritten,
          "a document was to be committed that was not written: this is a bug in muffle.");
  ledger_.commit(charge_, hash_);
  state_ = State::kCommitted;
}

void ChargedDocument::note_release(const std::string& charge, const std::string& release_sha256) {
  ledger_.note_release(charge, release_sha256);
}

}  // namespace muffle::release
