#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "coordinator_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round::coordinator {

/// Whether others stand in for all who are missing.
Next Hearing::receive(Act& act, Received&& received) {
  const release::Proposal& p = act.round.proposal;
  const bool taken =
      act.hear(at, asked.name, std::move(received), "it is another key holder's.",
               [&](const release::Message& message) { sealed->sum.take_stand_in(request, message.header); });
  if (!taken && std::ranges::count(missing, at) == 0) silent.push_back(p.holders[at].holder.name);
  if (++at < p.holders.size()) {
    asked = act.wanted_stand_in(at);
    return {};
  }
  const std::vector<std::string> names = act.names_of(missing);
  const std::vector<release::OpenedBy> opened = sealed->sum.opened();
  const bool all = std::ranges::all_of(missing, [&](std::size_t h) { return !opened[h].stand_ins.empty(); });
  for (const std::size_t h : sealed->sum.wrong_stand_ins())
    act.report.aside.push_back(
        fmt::format("{}: it has shares that do not make the keys which sites have committed to. Others were "
                    "enough; find out why",
                    release::stand_in_name(act.round.id, p.holders[h].holder.key)));
  if (all) {
    act.report.done.push_back(fmt::format("others stood in for {}", fmt::join(names, ", ")));
  } else {
    act.await(fmt::format("stand-ins for {} of {}", fmt::join(names, ", "), fmt::join(silent, ", ")),
              p.stand_in_until);
  }
  return add_up(act, std::move(sealed), all);
}

}  // namespace muffle::round::coordinator
