#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace muffle {

// Containers (core/container.hpp) whose payload lies elsewhere and is not copied once more: of messages and
// releases, which have 8 bytes for each of 10^7 numbers.

/// A container's bytes, in one allocation. header must hold "format" and "version".
std::string serialize(const nlohmann::json& header, std::span<const std::byte> payload);

/// A container that was read; its payload lies in the bytes that it was read from.
struct ContainerView {
  nlohmann::json header;
  std::string_view payload;
};
/// As parse_container(). @param bytes  outlive the view
ContainerView view_container(std::string_view bytes, std::string_view format, int version,
                             const std::string& name);

}  // namespace muffle
