#pragma once

#include <string>

#include "muffle/release/verification.hpp"

namespace muffle::release {

/// A release and what it is judged by, as files. Nothing private is read.
struct ReleaseFiles {
  std::string release;  ///< its signature is RELEASE.sig
  std::string key;      ///< public key file: demand its signature; empty: any or none
  std::string ledger;   ///< empty: ledger-<data set>.jsonl beside the release or its folder, if there
};

/// @throws ConfigError  the key file; IoError.
Verification verify_file(const ReleaseFiles& files);

/// @throws ProtocolError  a check fails; PrivacyError  all of it is right, but promises nothing (seeded
/// noise, an overspent budget).
void require_passed(const Verification& verification);

}  // namespace muffle::release
