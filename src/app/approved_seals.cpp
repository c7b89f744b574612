#include "approved_seals.hpp"

#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::app {

ApprovedSeals::ApprovedSeals(round::Exchange& inner, const release::ProposedRound& round, Objection objection)
    : inner_(inner), round_(round), objection_(std::move(objection)) {}

std::optional<std::string> ApprovedSeals::get(const std::string& name, std::uint64_t most) {
  std::optional<std::string> bytes = inner_.get(name, most);
  if (!bytes || name != release::seal_name(round_.id)) return bytes;
  std::optional<release::SealedRound> seal;
  try {
    seal.emplace(round_, release::parse_message(*bytes, name).header);
  } catch (const ProtocolError&) {
    return bytes;  // it is no seal of this round: whoever reads it says so, and opens nothing
  }
  waits_ = objection_(*seal);
  return waits_ ? std::nullopt : bytes;
}

}  // namespace muffle::app
