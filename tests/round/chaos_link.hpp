#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/round/exchange.hpp"

namespace muffle::round {

/// A network that is not as it should be.
class Link final : public Exchange {
 public:
  enum class Fault { kNone, kCut, kLoses, kDoubles, kHides };
  Link(Exchange& inner, Fault fault, std::mt19937_64& random)
      : inner_(inner), fault_(fault), random_(random), left_(random() % 8) {}

  static Fault any(std::mt19937_64& random) { return static_cast<Fault>(random() % 5); }
  static Fault any_that_hides_nothing(std::mt19937_64& random) {
    constexpr Fault kHideNothing[] = {Fault::kNone, Fault::kLoses, Fault::kDoubles};
    return kHideNothing[random() % 3];
  }

  void put(const std::string& name, std::string_view bytes) override {
    step();
    if (fault_ == Fault::kLoses && random_() % 2 == 0) return;  // as if it had arrived
    inner_.put(name, bytes);
    if (fault_ == Fault::kDoubles) inner_.put(name, bytes);
  }
  std::vector<std::string> list() override {
    std::vector<std::string> names = inner_.list();
    if (fault_ == Fault::kHides) std::erase_if(names, [&](const auto&) { return random_() % 2 == 0; });
    return names;
  }
  std::optional<std::string> get(const std::string& name, std::uint64_t most) override {
    step();
    return inner_.get(name, most);
  }

 private:
  void step() {
    if (fault_ == Fault::kCut && left_-- == 0) throw CommError("the link was cut.");
  }
  Exchange& inner_;
  const Fault fault_;
  std::mt19937_64& random_;
  std::uint64_t left_;
};

}  // namespace muffle::round
