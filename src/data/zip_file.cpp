#include "zip_file.hpp"

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::data {
namespace {

constexpr zip_uint16_t kFirstDosDate = 1 << 5 | 1;  // 1980-01-01: the same records make the same file

struct CloseZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, CloseZip>;
using Member = std::unique_ptr<zip_file_t, CloseZip>;

Archive open_archive(const std::filesystem::path& path) {
  const WatchedStep step("opening", path);
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = code == ZIP_ER_NOENT ? "its directory is damaged" : zip_error_strerror(&error);
  zip_error_fini(&error);
  if (code == ZIP_ER_OPEN || code == ZIP_ER_READ)
    throw IoError("cannot read '" + path.string() + "': " + reason + ".");
  throw DataError("'" + path.string() + "' is not an intact .npz file: " + reason +
                  ". Make or copy it again.");
}

/// A member, decompressed as it is read.
class OpenMember final : public ByteReader {
 public:
  OpenMember(std::filesystem::path path, Archive archive, const zip_stat_t& info, std::string name)
      : path_(std::move(path)),
        name_(std::move(name)),
        archive_(std::move(archive)),
        stored_(info.comp_method == ZIP_CM_STORE),
        size_(info.size),
        buffer_(kBufferBytes) {
    const WatchedStep step("reading", path_);
    file_.reset(zip_fopen_index(archive_.get(), info.index, 0));
    if (!file_) throw damaged(zip_strerror(archive_.get()));
  }

 private:
  DataError damaged(const char* reason) const {
    return DataError(name_ + " is damaged: " + reason + ". Make or copy the file again.");
  }

  /// At the end libzip compares the checksum.
  std::span<const std::byte> more() override {
    const WatchedStep step("reading", path_);
    const zip_int64_t n = zip_fread(file_.get(), buffer_.data(), buffer_.size());
    if (n < 0) throw damaged(zip_file_strerror(file_.get()));
    passed_ += static_cast<std::uint64_t>(n);
    if (passed_ > size_) throw damaged("it is longer than it declares");
    return std::span(buffer_).first(static_cast<std::size_t>(n));
  }

  /// libzip can seek in what is stored; it then leaves the checksum unchecked.
  std::uint64_t jump(std::uint64_t n) override {
    n = std::min(n, size_ - std::min(size_, passed_));
    const WatchedStep step("reading", path_);
    if (!stored_ || zip_fseek(file_.get(), static_cast<zip_int64_t>(n), SEEK_CUR) != 0) return 0;
    passed_ += n;
    return n;
  }

  std::filesystem::path path_;
  std::string name_;
  Archive archive_;
  Member file_;  ///< goes before its archive
  bool stored_;
  std::uint64_t size_;
  std::uint64_t passed_ = 0;  ///< bytes that libzip gave or passed over
  std::vector<std::byte> buffer_;
};

/// A file as libzip reads it. (Its own source would carry the file's permissions over into the archive.)
class FileSource {
 public:
  /// @param step  libzip at work, for the watchdog. Every call begins it anew: a large file on a slow disk is
  /// no hang. @param called  what the watchdog calls the archive
  /// @param heartbeat  called between two blocks
  FileSource(const std::filesystem::path& file, std::optional<WatchedStep>& step,
             const std::filesystem::path& called, const Heartbeat& heartbeat)
      : file_(file), step_(step), called_(called), heartbeat_(heartbeat) {}

  /// A zip_source_callback; `self` is a FileSource.
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
    step_.emplace("writing", called_);
    switch (command) {
      case ZIP_SOURCE_OPEN:
        in_.emplace(file_, "a whole array", "It was written just now: check the disk.");
        return 0;
      case ZIP_SOURCE_READ:
        return static_cast<zip_int64_t>(in_->read({static_cast<std::byte*>(data), length}));
      case ZIP_SOURCE_CLOSE:
        in_.reset();
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
  std::optional<WatchedStep>& step_;
  const std::filesystem::path& called_;
  const Heartbeat& heartbeat_;
  std::optional<InputFile> in_;
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

}  // namespace

std::string only_zip_member(const std::filesystem::path& archive) {
  record_file(archive);  // whether it is there: see open_zip_member()
  const Archive opened = open_archive(archive);
  const WatchedStep step("reading", archive);
  const char* const name =
      zip_get_num_entries(opened.get(), 0) == 1 ? zip_get_name(opened.get(), 0, 0) : nullptr;
  return name == nullptr ? std::string() : name;
}

ZipMember open_zip_member(const std::filesystem::path& path, const std::string& member,
                          const std::string& name) {
  // Asked of the system whether it is there: libzip says "no such file" of some damaged files, too.
  const std::uint64_t file_size = record_file(path).size();
  Archive archive = open_archive(path);
  zip_stat_t info;
  if (zip_stat(archive.get(), member.c_str(), 0, &info) != 0) return {};
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_INDEX | ZIP_STAT_ENCRYPTION_METHOD;
  const bool stored = info.comp_method == ZIP_CM_STORE, deflated = info.comp_method == ZIP_CM_DEFLATE;
  if ((info.valid & kNeeded) != kNeeded || !(stored || deflated) || info.encryption_method != ZIP_EM_NONE) {
    throw DataError(
        name + " is compressed in a way that muffle does not read: use numpy.savez or savez_compressed.");
  }
  if (info.comp_size > file_size || info.size / kDeflateRatio > info.comp_size ||
      (stored && info.size != info.comp_size)) {
    throw DataError(name + " declares a size that its file cannot hold: the file is damaged or lies.");
  }
  return {std::make_unique<OpenMember>(path, std::move(archive), info, name), info.size};
}

void write_zip(const std::filesystem::path& file, std::span<const ZipContent> contents,
               const std::filesystem::path& called, const Heartbeat& heartbeat) {
  std::optional<WatchedStep> step(std::in_place, "writing", called);
  std::vector<std::unique_ptr<FileSource>> sources;
  int code = 0;
  Archive archive(zip_open(file.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  require(archive != nullptr, "libzip could not begin an archive");
  for (const ZipContent& content : contents) {
    sources.push_back(std::make_unique<FileSource>(content.file, step, called, heartbeat));
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
