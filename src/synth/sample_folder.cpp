#include "sample_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::synth {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kWorking = ".samples.tmp";
constexpr const char* kReplaced = "replaced.json";  // in the working folder: the earlier samples' description
/// All that samples may consist of but class folders.
constexpr const char* kFiles[] = {"samples.npz", "samples-images.idx", "samples-labels.idx", "samples.png"};

/// Whether a description is there and says that its samples have class folders.
bool says_png(const fs::path& description) {
  if (!watched::exists(description)) return false;
  const json old = json::parse(read_file(description), nullptr, /*allow_exceptions=*/false);
  if (!old.is_object() || old.value("format", json()) != kSamplesFormat) return false;
  const json formats = old.value("formats", json::array());
  return std::find(formats.begin(), formats.end(), "png") != formats.end();
}

/// Whether a process was killed while it replaced samples, and png/ is what it left: earlier class folders,
/// or new ones that were no longer in the working folder.
bool left_png(const fs::path& working) {
  return says_png(working / kReplaced) ||
         (says_png(working / kSamplesJson) && !watched::exists(working / kPngFolder));
}

[[noreturn]] void fail(const fs::path& folder, const fs::filesystem_error& e) {
  throw IoError(
      fmt::format("samples of an earlier run in '{}' cannot be replaced: {}. Remove them, or choose another "
                  "folder.",
                  folder.string(), e.what()));
}

}  // namespace

SampleFolder::SampleFolder(const fs::path& folder, bool png, std::uint64_t bytes)
    : folder_(folder), working_(folder / kWorking) {
  ensure_writable_folder(folder_);
  try {
    if (left_png(working_)) watched::remove_all(folder_ / kPngFolder);
    watched::remove_all(working_);
    if (png && watched::exists(folder_ / kPngFolder) && !says_png(folder_ / kSamplesJson)) {
      throw IoError(fmt::format(
          "'{}' is in the way: {} does not say that an earlier sampling made it. Move it, choose another "
          "folder, or leave png out of sample.formats.",
          (folder_ / kPngFolder).string(), kSamplesJson));
    }
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
    const bool old_pngs = says_png(folder_ / kSamplesJson);
    if (watched::exists(folder_ / kSamplesJson))
      move_into_place(folder_ / kSamplesJson, working_ / kReplaced);
    for (const char* name : kFiles) {
      const WatchedStep step("removing earlier samples in", folder_);
      fs::remove(folder_ / name);
    }
    if (old_pngs) watched::remove_all(folder_ / kPngFolder);
  } catch (const fs::filesystem_error& e) {
    fail(folder_, e);
  }
  for (const std::string& name : names) move_into_place(working_ / name, folder_ / name);
  move_into_place(working_ / kSamplesJson, folder_ / kSamplesJson);
}

}  // namespace muffle::synth
