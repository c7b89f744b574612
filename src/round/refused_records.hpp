#pragma once

#include <exception>
#include <filesystem>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/crypto/pair_keys.hpp"

namespace muffle::round {

/// A site's note that its records are summed for a round, and that this has not succeeded. What files hold
/// can end it: one that its format does not allow, or that a library fails on. That no contribution comes is
/// seen by all, and which files fail can depend on the proposal, so that a coordinator could ask one such
/// question after another, free of charge. While the note is there, the site sums its records for that very
/// round alone; when that succeeds it goes, or a person takes it away. So each such answer takes a person's
/// act.
class RefusedRecords {
 public:
  /// @param party  its folder, where the note is a file of text
  RefusedRecords(const std::filesystem::path& party, const crypto::RoundId& round);

  /// @throws DataError  there is a note of another round. No record was read.
  void require_none() const;
  /// Notes the round and calls `sum`; the note goes if it succeeds, or if what ended it is nothing that
  /// records can have to do with: settings, or somebody who stopped it. Whatever else ends it, a kill
  /// included, leaves the note.
  template <class Sum>
  auto noted(const Sum& sum) const {
    const bool there_was_one = note();
    try {
      auto own = sum();
      clear();
      return own;
    } catch (const Error& e) {
      if (!there_was_one && (e.code() == ExitCode::kConfig || e.code() == ExitCode::kStopped)) clear();
      throw;
    }
  }

 private:
  /// @returns whether there was one.
  bool note() const;
  void clear() const;

  std::filesystem::path file_;
  crypto::RoundId round_;
};

}  // namespace muffle::round
