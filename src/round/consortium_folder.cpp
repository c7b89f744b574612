#include "muffle/round/consortium_folder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round {
namespace {

using release::Consortium;
using release::Message;

/// A file's name goes with what it holds, so that no message counts twice.
void require_name(const std::string& name, const std::string& right) {
  if (name != right) throw ProtocolError(fmt::format("it would be called '{}'.", right));
}

/// Runs `take`; what it refuses is set aside.
template <class Take>
void or_aside(std::vector<SetAside>& aside, const std::string& name, const Take& take) {
  try {
    take();
  } catch (const ProtocolError& error) {
    aside.push_back({name, error.what()});
  } catch (const ConfigError& error) {  // parties or noise that the theorem does not cover
    aside.push_back({name, error.what()});
  }
}

}  // namespace

std::optional<Message> read_message(Exchange& exchange, const std::string& name, std::uint64_t most) {
  const std::optional<std::string> bytes = exchange.get(name, most);
  if (!bytes) return std::nullopt;
  return release::parse_message(*bytes, name);
}

const Consortium* Membership::newest(const crypto::SitePublicKey& coordinator) const {
  const Consortium* newest = nullptr;
  for (const Consortium& charter : charters) {
    if (charter.coordinator == coordinator &&
        (newest == nullptr || charter.charter.version > newest->charter.version))
      newest = &charter;
  }
  return newest;
}

Membership read_membership(Exchange& exchange) {
  Membership out;
  std::vector<std::pair<std::string, release::SignedHeader>> countersignatures;
  std::vector<std::pair<std::string, Consortium>> charters;
  for (const std::string& name : exchange.list()) {
    if (!name.starts_with("card-") && !name.starts_with("charter-") && !name.starts_with("round-keys-"))
      continue;
    or_aside(out.set_aside, name, [&] {
      const std::optional<Message> message = read_message(exchange, name);
      if (!message) return;
      const release::SignedHeader& header = message->header;
      if (header.kind == release::MessageKind::kCountersignature) {
        countersignatures.emplace_back(name, header);
      } else if (name.starts_with("card-")) {
        (void)release::read_card(header, name);
        require_name(name, release::card_name(header.sender));
        out.cards.push_back(header);
      } else if (name.starts_with("round-keys-")) {
        require_name(name,
                     release::round_keys_name(header.sender, release::read_round_keys(header, name).first));
        out.round_keys.push_back(header);
      } else {
        Consortium charter(header, name);
        require_name(name, release::charter_name(charter.charter.version));
        charters.emplace_back(name, std::move(charter));
      }
    });
  }
  std::ranges::sort(charters, {}, [](const auto& c) { return c.second.charter.version; });
  for (auto& charter : charters) {
    or_aside(out.set_aside, charter.first, [&] {
      const std::uint64_t version = charter.second.charter.version;
      const auto before =
          std::ranges::find(out.charters, version - 1, [](const Consortium& c) { return c.charter.version; });
      if (before != out.charters.end()) charter.second.require_follows(*before);
      out.charters.push_back(std::move(charter.second));
    });
  }
  for (const auto& entry : countersignatures) {
    or_aside(out.set_aside, entry.first, [&] {
      const auto charter = std::ranges::find(out.charters, entry.second.answers, &Consortium::id);
      if (charter == out.charters.end())
        throw ProtocolError("the charter that it countersigns is not there.");
      (void)release::check_countersignature(*charter, entry.second);
      require_name(entry.first,
                   release::countersignature_name(charter->charter.version, entry.second.sender));
      out.countersignatures.push_back(entry.second);
    });
  }
  return out;
}

Proposals read_proposals(Exchange& exchange) {
  Proposals out;
  for (const std::string& name : exchange.list()) {
    if (!release::is_proposal_name(name)) continue;
    or_aside(out.set_aside, name, [&] {
      const std::optional<Message> message = read_message(exchange, name);
      if (!message) return;
      release::ProposedRound round(*message, name);
      require_name(name, release::proposal_name(round.id));
      out.rounds.push_back({name, std::move(round)});
    });
  }
  return out;
}

release::ProposedRound find_round(Exchange& exchange, const std::string& digits) {
  constexpr std::size_t kLeastDigits = 4;
  const bool hex = digits.size() <= 64 && is_hex(digits, digits.size());
  if (!digits.empty() && (!hex || digits.size() < kLeastDigits))
    throw UsageError(
        fmt::format("'{}' names no round: give {} or more of the hexadecimal digits that `muffle "
                    "round status` shows.",
                    printable(digits), kLeastDigits));
  Proposals all = read_proposals(exchange);
  const std::string wanted = digits.substr(0, 16);
  std::vector<release::ProposedRound> found;
  std::vector<std::string> ids;
  for (Proposals::Entry& entry : all.rounds) {
    const std::string id = to_hex(entry.round.id);
    ids.push_back(id.substr(0, 16));
    if (id.starts_with(digits)) found.push_back(std::move(entry.round));
  }
  if (found.size() == 1) return std::move(found.front());
  for (const SetAside& aside : all.set_aside) {
    if (!wanted.empty() && aside.name.starts_with(wanted))
      throw ProtocolError(fmt::format("'{}' is no proposal that muffle can use: {}", aside.name, aside.why));
  }
  if (ids.empty()) {
    std::string others;
    for (const SetAside& aside : all.set_aside)
      others += fmt::format(" '{}' was set aside: {}", aside.name, aside.why);
    if (!others.empty())
      throw ProtocolError("there is no proposal in the exchange that muffle can use." + others);
    throw UsageError("there is no proposal in the exchange yet.");
  }
  throw UsageError(
      fmt::format("{}: {}. Say which round is meant by the first digits of its id.",
                  found.empty() ? "none of the rounds begins like that" : "there are several rounds",
                  fmt::join(ids, ", ")));
}

}  // namespace muffle::round
