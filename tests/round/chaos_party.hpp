#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/pair_keys.hpp"
#include "muffle/crypto/site_keys.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/round/exchange.hpp"
#include "round/step_process.hpp"

namespace muffle::round {

/// A party whose acts are processes of their own (step_driver.cpp), with a disk of its own: its folder, its
/// copy of the exchange, keys that no backup holds, a backup of the rest, and a mark for every draw of noise.
class Party {
 public:
  Party(std::string role, const crypto::SiteKey& key, std::filesystem::path world)
      : role_(std::move(role)), world_(std::move(world)) {
    for (const char* part : {"party", "draws", "exchange", "backup"})
      std::filesystem::create_directories(world_ / part);
    key.save(world_ / "party.key");
    exchange_ = make_exchange((world_ / "exchange").string());
  }

  const std::string& role() const { return role_; }
  const std::filesystem::path& world() const { return world_; }
  std::filesystem::path folder() const { return world_ / "party"; }
  std::filesystem::path ledger() const { return folder() / "ledger.mfl"; }
  Exchange& exchange() const { return *exchange_; }
  bool restored() const { return restored_; }
  /// What its last act has said.
  std::string said() const { return read_file(world_ / "said"); }

  std::filesystem::path round_key(std::uint64_t number) const {
    return world_ / ("round-" + std::to_string(number) + ".key");
  }
  bool keeps_shares() const {
    return std::ranges::any_of(std::filesystem::directory_iterator(world_), [](const auto& entry) {
      return entry.path().filename().string().starts_with("shares-");
    });
  }

  /// An act. @param fault  MUFFLE_KILL_POINT; empty: none @returns its exit code, or minus the signal
  int act(std::uint64_t now, const std::string& fault) const { return act(role_, now, fault); }
  /// Of step_driver.cpp's roles.
  int act(const std::string& role, std::uint64_t now, const std::string& fault) const {
    constexpr unsigned kPatience_s = 30;  // whoever hangs ends by SIGALRM
    std::map<std::string, std::string> environment;
    if (role_ == "site")
      environment["MUFFLE_MARK_DRAWS"] = (world_ / "draws").string() + ":" + ledger().string();
    if (!fault.empty()) environment["MUFFLE_KILL_POINT"] = fault;
    return step_process(role, world_, now, environment, kPatience_s);
  }

  /// Of its books and of what it sent; no keys.
  void backup() const {
    std::filesystem::remove_all(world_ / "backup");
    std::filesystem::copy(folder(), world_ / "backup", std::filesystem::copy_options::recursive);
  }
  /// Its disk is put back to that. @param anybody_saw  what it has sent in a round of this number: a draw
  /// that nobody has seen anything of is as if it had never been
  void restore(const std::function<bool(std::size_t number)>& anybody_saw) {
    std::filesystem::remove_all(folder());
    std::filesystem::copy(world_ / "backup", folder(), std::filesystem::copy_options::recursive);
    for (const auto& entry : std::filesystem::directory_iterator(world_)) {
      if (is_secret_of_a_round(entry.path())) std::filesystem::remove(entry.path());
    }
    for (const auto& entry : std::filesystem::directory_iterator(world_ / "draws")) {
      if (!anybody_saw(round_of(draw_in(entry)))) std::filesystem::remove(entry.path());
    }
    restored_ = true;
  }

  /// One draw a charge and round, and none that its ledger does not count.
  void expect_one_draw_a_round() const {
    std::multiset<std::string> drawn;
    for (const auto& entry : std::filesystem::directory_iterator(world_ / "draws"))
      drawn.insert(draw_in(entry));
    for (const std::string& draw : drawn) ASSERT_EQ(drawn.count(draw), 1u) << world_ << ": charge " << draw;
    if (drawn.empty() || restored_) return;
    const privacy::LedgerState state = privacy::read_ledger(ledger());
    ASSERT_EQ(state.charges.size(), 1u) << "one for all rounds";
    for (const std::string& draw : drawn) {
      ASSERT_EQ(draw.substr(0, kIdDigits), state.charges[0].id) << "an under-count";
      ASSERT_LE(round_of(draw), state.charges[0].rounds_drawn) << "an under-count";
    }
  }
  /// Whether it has drawn for the round of this number.
  bool has_drawn(std::size_t number) const {
    for (const auto& entry : std::filesystem::directory_iterator(world_ / "draws")) {
      if (round_of(draw_in(entry)) == number) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kIdDigits = 32;

  static bool is_secret_of_a_round(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return name.starts_with("round-") || name.starts_with("shares-");
  }
  /// The charge; of a later round with its number behind it: "CHARGE-2".
  static std::string draw_in(const std::filesystem::directory_entry& mark) {
    const std::string name = mark.path().filename().string();
    return name.substr(0, name.find('.'));
  }
  static std::size_t round_of(const std::string& draw) {
    return draw.size() > kIdDigits ? std::stoul(draw.substr(kIdDigits + 1)) : 1;
  }

  std::string role_;
  std::filesystem::path world_;
  std::unique_ptr<Exchange> exchange_;
  bool restored_ = false;
};

}  // namespace muffle::round
