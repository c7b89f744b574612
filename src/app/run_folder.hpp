#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "muffle/app/commands.hpp"
#include "muffle/core/stage_notes.hpp"

namespace muffle::app {

/// Writes `stage`'s settings into config.resolved.toml, on root; settings of other stages stay as the file
/// has them. So the file describes what lies in the folder, whoever made it: called when a stage really goes
/// on or its output is kept, never for a job that is refused. Not collective. @throws IoError.
void record_settings(const Context& context, Stage stage);

/// What a training or a sampling without a configuration file goes by: the settings that what lies in the
/// folder was made with, so that a stage that is done again changes only what was asked for. Of the one stage
/// alone: who needs nothing private may lack the rest. Collective; root reads.
/// @param folders  the first that has settings
std::map<std::string, std::string> kept_settings(comm::HostComm& comm,
                                                 const std::vector<std::filesystem::path>& folders,
                                                 Stages stages);

/// The records that the configuration names. What data.generate asks for is made, in OUT/data, by root.
/// Collective. @throws IoError on every rank.
data::DataSpec prepare_records(Context& context);

/// The same without making anything; `file` is data.features, a label file or the like. Not collective.
data::DataSpec records_of(const Context& context);

/// Whether the stage's output lies in the run folder, byte for byte as it was made, out of this input by
/// these settings; all ranks get root's answer. Everything after a release is post-processing, so what is
/// lost, damaged, edited or of other settings is simply made again; the log says why. Collective.
bool is_done(comm::HostComm& comm, const StageWork& work);

/// Notes in stages.json that the stage is done and what it wrote. Collective. @throws IoError on every rank.
/// @param outputs  files or folders, relative to the run folder; hashed here.
void mark_done(comm::HostComm& comm, const StageWork& work, const std::vector<std::string>& outputs);

/// Whether the number of records is private: by the configuration, or by what config.resolved.toml of the run
/// folder, or one of `context.reads`, says of the release. Not collective.
bool m_is_private(const Context& context);

/// Where m is private, sets the times of muffle's own files, in the run folder and elsewhere
/// (`context.writes`), to the beginning of their day, whatever their age; of other files in the run folder
/// and of `context.reads` what changed since the job began. The last thing that a verb does, however it ends,
/// and the last of each stage, for a job that is killed in the next one. Every rank for its own host; not
/// collective.
void round_times(const Context& context);

/// What samples.json says of the release that the samples come of; where it does not, whether no mark lies
/// beside it.
bool samples_are_private(const std::filesystem::path& samples_json);

/// Says in a file of the folder that what lies there is NOT PRIVATE: curves, samples and pictures have no
/// place of their own to say it. @throws IoError.
void mark_not_private(const std::filesystem::path& folder);

/// Records the stage's settings, and says, each time and in a file of the run folder, if `file` comes of a
/// release with test noise. Collective.
/// @param is_private  asked on root. @throws IoError on every rank.
void end_stage(const Context& context, Stage stage, const std::string& name,
               const std::filesystem::path& file, const std::function<bool()>& is_private);

}  // namespace muffle::app
