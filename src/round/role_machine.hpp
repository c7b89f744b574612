#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "awaiting_next.hpp"
#include "muffle/round/role.hpp"

namespace muffle::round {

/// A role's act as its states: a std::variant of which the first one is made from the act, and the last is
/// Through. A state has a kName for people, wants() and receive(act, message). The latter returns a Next, the
/// `state` that follows; none: it stays. (AwaitingNext, which all roles have, knows no Next.) It either
/// answers or throws: what it has put into the act's `out` does not get anywhere if it throws. What the
/// states share is the act, with its `report`.
template <class Act, class State>
class RoleMachine final : public Role {
 public:
  template <class... Arguments>
  explicit RoleMachine(Arguments&&... arguments)
      : act_(std::forward<Arguments>(arguments)...), state_(std::in_place_index<0>, act_) {}

  std::vector<Wanted> wants() const override {
    return std::visit([](const auto& state) { return state.wants(); }, state_);
  }

  Letters receive(Received&& message) override {
    const std::vector<Wanted> wanted = wants();
    if (std::ranges::find(wanted, message.name, &Wanted::name) == wanted.end()) return {};
    try {
      std::optional<State> next = std::visit(
          [&]<class S>(S& state) -> std::optional<State> {
            if constexpr (std::is_same_v<S, Through>) {
              return std::nullopt;
            } else if constexpr (std::is_same_v<S, AwaitingNext>) {
              return state.receive(act_, std::move(message));
            } else {
              return state.receive(act_, std::move(message)).state;
            }
          },
          state_);
      if (next) become(std::move(*next));
    } catch (...) {
      state_.template emplace<Through>();
      throw;
    }
    return std::exchange(act_.out, {});
  }

  const StepReport& report() const override { return act_.report; }
  std::string_view state() const override {
    return std::visit([](const auto& state) { return std::decay_t<decltype(state)>::kName; }, state_);
  }

 private:
  void become(State&& next) {
    std::visit([this]<class S>(S&& state) { state_.template emplace<S>(std::move(state)); }, std::move(next));
  }

  Act act_;
  State state_;
};

}  // namespace muffle::round
