#pragma once

#include <string>
#include <vector>

#include "role_parts.hpp"

namespace muffle::round {

/// What there is of a site's contribution to a round, wherever it lies, against what its ledger is bound to.
class OwnTraces final : public Role {
 public:
  /// @param round, job  outlive this object
  OwnTraces(const ProposedRound& round, const ContributorJob& job);

  std::vector<Wanted> wants() const override { return seen_.missing(); }
  Letters receive(Received&& message) override;
  const StepReport& report() const override { return report_; }
  std::string_view state() const override { return "looking for its own"; }

  /// Once all was received: whether all of it is the ledger's. @throws IoError, ProtocolError  the ledger
  /// cannot be read.
  bool are_known() const;

 private:
  void note_message(const std::string& bytes);
  void note_seal(Received&& received);

  const ProposedRound& round_;
  const ContributorJob& job_;
  const crypto::SitePublicKey own_;
  const std::string name_;
  Gathered seen_;
  std::vector<std::string> made_;    ///< SHA-256 of what bears this site's signature
  std::vector<std::string> sealed_;  ///< charges of what a seal counts of it
  StepReport report_;
};

}  // namespace muffle::round
