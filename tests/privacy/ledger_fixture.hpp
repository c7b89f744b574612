#pragma once

#include <gtest/gtest.h>

#include <string>

#include "muffle/privacy/ledger.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::privacy {

/// A ledger in a folder of its own.
class LedgerFixture : public ::testing::Test {
 protected:
  Ledger open(const std::optional<Budget>& budget = std::nullopt, int deadline_ms = 5000) const {
    return Ledger::open(file_, "patients-2024", budget, std::chrono::milliseconds(deadline_ms));
  }
  static Ledger open_as(const std::filesystem::path& file, const std::string& id = "patients-2024") {
    return Ledger::open(file, id, std::nullopt, std::chrono::milliseconds(20));
  }
  static ChargeTerms terms(double mu, const std::string& run = "/runs/a/release.mfl") {
    return {run, std::string(64, 'c'), mu, 2.0, 2.0 / mu, true, {}};
  }
  static FoundArtifact found(const std::string& charge_id, char hash) {
    return {charge_id, std::string(64, hash)};
  }
  /// INTENT, PENDING and COMMIT of one release. @returns the charge's id.
  static std::string release(Ledger& ledger, const ChargeTerms& asked, char hash) {
    const std::string id = ledger.begin(asked);
    ledger.bind(id, std::string(64, hash));
    ledger.commit(id, std::string(64, hash));
    return id;
  }

  const test::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "ledger.jsonl";
};

}  // namespace muffle::privacy
