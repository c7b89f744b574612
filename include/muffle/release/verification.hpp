#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/crypto/signature.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/release/combine.hpp"
#include "muffle/release/round_evidence.hpp"

namespace muffle::release {

struct Check;
/// None: the release has one round.
using RepeatChoices = std::function<std::optional<Check>(const Artifact&)>;

/// What a release is judged by. Everything in it is untrusted bytes, but `trusted`.
struct Evidence {
  std::string name;                          ///< what messages call the release
  std::string_view release;                  ///< its bytes
  std::optional<std::string> signature;      ///< text of its .sig file, if there is one
  std::optional<crypto::SignerKey> trusted;  ///< a signature of this key is demanded
  struct LedgerText {
    std::string name, text;
    bool named = true;  ///< by the user, who knows whose it is; false: found beside the release
  };
  std::optional<LedgerText> ledger;  ///< of its data set: an entry for this release is demanded
  bool may_be_unsigned = false;      ///< it is good enough if nobody vouches for it
  /// The messages of the round between institutions that it was made in; empty: they are not there. Then
  /// `trusted` may be any party's whose signed message is in the release.
  EvidenceReader messages{};
  std::vector<CombinedFrom> parts{};  ///< what it was combined from; empty: they are not there
  /// Feature maps with more numbers (frequencies) are not rebuilt.
  std::size_t most_frequencies = std::size_t{1} << 28;
  /// Chooses again what the rounds of a release count (pair_graph::repeat_choices, which lies above this
  /// room); empty: nobody does, and a release of several rounds is not vouched for.
  RepeatChoices repeat_choices{};
};

/// One line of a verification.
struct Check {
  enum class Outcome { kPass, kFail, kSkipped };
  std::string name;
  Outcome outcome = Outcome::kSkipped;
  std::string detail;  ///< what was compared, or what is wrong; one line, printable
};

/// The checks that a verdict mentions when they were skipped.
inline constexpr char kFeatureMaps[] = "feature maps", kRounds[] = "rounds";

/// What was found about one release. Public, as the release is.
struct Verification {
  std::string name;
  std::vector<Check> checks;
  std::optional<Artifact> artifact;                   ///< as the file states it; none: not readable
  std::optional<crypto::ReleaseSignature> signature;  ///< none: there is none, or it does not verify
  std::optional<crypto::SignerKey> trusted;           ///< the demanded key
  std::optional<privacy::LedgerState> ledger;
  /// Public keys, in hex, of those whose messages the release was added up again from; empty: it was not.
  std::vector<std::string> parties;
  bool ledger_named = false;     ///< Evidence::LedgerText::named
  bool may_be_unsigned = false;  ///< Evidence::may_be_unsigned

  /// Whether anybody stands behind what no file can prove: the demanded key's signature is there, or its
  /// holder took part in the round whose messages the release was added up from again; or the ledger that the
  /// user named has the release. One that was found beside it may be as made up as the release: anybody can
  /// write a ledger.
  bool vouched() const;
  /// Whether what later rounds count was chosen again. What was not might carry data.
  bool repeated() const;
  /// kProtocol: the file, its signature, its arithmetic or its ledger entry is wrong; kBudget: all of that is
  /// right, but it promises nothing: seeded noise, or an overspent budget; kUnvouched: it is not vouched(),
  /// and that is not good enough, or not repeated(); else kDone.
  ExitCode code() const;
};

/// Checks, from what the file states: its checksum and version, its signature, every field, the sensitivity,
/// the noise multiplier, sigma and delta by a second arithmetic (recompute.hpp), the frequencies, the source
/// of noise, and the ledger's entry. What passes is accepted by parse_artifact, too. Never throws for what
/// the bytes hold. Whether the noise was really drawn, and the sums really bounded, no file can prove: that
/// is what the signature's holder vouches for.
Verification verify_release(const Evidence& evidence);

/// A release and what it is judged by, as files. Nothing private is read.
struct ReleaseFiles {
  std::string release;   ///< its signature is RELEASE.sig
  std::string key;       ///< public key file, or a party's card: demand its signature; empty: any or none
  std::string evidence;  ///< folder of a round's messages; empty: none
  std::vector<std::string> parts{};  ///< the releases that it was combined from; empty: none
  std::string ledger;  ///< empty: ledger-<data set>.jsonl beside the release or its folder, if there
  bool may_be_unsigned = false;
  RepeatChoices repeat_choices{};  ///< Evidence::repeat_choices
};

/// @throws ConfigError  the key file; IoError.
Verification verify_file(const ReleaseFiles& files);

/// @throws Error  with code(), unless that is kDone.
void require_passed(const Verification& verification);

/// For people: every check, the verdict, and the privacy card (the privacy statement, who signed, the
/// ledger); no card if the file is refused.
std::string verification_text(const Verification& verification);
/// "format": "muffle-verification" (docs/reference/verification.md).
std::string verification_json(const Verification& verification);

}  // namespace muffle::release
