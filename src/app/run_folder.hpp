#pragma once

#include "muffle/app/commands.hpp"

namespace muffle::app {

/// Writes `stage`'s settings into config.resolved.toml, on root; settings of other stages stay as the file
/// has them. So the file describes what lies in the folder, whoever made it: called when a stage really goes
/// on or its output is kept, never for a job that is refused. Not collective. @throws IoError.
void record_settings(const Context& context, Stage stage);

/// The records that the configuration names. What data.generate asks for is made, in OUT/data, by root.
/// Collective. @throws IoError on every rank.
data::DataSpec prepare_records(Context& context);

/// The same without making anything; `file` is data.features, a label file or the like. Not collective.
data::DataSpec records_of(const Context& context);

}  // namespace muffle::app
