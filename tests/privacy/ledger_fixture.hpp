#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "muffle/privacy/ledger.hpp"

namespace muffle::privacy {

/// A folder of its own for each test, gone afterwards.
class LedgerFixture : public ::testing::Test {
 protected:
  LedgerFixture() {
    std::string name = (std::filesystem::temp_directory_path() / "muffle-ledger.XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    file_ = folder_ / "ledger.jsonl";
  }
  ~LedgerFixture() override { std::filesystem::remove_all(folder_); }

  Ledger open(const std::optional<Budget>& budget = std::nullopt, int deadline_ms = 5000) const {
    return Ledger::open(file_, "patients-2024", budget, std::chrono::milliseconds(deadline_ms));
  }
  static ChargeTerms terms(double mu, const std::string& run = "/runs/a/release.mfl") {
    return {run, std::string(64, 'c'), mu, 2.0, 2.0 / mu, true, {}};
  }
  static FoundArtifact found(const std::string& charge_id, char hash, const ChargeTerms& stated) {
    return {charge_id, std::string(64, hash), stated};
  }
  /// INTENT, PENDING and COMMIT of one release. @returns the charge's id.
  static std::string release(Ledger& ledger, const ChargeTerms& asked, char hash) {
    const std::string id = ledger.begin(asked);
    ledger.bind(id, std::string(64, hash));
    ledger.commit(id, std::string(64, hash));
    return id;
  }

  std::filesystem::path folder_, file_;
};

}  // namespace muffle::privacy
