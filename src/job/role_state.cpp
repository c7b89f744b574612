#include "muffle/job/role_state.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"

namespace muffle::job {

void refuse_step(std::string_view state, std::string_view step) {
  throw InvariantError(
      fmt::format("a round that is {} was to {}: nothing was sent. Either this is a bug in muffle, or "
                  "somebody between the parties changes messages.",
                  state, step));
}

}  // namespace muffle::job
