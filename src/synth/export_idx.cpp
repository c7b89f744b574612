#include <array>

#include "muffle/data/idx.hpp"
#include "muffle/synth/export.hpp"
#include "records.hpp"

namespace muffle::synth {
namespace {

std::vector<std::size_t> idx_dims(const RecordKind& kind) {
  std::vector<std::size_t> dims{kind.count};
  const bool one_channel = kind.shape.size() == 3 && kind.shape[0] == 1;
  dims.insert(dims.end(), kind.shape.begin() + (one_channel ? 1 : 0), kind.shape.end());
  return dims;
}

class IdxRecords final : public RecordWriter {
 public:
  IdxRecords(const std::filesystem::path& path, const RecordKind& kind)
      : RecordWriter(kind),
        file_(path, kind.floats ? data::IdxType::kFloat32 : data::IdxType::kUint8, idx_dims(kind)) {}

 private:
  void write(const Records& some) override {
    if (kind().floats) {
      file_.write(some.floats);
    } else {
      file_.write(some.bytes);
    }
  }
  void complete(const std::function<void()>&) override { file_.commit(); }

  data::IdxWriter file_;
};

class IdxLabels final : public RecordWriter {
 public:
  IdxLabels(const std::filesystem::path& path, const RecordKind& kind)
      : RecordWriter(kind), file_(path, data::IdxType::kUint8, std::array<std::size_t, 1>{kind.count}) {}

 private:
  void write(const Records& some) override { file_.write(some.labels); }
  void complete(const std::function<void()>&) override { file_.commit(); }

  data::IdxWriter file_;
};

}  // namespace

std::unique_ptr<RecordWriter> idx_writer(const std::filesystem::path& path, const RecordKind& kind) {
  return std::make_unique<IdxRecords>(path, kind);
}

std::unique_ptr<RecordWriter> idx_label_writer(const std::filesystem::path& path, const RecordKind& kind) {
  return std::make_unique<IdxLabels>(path, kind);
}

void write_idx_records(const std::filesystem::path& path, const Records& records) {
  write_whole(*idx_writer(path, records.kind()), records);
}

void write_idx_labels(const std::filesystem::path& path, std::span<const std::uint8_t> labels) {
  data::write_idx(path, std::array{labels.size()}, labels);
}

}  // namespace muffle::synth
