#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muffle/round/consortium_folder.hpp"

namespace muffle::round {

/// How far a round is, as the files in its exchange tell it: who has answered, what is waited for, what was
/// kept aside. No value of a vector is in it, nor anything computed from one. Public.
struct RoundStatus {
  struct Party {
    std::string name;
    bool answered = false;
    std::string state;  ///< "contributed", "declined (budget)", "nothing here yet"
  };
  std::string id;  ///< 16 digits
  std::string title;
  std::uint64_t contribute_until = 0, open_until = 0, now = 0;  ///< seconds since 1970
  std::uint64_t stand_in_until = 0;                             ///< 0 where no key holder may be missing
  int least = 0;
  std::uint64_t number = 1, rounds = 1;  ///< which of the release's rounds
  std::vector<Party> sites, holders;
  bool sealed = false, released = false, abandoned = false;
  std::string stage;  ///< what the round waits for, one sentence
  std::vector<SetAside> set_aside;
};

/// Reads and verifies what is there. @param now  seconds since 1970. @throws IoError.
RoundStatus read_status(Exchange& exchange, const release::ProposedRound& round, std::uint64_t now);

std::string status_text(const RoundStatus& status);
/// One page that needs nothing else: no script, no picture, no other file; light and dark, narrow and wide.
/// @param aside  of no round
std::string status_html(const std::vector<RoundStatus>& rounds, const std::vector<SetAside>& aside);

}  // namespace muffle::round
