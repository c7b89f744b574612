// A key holder's people are the release's gate: it sees a seal once they have approved that it opens it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/release/sealed_round.hpp"
#include "muffle/round/exchange.hpp"

namespace muffle::app {

/// The exchange as a key holder's step may see it: without the round's seal until enough people have approved
/// this very one (site::opening_ruling()). Everything else passes. Nobody who reads through it can be shown
/// another seal than was judged.
class ApprovedSeals final : public round::Exchange {
 public:
  /// What people said of a seal; none: enough of them let it be opened.
  using Objection = std::function<std::optional<std::string>(const release::SealedRound& seal)>;

  /// @param inner, round  outlive this object
  ApprovedSeals(round::Exchange& inner, const release::ProposedRound& round, Objection objection);

  void put(const std::string& name, std::string_view bytes) override { inner_.put(name, bytes); }
  std::vector<std::string> list() override { return inner_.list(); }
  /// @throws as the inner one, and what `objection` throws: then nothing is seen.
  std::optional<std::string> get(const std::string& name, std::uint64_t most) override;
  /// For whom the seal waits that was asked for; none: it was not, or passed.
  const std::optional<std::string>& waits() const { return waits_; }

 private:
  round::Exchange& inner_;
  const release::ProposedRound& round_;
  Objection objection_;
  std::optional<std::string> waits_;
};

}  // namespace muffle::app
