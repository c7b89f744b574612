// How a round ends, as all of its parties see it: with its release or, before the last, with its sum.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muffle/release/artifact.hpp"
#include "role_parts.hpp"

namespace muffle::round {

/// What of a round's end is there, looked at as it comes. What lies there and is not the coordinator's word
/// on this round is as if it were not there; what the coordinator has signed ends the round, whatever it is.
class RoundEnd {
 public:
  /// @param seal  id() of the round's
  RoundEnd(const ProposedRound& round, const Sha256Digest& seal);
  /// Empty: all is known.
  std::vector<Wanted> wants() const;
  void receive(Received&& received);

  /// The sum's header or, of the last round, the coordinator's statement, whose release is there; none: not
  /// yet.
  const std::optional<release::SignedHeader>& statement() const { return statement_; }
  /// Of the last round, without a problem; once.
  release::Artifact take_artifact() { return std::move(artifact_).value(); }
  /// Bytes of the release; of a round before the last empty.
  const std::string& release() const { return release_; }
  /// Why what the coordinator has signed is no end of this round, or none that this muffle can read. Empty:
  /// it is one, or there is none.
  const std::string& problem() const { return problem_; }
  /// Version of the muffle that made the release, by the coordinator's statement; empty: it says none.
  const std::string& muffle_version() const { return muffle_version_; }
  /// "NAME: why" of what lies there and counts for nothing; empty: nothing.
  const std::string& aside() const { return aside_; }

 private:
  /// @throws ProtocolError  it is not the coordinator's word on this round.
  void take_word(Received&& received);
  /// @throws ProtocolError  it is not the file that the coordinator has signed.
  void take_release(Received&& received);

  const ProposedRound* round_;
  Sha256Digest seal_;
  std::optional<Wanted> next_;
  std::optional<release::SignedHeader> stated_, statement_;
  std::optional<release::Artifact> artifact_;
  std::string release_, problem_, muffle_version_, aside_;
};

}  // namespace muffle::round
