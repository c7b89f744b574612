#pragma once

#include <memory>
#include <utility>

namespace muffle {

/// Owns one kind of a family, or none; its copy owns a clone.
template <class Base>
struct Cloned : std::unique_ptr<Base> {
  using std::unique_ptr<Base>::unique_ptr;
  Cloned(std::unique_ptr<Base> kind) : std::unique_ptr<Base>(std::move(kind)) {}
  Cloned(const Cloned& other) : std::unique_ptr<Base>(other ? other->clone() : nullptr) {}
  Cloned(Cloned&&) noexcept = default;
  Cloned& operator=(Cloned other) noexcept {
    this->swap(other);
    return *this;
  }
};

}  // namespace muffle
