#include "picture_list.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "csv_rows.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/schema/plain_text.hpp"
#include "picture.hpp"

namespace muffle::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesABeat = 4096;

/// What is wrong with a folder's names. @param local  which, and how
DataError wrong_names(const std::string& folder, const std::string& local) {
  return DataError(
      "'" + folder +
          "' is no folder of pictures as data.format = \"png\" has them: a folder for each class, named as "
          "data.class_names say (without them by its number), and in it PNG and JPEG files, no links and no "
          "other folders. The rank's own log says which name is wrong, and so does `muffle check`.",
      LocalDetail{printable("in '" + folder + "' " + local)});
}

DataError is_a_file(const std::string& folder) {
  return DataError("'" + folder + "' is a file: data.format = \"png\" reads a folder of pictures.");
}

/// Of this machine's disks and limits, whatever the picture is.
bool is_of_the_system(int error) {
  return error == EIO || error == ESTALE || error == EMFILE || error == ENFILE || error == ENOMEM;
}
IoError system_fails(const std::string& folder, const std::string& why) {
  return IoError("the pictures of '" + folder + "' cannot be read: " + why +
                 ". Check the disk, the file server and the limit of open files, and start again.");
}

bool is_passed_over(const std::string& name) {
  return name.front() == '.' || name == "Thumbs.db" || name == "desktop.ini";
}

bool is_picture(const std::string& name) {
  std::string end = fs::path(name).extension().string();
  for (char& c : end) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return end == ".png" || end == ".jpg" || end == ".jpeg";
}

/// The class that a folder or a field names; -1: a number that is none; nothing: no such name.
std::optional<std::int32_t> class_of(const DataSpec& spec, std::string_view name) {
  if (spec.schema.classes == 1) return 0;
  if (!spec.schema.class_names.empty()) {
    const std::string folder = schema::class_folder(name);  // no two classes have the same
    const auto at =
        std::find_if(spec.schema.class_names.begin(), spec.schema.class_names.end(),
                     [&](const std::string& known) { return schema::class_folder(known) == folder; });
    if (at == spec.schema.class_names.end()) return std::nullopt;
    return static_cast<std::int32_t>(at - spec.schema.class_names.begin());
  }
  std::int32_t label = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), label);
  if (name.empty() || end != name.data() + name.size() || error == std::errc::invalid_argument)
    return std::nullopt;
  return error == std::errc{} ? std::max(label, -1) : -1;
}

/// What lies in a folder, in no order. No link is followed.
class Listing {
 public:
  explicit Listing(const DataSpec& spec, std::string folder) : spec_(spec), folder_(std::move(folder)) {}

  std::vector<ListedPicture> take() {
    each("", [&](const std::string& name, fs::file_type type) {
      if (type == fs::file_type::directory) {
        const std::optional<std::int32_t> label = class_of(spec_, name);
        if (!label) throw wrong_names(folder_, "the folder '" + name + "' is named as no class");
        each(name, [&](const std::string& file, fs::file_type of_file) {
          add(name + "/" + file, file, of_file, *label);
        });
      } else if (spec_.schema.classes == 1) {
        add(name, name, type, 0);
      } else {
        throw wrong_names(folder_, "'" + name + "' lies in no class's folder");
      }
    });
    std::sort(found_.begin(), found_.end(), [](const ListedPicture& a, const ListedPicture& b) {
      const auto name = [](const ListedPicture& p) {
        return std::string_view(p.path).substr(p.path.rfind('/') + 1);  // npos + 1 is 0
      };
      return name(a) != name(b) ? name(a) < name(b) : a.path < b.path;
    });
    return std::move(found_);
  }

 private:
  template <class Use>  // (name, type)
  void each(const std::string& within, const Use& use) {
    const fs::path path = within.empty() ? fs::path(folder_) : fs::path(folder_) / within;
    const fs::path shown = folder_;  // a class's name may be private
    std::error_code error;
    const WatchedStep step("listing", shown);
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      if (++seen_ % kFilesABeat == 0) beat(spec_.heartbeat);
      const std::string name = it->path().filename().string();
      if (is_passed_over(name)) continue;
      if (valid_utf8(name) != name.size()) throw wrong_names(folder_, "'" + name + "' is no UTF-8");
      const fs::file_status status = it->symlink_status(error);
      if (error) break;
      if (status.type() == fs::file_type::symlink)
        throw wrong_names(folder_, "'" + (within.empty() ? name : within + "/" + name) + "' is a link");
      use(name, status.type());
    }
    if (!error) return;
    const std::string what = error.message();
    if (within.empty() && error == std::errc::not_a_directory) throw is_a_file(folder_);
    if (within.empty())
      throw IoError("the folder '" + folder_ + "' cannot be listed: " + what +
                    ". Check data.dir and data.features.");
    if (is_of_the_system(error.value())) throw system_fails(folder_, what);
    throw wrong_names(folder_, "'" + within + "' cannot be listed: " + what);
  }

  void add(std::string path, const std::string& name, fs::file_type type, std::int32_t label) {
    if (type != fs::file_type::regular) throw wrong_names(folder_, "'" + path + "' is no regular file");
    if (!is_picture(name))
      throw wrong_names(folder_, "'" + path + "' does not end as a PNG's or a JPEG's name");
    found_.push_back({std::move(path), label});
  }

  const DataSpec& spec_;
  std::string folder_;
  std::vector<ListedPicture> found_;
  std::uint64_t seen_ = 0;
};

