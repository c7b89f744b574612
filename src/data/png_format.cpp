#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/data/format.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/png_bytes.hpp"
#include "picture.hpp"
#include "picture_list.hpp"

namespace muffle::data {
namespace {

/// A small file takes whole blocks; a PNG's header and checksums come to fewer bytes than this.
constexpr std::uint64_t kDiskBlock = 4096, kPngExtra = 256;

/// After so many pixels, one of the largest pictures, others are let in. Opening a file counts for as many as
/// these, so that 256 small ones come at a time.
constexpr std::uint64_t kWorkAtATime = kMostPictureSide * kMostPictureSide, kFileWork = kWorkAtATime / 256;

/// The pictures of a folder. Memory: their names, and a picture.
class PictureRecords final : public RecordStream {
 public:
  PictureRecords(const DataSpec& spec, int rank)
      : shape_(spec.schema.shape),
        resize_(spec.resize),
        folder_(resolve_path(spec, spec.features, rank)),
        labels_(spec.labels.empty() ? folder_ : resolve_path(spec, spec.labels, rank)) {
    if (shape_.size() != 3 || shape_[0] > 3) {
      throw DataError(fmt::format(
          "'{}' is a folder of pictures, and data.shape is [{}]: pictures have [channels, height, "
          "width], with 1 (grey), 2 (grey and transparency) or 3 channels.",
          folder_, fmt::join(shape_, ", ")));
    }
    pictures_ = list_pictures(spec, rank);
  }

  std::uint64_t records() const override { return pictures_.size(); }
  bool holds_bytes() const override { return true; }
  void go_to(std::uint64_t record) override { next_ = record; }

  void read(Row& row) override {
    const ListedPicture& picture = pictures_.at(next_++);
    work_ += kFileWork;
    row.misfit.clear();
    row.label = picture.label;
    try {
      const std::vector<std::byte> file = read_picture(folder_, picture.path);
      work_ += decode_picture(file, shape_, resize_, row.bytes);
    } catch (const PictureProblem& problem) {
      if (!problem.is_misfit)
        throw unusable_picture(folder_, fmt::format("record {} (counting from 0): '{}/{}' {}", next_ - 1,
                                                    folder_, picture.path, problem.what));
      row.misfit = fmt::format("'{}/{}' {}", folder_, picture.path, problem.what);
      row.label = -1;
      row.bytes.assign(shape_[0] * shape_[1] * shape_[2], 0);
    }
  }
  bool pauses() override {
    if (work_ < kWorkAtATime) return false;
    work_ = 0;
    return true;
  }

  std::string name() const override { return "'" + folder_ + "'"; }
  Place last() const override {
    const std::string which = "'" + folder_ + "/" + pictures_.at(next_ - 1).path + "'";
    return {name(), next_ - 1, which, labels_ == folder_ ? which : "'" + labels_ + "'"};
  }

 private:
  std::vector<std::size_t> shape_;
  Resize resize_;
  std::string folder_, labels_;
  std::vector<ListedPicture> pictures_;
  std::size_t next_ = 0;
  std::uint64_t work_ = 0;  ///< pixels since the last pause
};

/// Writes one of very many small files: no sync, so not atomic across a power loss. @throws IoError.
void write_small_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const WatchedStep step("writing", path);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    throw IoError("cannot write '" + path.string() + "': " + std::strerror(errno) +
                  ". Check that you may write there and that the disk is not full.");
  }
}

class PngFolder final : public schema::RecordWriter {
 public:
  PngFolder(std::filesystem::path folder, const schema::RecordKind& kind)
      : RecordWriter(kind), folder_(std::move(folder)) {
    ensure_writable_folder(folder_);
  }

 private:
  void write(const schema::Records& some) override {
    const auto& shape = kind().shape;
    for (std::size_t i = 0; i < some.count(); ++i) {
      const std::filesystem::path of_class = folder_ / name_of(some.labels[i]);
      if (classes_.insert(some.labels[i]).second) ensure_writable_folder(of_class);
      const auto png = schema::png_bytes(schema::interleaved_image(some, i), shape[1], shape[2], shape[0]);
      write_small_file(of_class / fmt::format("{:06}.png", written() + i), png);
    }
  }
  void complete(const Heartbeat&) override {}

  /// A class's folder, as they are read, too (list_pictures()).
  std::string name_of(std::size_t label) const {
    return kind().class_names.empty() ? std::to_string(label)
                                      : schema::class_folder(kind().class_names.at(label));
  }

  std::filesystem::path folder_;
  std::set<int> classes_;  ///< that have their folder
};

/// A folder of pictures, a folder for each class: PNG and JPEG are read, PNG is written.
class PngFormat final : public Format {
 public:
  std::string name() const override { return "png"; }
  std::string_view summary() const override {
    return "a folder of PNG and JPEG pictures, in a folder for each class (data.class_names), or with a "
           "table of files and "
           "labels (data.labels); data.resize";
  }

  void declare(settings::Keys& keys, DataSpec& s) const override {
    keys.texts("class_names", s.schema.class_names, "[\"cat\", \"dog\"]",
               "the classes' names, in the order of their labels, as folders of pictures or a table of their "
               "labels have them; of records of any format, for the samples; public; empty: their numbers");
    keys.choice<Resize>("resize", s.resize,
                        {{"none", Resize::kNone}, {"stretch", Resize::kStretch}, {"crop", Resize::kCrop}},
                        "of pictures of another size than data.shape: an error; the mean over the area that "
                        "each new pixel covers; or that of "
                        "the largest part in the middle that has data.shape's proportions");
  }
  std::string labels_problem(const DataSpec&) const override { return {}; }  // folders have them
  bool holds_pictures() const override { return true; }
  std::vector<Part> parts(const DataSpec& spec, int rank) const override {
    const std::filesystem::path folder = resolve_path(spec, spec.features, rank);
    std::vector<Part> out;
    for (const ListedPicture& picture : list_pictures(spec, rank))
      out.push_back({(folder / picture.path).string(), {}});
    return out;
  }
  std::unique_ptr<RecordStream> open(const DataSpec& spec, int rank) const override {
    return std::make_unique<PictureRecords>(spec, rank);
  }

  std::string cannot_hold(const schema::RecordKind& kind) const override {
    if (kind.is_picture() && !kind.table) return {};
    return fmt::format("records of shape {} are not images of 1 or 3 channels", fmt::join(kind.shape, " x "));
  }
  std::uint64_t bytes_on_disk(const schema::RecordKind& kind) const override {
    return kind.count * ((kind.record_bytes() + kPngExtra + kDiskBlock - 1) / kDiskBlock * kDiskBlock);
  }
  std::vector<std::string> files(const std::string& name) const override { return {name + "-png"}; }
  bool writes_folder() const override { return true; }

 private:
  std::unique_ptr<schema::RecordWriter> writer(const std::filesystem::path& folder,
                                               const schema::RecordKind& kind) const override {
    return std::make_unique<PngFolder>(folder, kind);
  }
};

}  // namespace

const Format& png_format() {
  static const PngFormat format;
  return format;
}

}  // namespace muffle::data
