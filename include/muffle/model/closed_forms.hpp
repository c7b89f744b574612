#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "muffle/core/json_fields.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/moments/moments_model.hpp"
#include "muffle/pair_graph/pair_graph.hpp"
#include "muffle/schema/schema.hpp"

// What model files hold of the closed forms, beside the generator's settings.
namespace muffle::model {

using moments::MomentsModel;
using pair_graph::PairGraphModel;

/// The settings of a generator that holds such a model.
std::shared_ptr<const GeneratorSettings> settings_of(const MomentsModel& model);
ModelContent content_of(const MomentsModel& model);
/// What content_of() made. Full validation; allocates a few times the bytes. @throws ProtocolError.
MomentsModel read_moments(const schema::Schema& schema, double plain_share, const JsonFields& fields,
                          std::span<const std::byte> payload);

ModelContent content_of(const PairGraphModel& model);
/// What content_of() made. Full validation; allocates a few times the bytes. @throws ProtocolError.
PairGraphModel read_pair_graph(const schema::Schema& schema, std::size_t sweeps, const JsonFields& fields,
                               std::span<const std::byte> payload);

}  // namespace muffle::model
