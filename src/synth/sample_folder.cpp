#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "sample_files.hpp"

namespace muffle::synth {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kWorking = ".samples.tmp";
constexpr const char* kReplaced = "replaced.json";  // in the working folder: the earlier samples' description
/// Whether a description is there and says that its samples are in this format.
bool says(const fs::path& description, const schema::RecordFormat& format) {
  if (!watched::exists(description)) return false;
  const json old = json::parse(read_file(description), nullptr, /*allow_exceptions=*/false);
  if (!old.is_object() || old.value("format", json()) != kSamplesFormat) return false;
  const json formats = old.value("formats", json::array());
  return std::find(formats.begin(), formats.end(), format.name()) != formats.end();
}

/// Whether a process was killed while it replaced samples, and this folder is what it left: an earlier one,
/// or a new one that was no longer in the working folder.
bool left_over(const fs::path& working, const schema::RecordFormat& format, const std::string& name) {
  return says(working / kReplaced, format) ||
         (says(working / kSamplesJson, format) && !watched::exists(working / name));
}

[[noreturn]] void fail(const fs::path& folder, const fs::filesystem_error& e) {
  throw IoError(
      fmt::format("samples of an earlier run in '{}' cannot be replaced: {}. Remove them, or choose another "
                  "folder.",
                  folder.string(), e.what()));
}

}  // namespace

SampleFolder::SampleFolder(const fs::path& folder, Formats formats, const SampleSpec& spec,
                           std::uint64_t bytes)
    : folder_(folder), working_(folder / kWorking), formats_(formats) {
  ensure_writable_folder(folder_);
  try {
    for (const schema::RecordFormat* format : formats_) {
      if (!format->writes_folder()) continue;
      const std::string name = format->files(kSamples).back();
      if (left_over(working_, *format, name)) watched::remove_all(folder_ / name);
      if (!spec.wants(*format) || !watched::exists(folder_ / name) || says(folder_ / kSamplesJson, *format))
        continue;
      throw IoError(fmt::format(
          "'{}' is in the way: {} does not say that an earlier sampling made it. Move it, choose another "
          "folder, or leave {} out of sample.formats.",
          (folder_ / name).string(), kSamplesJson, format->name()));
    }
    watched::remove_all(working_);
  } catch (const fs::filesystem_error& e) {
    fail(folder_, e);
  }
  require_room(folder_, bytes);
  ensure_writable_folder(working_);
}

SampleFolder::~SampleFolder() {
  try {
    watched::remove_all(working_);
  } catch (const fs::filesystem_error&) {  // nobody to tell
  }
}

void SampleFolder::publish(const std::vector<std::string>& names) {
  try {
    std::vector<std::string> old_folders;
    for (const schema::RecordFormat* format : formats_) {
      if (format->writes_folder() && says(folder_ / kSamplesJson, *format))
        old_folders.push_back(format->files(kSamples).back());
    }
    if (watched::exists(folder_ / kSamplesJson))
      move_into_place(folder_ / kSamplesJson, working_ / kReplaced);
    const auto remove = [&](const std::string& name) {
      const WatchedStep step("removing earlier samples in", folder_);
      fs::remove(folder_ / name);
    };
    remove(kPicture);
    for (const schema::RecordFormat* format : formats_) {
      if (format->writes_folder()) continue;
      for (const std::string& name : format->files(kSamples)) remove(name);
    }
    for (const std::string& name : old_folders) watched::remove_all(folder_ / name);
  } catch (const fs::filesystem_error& e) {
    fail(folder_, e);
  }
  for (const std::string& name : names) move_into_place(working_ / name, folder_ / name);
  move_into_place(working_ / kSamplesJson, folder_ / kSamplesJson);
}

}  // namespace muffle::synth
