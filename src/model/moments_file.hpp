#pragma once

#include <cstddef>
#include <span>

#include "muffle/core/json_fields.hpp"
#include "muffle/model/moments_model.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::model {

/// What content_of() made. Full validation; allocates no more than a few times the bytes. @throws
/// ProtocolError.
MomentsModel read_moments(const schema::Schema& schema, double plain_share, const JsonFields& fields,
                          std::span<const std::byte> payload);

}  // namespace muffle::model