/// The table of files and labels.
std::vector<ListedPicture> listed_in_table(const DataSpec& spec, int rank) {
  CsvRows rows(resolve_path(spec, spec.labels, rank), dialect_of(spec));
  std::size_t file = 0, label = 1;
  if (spec.header) {
    constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    file = label = kNone;
    if (rows.read_header()) {
      for (std::size_t j = 0; j < rows.fields().size(); ++j) {
        const std::string_view name = schema::trimmed(rows.fields()[j]);
        if (name == "file" && file == kNone) file = j;
        if (name == "label" && label == kNone) label = j;
      }
    }
    if (file == kNone || (label == kNone && spec.schema.classes > 1))
      throw DataError(rows.name() +
                      " needs a first line with the names file and label, separated by data.separator; or "
                      "set data.header = false: then the first field is the file and the second its label.");
  }
  std::vector<ListedPicture> found;
  std::set<std::string> known;
  const auto wrong = [&](const std::string& how) {
    return DataError(rows.name() +
                         " has a row that names no picture and its class: each needs the path of a file "
                         "within the folder of data.features, once, and a class of data.class_names (without "
                         "them its number). The rank's own log says which row, and so does `muffle check`.",
                     LocalDetail{rows.where() + " " + how});
  };
  while (rows.read()) {
    if (rows.rows() % kFilesABeat == 0) beat(spec.heartbeat);
    const bool labelled = spec.schema.classes > 1;
    if (rows.fields().size() <= (labelled ? std::max(file, label) : file)) throw wrong("has too few fields");
    const std::string path(schema::trimmed(rows.fields()[file]));
    const fs::path given(path);
    const bool inside = !path.empty() && given.is_relative() &&
                        std::none_of(given.begin(), given.end(),
                                     [](const fs::path& p) { return p == ".." || p == "." || p.empty(); });
    if (!inside) throw wrong("names no file within the folder");
    std::int32_t of_class = 0;
    if (labelled) {
      const std::optional<std::int32_t> named = class_of(spec, schema::trimmed(rows.fields()[label]));
      if (!named) throw wrong("names no class");
      of_class = *named;
    }
    if (!known.insert(given.lexically_normal().string()).second)
      throw wrong("names a file for the second time");
    found.push_back({path, of_class});
  }
  return found;
}

}  // namespace

std::vector<ListedPicture> list_pictures(const DataSpec& spec, int rank) {
  const std::string folder = resolve_path(spec, spec.features, rank);
  if (spec.labels.empty()) return Listing(spec, folder).take();
  {
    const fs::path path = folder;
    const WatchedStep step("looking at", path);
    std::error_code none;
    if (fs::exists(path, none) && !fs::is_directory(path, none)) throw is_a_file(folder);
    if (!fs::is_directory(path, none))
      throw IoError("there is no folder '" + folder + "'. Check data.dir and data.features.");
  }
  return listed_in_table(spec, rank);
}

DataError unusable_picture(const std::string& folder, const std::string& local) {
  return DataError(
      "a picture in '" + folder +
          "' is no record: it is no PNG or JPEG, damaged or cut off, missing, too large, or has other "
          "channels or another size than data.shape says (data.resize). Mend it, take it out, or correct the "
          "configuration: the rank's own log says which it is and why, and so does `muffle check`.",
      LocalDetail{printable(local)});
}

std::vector<std::byte> read_picture(const std::string& folder, const std::string& path) {
  const std::string name = "'" + folder + "/" + path + "'";
  const fs::path shown = folder;
  const WatchedStep step("reading pictures of", shown);
  const auto failed = [&] {
    const int error = errno;
    if (is_of_the_system(error)) throw system_fails(folder, std::strerror(error));
    return unusable_picture(
        folder,
        name + (error == ELOOP ? " is a link" : std::string(" cannot be read: ") + std::strerror(error)));
  };
  // Each step by itself: no folder on the way is a link, either.
  FileDescriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) throw failed();
  const fs::path whole(path);
  for (const fs::path& part : whole.parent_path()) {
    FileDescriptor next(::openat(at.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (next.get() < 0) throw failed();
    at = std::move(next);
  }
  const FileDescriptor file(
      ::openat(at.get(), whole.filename().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) throw failed();
  if (!S_ISREG(status.st_mode)) throw unusable_picture(folder, name + " is no regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > kMostPictureBytes)
    throw PictureProblem{fmt::format("has more than {} bytes", kMostPictureBytes), true};
  std::vector<std::byte> bytes(size);
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = ::read(file.get(), bytes.data() + got, size - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw failed();
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

}  // namespace muffle::data
