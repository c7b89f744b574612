#pragma once

#include <torch/torch.h>

#include <memory>
#include <sstream>
#include <string>
#include <type_traits>

namespace muffle::train {

/// The optimizer's key of a parameter: its address, as text in LibTorch 1.x.
template <class Map>
auto key_of_parameter(const torch::Tensor& parameter) {
  using Key = typename Map::key_type;
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  } else {
    return Key(parameter.unsafeGetTensorImpl());
  }
}

/// Adam's moments of one parameter; made on demand, as the first step would.
inline torch::optim::AdamParamState& adam_state(torch::optim::Adam& optimizer,
                                                const torch::Tensor& parameter) {
  auto& states = optimizer.state();
  const auto key = key_of_parameter<std::remove_reference_t<decltype(states)>>(parameter);
  auto& state = states[key];
  if (!state) {
    auto fresh = std::make_unique<torch::optim::AdamParamState>();
    const torch::Tensor zeros = torch::zeros_like(parameter, torch::MemoryFormat::Preserve).detach();
    fresh->step(0).exp_avg(zeros).exp_avg_sq(zeros.clone());
    state = std::move(fresh);
  }
  return static_cast<torch::optim::AdamParamState&>(*state);
}

}  // namespace muffle::train
