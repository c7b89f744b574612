#pragma once

#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace muffle::job {

/// @throws InvariantError  that a round's role, which is in this state, was to take this step.
[[noreturn]] void refuse_step(std::string_view state, std::string_view step);

/// What a role of a round remembers: one of its states, each a struct with a kName for people ("keys
/// agreed"), and nothing of the others. It begins in the first. A step that is not the state's throws
/// InvariantError and changes nothing; one that fails leaves the role failed, with all that it held wiped.
template <class... States>
class RoleState {
 public:
  struct Failed {
    static constexpr std::string_view kName = "failed";
  };

  std::string_view name() const {
    return std::visit([](const auto& state) { return std::decay_t<decltype(state)>::kName; }, state_);
  }
  /// Whether it is in one of these.
  template <class... S>
  bool is() const {
    return (std::holds_alternative<S>(state_) || ...);
  }
  /// Null: it is in another one.
  template <class S>
  const S* get_if() const {
    return std::get_if<S>(&state_);
  }
  template <class S>
  S& in(std::string_view step) {
    if (S* const state = std::get_if<S>(&state_)) return *state;
    refuse(step);
  }
  /// Leaves the role failed, until the step has made its next state.
  template <class S>
  S take(std::string_view step) {
    S taken = std::move(in<S>(step));
    state_.template emplace<Failed>();
    return taken;
  }
  template <class S>
  S& become(S next) {
    return state_.template emplace<S>(std::move(next));
  }
  [[noreturn]] void refuse(std::string_view step) const { refuse_step(name(), step); }

 private:
  std::variant<States..., Failed> state_;
};

}  // namespace muffle::job
