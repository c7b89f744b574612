#pragma once

#include <exception>
#include <filesystem>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/crypto/pair_keys.hpp"

namespace muffle::round {

/// A site's note that its records could not be summed for a round, by what its files hold: a file that its
/// format does not allow, say. That no contribution comes is seen by all, and which files fail can depend on
/// the proposal, so that a coordinator could ask one such question after another, free of charge. While the
/// note is there, the site sums its records for that very round alone; when that succeeds it goes, or a
/// person takes it away. So each such answer takes a person's act.
class RefusedRecords {
 public:
  /// @param party  its folder, where the note is a file of text
  RefusedRecords(const std::filesystem::path& party, const crypto::RoundId& round);

  /// @throws DataError  there is a note of another round. No record was read.
  void require_none() const;
  /// Calls `sum`. What it throws is noted, if it comes of what the files hold; a note goes if it succeeds.
  template <class Sum>
  auto note_failure_of(const Sum& sum) const {
    try {
      auto own = sum();
      clear();
      return own;
    } catch (const Error& e) {
      if (e.code() == ExitCode::kData || e.code() == ExitCode::kInvariant) note();
      throw;
    }
  }

 private:
  void note() const;
  void clear() const;

  std::filesystem::path file_;
  crypto::RoundId round_;
};

}  // namespace muffle::round
