#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

#include "muffle/core/json_fields.hpp"
#include "muffle/model/model_info.hpp"

namespace muffle::model {

/// Reads a model file up to what its kind reads, which is handed to `use`. @throws IoError, ProtocolError.
void read_parts(const std::filesystem::path& path,
                const std::function<void(const ModelInfo& info, const JsonFields& description,
                                         std::span<const std::byte> payload)>& use);

}  // namespace muffle::model
