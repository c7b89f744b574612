#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/error.hpp"

namespace muffle::round {

// Messages in, messages out. A role of a round between institutions is made of the proposal and of its
// party's own books. It says which messages it wants to see, is given them, and answers with those to send.
// It knows of no exchange, socket or folder of messages; whoever drives it (round/step.hpp) does.

/// What an act came to, and what is to be said of it. Public.
struct StepReport {
  std::vector<std::string> done;   ///< this time
  std::vector<std::string> waits;  ///< for whom or what; empty: the party has no more to do in the round
  std::vector<std::string> aside;  ///< "NAME: why", of files that count for nothing
  bool lost = false;               ///< the round makes no release any more, or not with this party
};

/// What a role wants to see.
struct Wanted {
  std::string name;        ///< of a message; empty: the names of all that is there, sorted
  std::uint64_t most = 0;  ///< bytes that the message may have
};

/// What there is of it.
struct Received {
  std::string name;                        ///< as it was wanted
  std::optional<std::string> bytes{};      ///< none: there is no such message
  std::vector<std::string> names{};        ///< where names were wanted
  std::optional<ProtocolError> refused{};  ///< what lies there is larger than such a message may be
};

/// A message to send.
struct Letter {
  std::string name;
  std::string bytes;
};
using Letters = std::vector<Letter>;

/// A role in one act: from the messages that are there now to those that follow from them. What it answers
/// with is bound to its party's ledger or journal, and kept, before it is returned: if it never gets to where
/// it should, the next act answers with it again. Not thread-safe.
class Role {
 public:
  virtual ~Role() = default;
  /// What it needs next, in the order that suits it best. Empty: the act has ended. It is to be looked for
  /// from now on, not before: a role asks again for what may have come meanwhile, such as an abandonment.
  virtual std::vector<Wanted> wants() const = 0;
  /// One of these, whichever; what is not wanted, or not any more, changes nothing.
  /// @returns what is to be sent now, before anything else is received
  /// @throws as the act does (round/step.hpp); it has ended then.
  virtual Letters receive(Received&& message) = 0;
  /// So far.
  virtual const StepReport& report() const = 0;
  /// Its state, for people.
  virtual std::string_view state() const = 0;
};

}  // namespace muffle::round
