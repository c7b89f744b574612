#include "muffle/release/combine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "artifact_header.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/crypto/signature.hpp"
#include "muffle/release/plan_json.hpp"

namespace muffle::release {
namespace {

/// Those that a release is made of: itself, or what it was combined from.
std::vector<PartRecord> parts_of(const Artifact& a, const CombinedFrom& from) {
  if (!a.parts.empty()) return a.parts;
  PartRecord part{to_hex(sha256(PublicBytes(from.release))),
                  a.config_hash,
                  a.data_id,
                  a.ledger_charge,
                  {},
                  a.records,
                  a.is_private,
                  a.round};
  if (from.signature) {
    const crypto::ReleaseSignature signature = crypto::parse_signature(*from.signature, from.name + ".sig");
    crypto::check_signature(signature, from.release, from.name);
    part.signer = to_hex(signature.key);
  }
  if (!a.round && part.signer.empty())
    throw ConfigError(
        fmt::format("'{}' is a release of one site, and nobody has signed it: nobody can tell whether that "
                    "site is in another "
                    "one as well. Sign it with the site's key (privacy.signing_key) when it is made.",
                    from.name));
  return {std::move(part)};
}

/// Keys of the sites whose records are in it.
std::vector<std::string> sites_in(const PartRecord& part) {
  if (!part.round) return {part.signer};
  std::vector<std::string> out;
  for (const RoundRecord::Site& site : part.round->sites) out.push_back(site.key);
  return out;
}

void require_different_sites(const std::vector<PartRecord>& parts) {
  std::set<std::string> files, sites, charges;
  for (const PartRecord& part : parts) {
    if (!files.insert(part.sha256).second)
      throw ConfigError("a release is to be added to itself: its people would be in the sum twice.");
    for (const std::string& site : sites_in(part)) {
      if (!sites.insert(site).second)
        throw ConfigError(fmt::format(
            "the site with public key {} is in two of these releases: its people would be in the sum twice.",
            site));
    }
    std::vector<std::string> paid{part.ledger_charge};
    if (part.round) {
      for (const RoundRecord::Site& site : part.round->sites) paid.push_back(site.charge);
    }
    for (const std::string& charge : paid) {
      if (!charge.empty() && !charges.insert(charge).second)
        throw ConfigError(
            fmt::format("charge {} paid for two of these releases: they are of the same records.", charge));
    }
  }
}

/// By its records alone a plan may differ.
void require_same_plan(const ReleasePlan& first, ReleasePlan other, const std::string& name) {
  other.records = first.records;
  if (plan_text(first) == plan_text(other)) return;
  throw ConfigError(
      fmt::format("'{}' was made by another plan than the first release ({} in place of {}): other maps, "
                  "schema, units or noise. "
                  "Numbers of different plans do not add up. The late site takes the configuration of the "
                  "first, word for word.",
                  name, plan_hash(other), plan_hash(first)));
}

}  // namespace

Artifact combine(std::span<const CombinedFrom> releases, bool same_people, const std::string& version) {
  if (releases.size() < 2) throw ConfigError("there are fewer than two releases to combine.");
  Artifact sum;
  privacy::Combined mode{{}, same_people};
  for (const CombinedFrom& from : releases) {
    const Artifact a = parse_artifact(from.release, from.name);
    for (std::size_t b = 0; b < a.maps.size(); ++b) check_map(a, b);
    if (a.rounds() > 1)
      throw ConfigError(
          fmt::format("'{}' was made in several rounds (privacy.rounds): its own noisy numbers chose what it "
                      "counts, so no other release counts the same. Make releases that are to be combined "
                      "with privacy.rounds = 1.",
                      from.name));
    if (features::minibatches_in(a.maps))
      throw ConfigError(fmt::format(
          "'{}' was made a minibatch at a time (minibatches), by its own records' places: how many records "
          "of each release a minibatch of the sum would have, nobody could tell. Make releases that are to "
          "be combined with minibatches = 0.",
          from.name));
    if (sum.parts.empty()) {
      static_cast<ReleasePlan&>(sum) = a;
      sum.map_hashes = a.map_hashes;
      sum.values.assign(a.values.size(), 0);
      sum.records = 0;
    }
    ReleasePlan first = sum;
    first.records = a.records;
    require_same_plan(first, a, from.name);
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      if (__builtin_add_overflow(sum.values[i], a.values[i], &sum.values[i]))
        throw ConfigError(
            "the sum of these releases is beyond what the lattice holds: use fewer lattice bits.");
    }
    if (__builtin_add_overflow(sum.records, a.records, &sum.records))
      throw ConfigError("these releases say that they hold more records than there can be.");
    sum.is_private = sum.is_private && a.is_private;
    for (PartRecord& part : parts_of(a, from)) sum.parts.push_back(std::move(part));
    if (const privacy::Combined* several = privacy::combined(a.aggregation)) {
      mode.parts.insert(mode.parts.end(), several->parts.begin(), several->parts.end());
      mode.same_people = mode.same_people || several->same_people;
    } else {
      mode.parts.push_back(privacy::one_of(a.aggregation));
    }
  }
  require_different_sites(sum.parts);
  sum.aggregation = std::move(mode);
  if (!promise_of(sum))
    throw ConfigError(
        "a person who is in all of these releases would have an epsilon above 100: that is no promise.");
  sum.config_hash = plan_hash(sum);
  sum.muffle_version = version;
  if (const std::vector<std::string> wrong = contradictions(sum); !wrong.empty())
    throw ConfigError(fmt::format("these releases cannot be combined: {}.", fmt::join(wrong, "; ")));
  return sum;
}

}  // namespace muffle::release
