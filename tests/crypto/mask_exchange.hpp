#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/crypto/masks.hpp"

// Exchanges of keys between parties that are variables of one test, and what somebody between them may do.
namespace muffle::test {

/// What party r contributes: anything of 64 bits, so that sums wrap; odd parties of "half empty" rounds are
/// shards without a record.
inline std::vector<std::uint64_t> contribution(int party, std::size_t n, bool half_empty = false) {
  std::vector<std::uint64_t> values(n, 0);
  if (half_empty && party % 2 == 1) return values;
  const CounterStream stream(static_cast<std::uint64_t>(party) + 1, Stream::kTest);
  for (std::size_t i = 0; i < n; ++i) values[i] = stream.bits(i);
  return values;
}

inline void add_to(std::vector<std::uint64_t>& sum, const std::vector<std::uint64_t>& values) {
  sum.resize(values.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

inline std::string roster_line(int party, const crypto::SiteKey& key) {
  return std::to_string(party) + " " + key.name() + " " + crypto::to_hex(key.public_key()) + "\n";
}

/// A key for each party, and the roster of all.
inline std::vector<crypto::SiteIdentity> make_sites(int parties) {
  std::vector<crypto::SiteKey> keys;
  std::string lines;
  for (int r = 0; r < parties; ++r) {
    keys.push_back(crypto::SiteKey::generate("site" + std::to_string(r)));
    lines += roster_line(r, keys.back());
  }
  std::vector<crypto::SiteIdentity> sites;
  for (crypto::SiteKey& key : keys)
    sites.push_back({std::move(key), crypto::SiteRoster::parse(lines, "roster")});
  return sites;
}

/// One exchange between all parties.
struct MaskExchange {
  explicit MaskExchange(int parties, std::size_t length = 3, bool is_signed = false) {
    if (is_signed) sites = make_sites(parties);
    for (int r = 0; r < parties; ++r) specs.push_back({r, parties, length, {7}, nullptr});
    for (int r = 0; r < parties && is_signed; ++r) specs[index(r)].identity = &sites[index(r)];
  }
  static std::size_t index(int party) { return static_cast<std::size_t>(party); }

  std::vector<crypto::SiteIdentity> sites;
  std::vector<crypto::MaskSpec> specs;
  /// What party `to` hears when everybody's hellos or signatures were sent.
  std::function<void(int to, std::vector<std::string>&)> hellos_heard, signatures_heard;
  /// What is sent.
  std::function<void(std::vector<std::string>&)> hellos_sent, signatures_sent;

  std::vector<crypto::Masks> run() const {
    std::vector<crypto::KeyExchange> sides;
    std::vector<std::string> hellos, signatures;
    for (const crypto::MaskSpec& spec : specs) hellos.push_back(sides.emplace_back(spec).hello());
    if (hellos_sent) hellos_sent(hellos);
    for (int r = 0; r < static_cast<int>(specs.size()); ++r) {
      std::vector<std::string> heard = hellos;
      if (hellos_heard) hellos_heard(r, heard);
      signatures.push_back(sides[index(r)].sign(std::move(heard)));
    }
    if (signatures_sent) signatures_sent(signatures);
    std::vector<crypto::Masks> masks;
    for (int r = 0; r < static_cast<int>(specs.size()); ++r) {
      std::vector<std::string> heard = signatures;
      if (signatures_heard) signatures_heard(r, heard);
      masks.push_back(std::move(sides[index(r)]).finish(heard));
    }
    return masks;
  }
};

/// What each party sends.
template <class Input>
std::vector<std::vector<std::uint64_t>> masked_vectors(int parties, std::size_t length, const Input& input) {
  std::vector<std::vector<std::uint64_t>> sent;
  for (crypto::Masks& masks : MaskExchange(parties, length).run()) {
    sent.push_back(input(static_cast<int>(sent.size())));
    std::move(masks).apply(sent.back());
  }
  return sent;
}

}  // namespace muffle::test
