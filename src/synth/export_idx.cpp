#include <algorithm>
#include <array>

#include "muffle/core/error.hpp"
#include "muffle/data/idx.hpp"
#include "muffle/synth/export.hpp"
#include "records.hpp"

namespace muffle::synth {

void write_idx_records(const std::filesystem::path& path, const Records& records) {
  check_records(records);
  std::vector<std::size_t> dims{records.count()};
  const bool one_channel = records.shape.size() == 3 && records.shape[0] == 1;
  dims.insert(dims.end(), records.shape.begin() + (one_channel ? 1 : 0), records.shape.end());
  if (records.floats.empty()) {
    data::write_idx(path, dims, records.bytes);
  } else {
    data::write_idx(path, dims, records.floats);
  }
}

void write_idx_labels(const std::filesystem::path& path, std::span<const std::uint8_t> labels) {
  data::write_idx(path, std::array{labels.size()}, labels);
}

}  // namespace muffle::synth
