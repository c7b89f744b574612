#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/draft.hpp"

namespace muffle::round {
namespace {

std::string epsilon_text(double mu, double delta) {
  const std::optional<double> epsilon = privacy::epsilon_to_tell(mu, delta);
  return epsilon ? rounded_up_text(*epsilon, 3) : "beyond 100";
}

std::string names_of(const std::vector<crypto::SignerKey>& list) {
  std::vector<std::string> names;
  for (const crypto::SignerKey& who : list) names.push_back(who.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string noise_in_words(const release::Proposal& p) {
  const privacy::SiteNoisePlan noise(p.plan.noise, p.parties);
  const double mu = privacy::mu_of(p.plan.noise), delta = p.plan.noise.delta;
  const auto planned = static_cast<double>(p.plan.noise.parts.at(0).runs.at(0).sigma_lattice);
  std::string out = fmt::format(
      "whoever pools what {} of the sealed sites and {} of the key holders know: epsilon {} at "
      "delta {}\n",
      p.parties.colluding, p.parties.colluding_holders, epsilon_text(mu, delta), delta);
  for (int u = p.parties.least; u <= p.parties.sites; ++u) {
    const double total = noise.total_sigma(u, p.parties.holders, 0, 0) / planned;
    const std::uint64_t top_up = noise.top_ups(u).at(0).runs.at(0).sigma_lattice;
    out += fmt::format("noise if {} contribute: {:.3f} sigma{}\n", u, total,
                       top_up > 0 ? " (key holders top it up)" : "");
  }
  out += fmt::format("a site that everybody else betrays, and the cryptography: epsilon {} at delta {}\n",
                     epsilon_text(std::nextafter(mu / noise.alone(), HUGE_VAL), delta), delta);
  return out;
}

std::string date_in_words(std::uint64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string proposal_in_words(const release::ProposedRound& round) {
  const release::Proposal& p = round.proposal;
  const release::ReleasePlan& plan = p.plan;
  std::string out = fmt::format("round {}\ntitle: {}\n", to_hex(round.id).substr(0, 16), printable(p.title));
  if (plan.rounds() > 1)
    out +=
        p.later
            ? fmt::format(
                  "round {} of {} of the release that round {} has begun: nothing more is charged for it\n",
                  p.number(), plan.rounds(), release::short_id(round.first()))
            : fmt::format(
                  "round 1 of {}: one charge pays for all, and what a later one counts follows from the "
                  "noisy sums before it. Whoever contributes is asked once more in each\n",
                  plan.rounds());
  std::vector<std::string> maps, holders;
  for (const features::NamedMap& map : round.summed.maps)
    maps.push_back(fmt::format("{} ({})", map.name, map.map->kind()));
  out += fmt::format("released: {} numbers, of the maps {}{}\n", round.length, fmt::join(maps, ", "),
                     round.summed.counts ? ", and class counts" : "");
  for (const features::NamedMap& map : round.summed.maps) {
    if (const features::Asset* const asset = std::as_const(*map.map).asset())
      out += fmt::format("network: the map {} is made by a public one, SHA-256 {}, {} bytes, licence {}\n",
                         map.name, asset->digest, asset->bytes, asset->license);
  }
  if (plan.schema.table) {
    std::vector<std::string> columns;
    for (const schema::Column& c : plan.schema.table->columns) {
      if (!c.is_unread() && c.role != schema::ColumnRole::kPerson) columns.push_back(printable(c.name));
    }
    out += fmt::format("columns: {}\nschema: {}\n", fmt::join(columns, ", "),
                       schema::table_hash(schema::as_described(*plan.schema.table)));
    if (const auto person = plan.schema.table->counted_person())
      out += fmt::format("people: of '{}', how many have 1, 2, .. {} rows; whose a row is is not released\n",
                         printable(plan.schema.table->columns[*person].name),
                         plan.schema.table->columns[*person].rows);
    if (const auto target = plan.schema.table->target())
      out += fmt::format("label: '{}', counted like any other column\n",
                         printable(plan.schema.table->columns[*target].name));
  } else {
    out += fmt::format("records: {} numbers each, {} classes\n", plan.schema.dims(), plan.schema.classes);
    if (const auto& names = plan.schema.class_names; !names.empty())
      out += printable(fmt::format("classes: {}", fmt::join(names, ", "))) + "\n";
  }
  out += fmt::format("protected: {}\n", privacy::in_words(privacy::unit_of(plan.noise)));
  out +=
      "a record that does not fit the schema decides nothing: the nearest bound or the missing value takes "
      "the place of what does not fit, or the record counts as nothing\n";
  out += noise_in_words(p);
  for (const release::HolderKey& h : p.holders)
    holders.push_back(fmt::format("{} (key {})", h.holder.name, h.number));
  out += fmt::format("sites: {} are invited: {}; {} are expected; fewer than {} make no release\n",
                     p.sites.size(), names_of(p.sites), p.parties.expected, p.parties.least);
  const auto f = static_cast<std::size_t>(p.parties.missing_holders);
  out += f == 0
             ? fmt::format("key holders: all {} must open: {}\n", p.holders.size(), fmt::join(holders, ", "))
             : fmt::format("key holders: {} of {} must open, and stand in for the others: {}\n",
                           p.holders.size() - f, p.holders.size(), fmt::join(holders, ", "));
  out += fmt::format("contributions until {}; openings until {}", date_in_words(p.contribute_until),
                     date_in_words(p.open_until));
  out += f == 0 ? "\n" : fmt::format("; stand-ins until {}\n", date_in_words(p.stand_in_until));
  return out;
}

}  // namespace muffle::round
