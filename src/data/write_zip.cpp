#include <zip.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "zip_file.hpp"

namespace muffle::data {
namespace {

constexpr zip_uint16_t kFirstDosDate = 1 << 5 | 1;  // 1980-01-01: the same records make the same file

/// libzip at work, for the watchdog. Every call of a source begins a step of its own: a large file on a slow
/// disk is no hang.
class ArchiveSteps {
 public:
  /// @param path  what the watchdog calls the archive
  explicit ArchiveSteps(const std::filesystem::path& path) : path_(path) { next(); }
  void next() {
    step_.reset();
    step_.emplace("writing", path_);
  }

 private:
  const std::filesystem::path& path_;
  std::optional<WatchedStep> step_;
};

/// A file as libzip reads it. (Its own source for files would carry their permissions over into the
/// archive.)
class FileSource {
 public:
  /// @param heartbeat  called between two blocks
  FileSource(const std::filesystem::path& file, ArchiveSteps& steps, const std::function<void()>& heartbeat)
      : file_(file), steps_(steps), heartbeat_(heartbeat) {}

  /// A zip_source_callback; `self` is an FileSource.
  static zip_int64_t call(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) noexcept {
    FileSource& source = *static_cast<FileSource*>(self);
    try {
      return source.answer(data, length, command);
    } catch (...) {
      source.error = std::current_exception();
      return -1;
    }
  }

  std::exception_ptr error;  ///< why it answered -1

 private:
  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command) {
    if (command == ZIP_SOURCE_READ) heartbeat_();
    steps_.next();
    switch (command) {
      case ZIP_SOURCE_OPEN:
        in_.open(file_, std::ios::binary);
        return in_ ? 0
                   : throw IoError("cannot read '" + file_.string() + "' again: " + std::strerror(errno) +
                                   ".");
      case ZIP_SOURCE_READ:
        in_.read(static_cast<char*>(data), static_cast<std::streamsize>(length));
        if (in_.bad()) throw IoError("reading '" + file_.string() + "' failed half-way: check the disk.");
        return in_.gcount();
      case ZIP_SOURCE_CLOSE:
        in_.close();
        return 0;
      case ZIP_SOURCE_STAT: {
        zip_stat_t info;
        zip_stat_init(&info);
        info.size = std::filesystem::file_size(file_);
        info.valid |= ZIP_STAT_SIZE;
        std::memcpy(data, &info, sizeof info);
        return sizeof info;
      }
      case ZIP_SOURCE_ERROR: {
        zip_error_t unreadable;
        zip_error_init_with_code(&unreadable, ZIP_ER_READ);
        return zip_error_to_data(&unreadable, data, length);
      }
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
      default:
        return 0;
    }
  }

  std::filesystem::path file_;
  ArchiveSteps& steps_;
  const std::function<void()>& heartbeat_;
  std::ifstream in_;
};

void add_member(zip_t* archive, const char* name, FileSource& content) {
  zip_source_t* source = zip_source_function(archive, &FileSource::call, &content);
  require(source != nullptr, std::string("libzip: ") + zip_strerror(archive));
  const zip_int64_t index = zip_file_add(archive, name, source, ZIP_FL_ENC_UTF_8);
  if (index < 0) zip_source_free(source);
  require(index >= 0 &&
              zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0) == 0 &&
              zip_file_set_dostime(archive, static_cast<zip_uint64_t>(index), 0, kFirstDosDate, 0) == 0,
          std::string("libzip: ") + zip_strerror(archive));
}

struct DiscardZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};

}  // namespace

void write_zip(const std::filesystem::path& file, std::span<const ZipContent> contents,
               const std::filesystem::path& called, const std::function<void()>& heartbeat) {
  ArchiveSteps steps(called);
  std::vector<std::unique_ptr<FileSource>> sources;
  int code = 0;
  std::unique_ptr<zip_t, DiscardZip> archive(zip_open(file.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  require(archive != nullptr, "libzip could not begin an archive");
  for (const ZipContent& content : contents) {
    sources.push_back(std::make_unique<FileSource>(content.file, steps, heartbeat));
    add_member(archive.get(), content.member.c_str(), *sources.back());
  }
  if (zip_close(archive.get()) == 0) {
    static_cast<void>(archive.release());
    return;
  }
  for (const auto& source : sources) {
    if (source->error) std::rethrow_exception(source->error);
  }
  throw IoError("cannot write '" + called.string() + "': " + zip_strerror(archive.get()) +
                ". Check that you may write there and that the disk is not full.");
}

}  // namespace muffle::data
