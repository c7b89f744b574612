// The training's loss from the events that muffle wrote for TensorBoard (train/event_file.hpp).
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "public_material.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostEvents = std::size_t{1} << 26;

/// Reads a protobuf message field by field.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  struct Field {
    std::uint64_t number = 0, value = 0;  ///< value: of a varint, or the bits of a fixed one
    std::string_view bytes;
  };
  std::optional<Field> next() {
    if (bytes_.empty()) return std::nullopt;
    const auto tag = varint();
    if (!tag) return std::nullopt;
    Field out{*tag >> 3, 0, {}};
    switch (*tag & 7) {
      case 0: {
        const auto value = varint();
        if (!value) return std::nullopt;
        out.value = *value;
        return out;
      }
      case 1:
        return fixed(out, 8);
      case 5:
        return fixed(out, 4);
      case 2: {
        const auto length = varint();
        if (!length || *length > bytes_.size()) return std::nullopt;
        out.bytes = bytes_.substr(0, *length);
        bytes_.remove_prefix(*length);
        return out;
      }
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  std::optional<Field> fixed(Field out, std::size_t size) {
    if (bytes_.size() < size) return std::nullopt;
    for (std::size_t i = 0; i < size; ++i)
      out.value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    bytes_.remove_prefix(size);
    return out;
  }

  std::string_view bytes_;
};

/// One event: its step and its "train/loss", if it has one.
void add_event(std::string_view event, std::vector<std::pair<double, double>>& out) {
  double step = 0;
  std::optional<double> loss;
  Fields fields(event);
  while (const auto field = fields.next()) {
    if (field->number == 2) step = static_cast<double>(field->value);
    if (field->number != 5) continue;
    Fields summary(field->bytes);
    while (const auto value = summary.next()) {
      std::string_view tag;
      float number = 0;
      Fields inner(value->bytes);
      while (const auto part = inner.next()) {
        if (part->number == 1) tag = part->bytes;
        if (part->number == 2) number = std::bit_cast<float>(static_cast<std::uint32_t>(part->value));
      }
      if (tag == "train/loss" && std::isfinite(number)) loss = number;
    }
  }
  if (loss) out.emplace_back(step, *loss);
}

}  // namespace

std::vector<std::pair<double, double>> training_loss(const std::filesystem::path& model_file) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::absolute(model_file).parent_path() / "tensorboard";
  std::vector<std::pair<double, double>> out;
  std::vector<fs::path> files;
  {
    const WatchedStep step("looking at", folder);
    std::error_code none;
    for (auto i = fs::directory_iterator(folder, none); i != fs::directory_iterator(); i.increment(none))
      if (i->path().filename().string().find("tfevents") != std::string::npos) files.push_back(i->path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const std::string bytes = read_file(file, kMostEvents);
    constexpr std::size_t kBefore = 12, kAfter = 4;  // length and its checksum; the event's checksum
    for (std::string_view left = bytes; left.size() >= kBefore + kAfter;) {
      std::uint64_t length = 0;
      for (std::size_t i = 0; i < 8; ++i)
        length |= static_cast<std::uint64_t>(static_cast<unsigned char>(left[i])) << (8 * i);
      if (length > left.size() - kBefore - kAfter) break;
      add_event(left.substr(kBefore, length), out);
      left.remove_prefix(kBefore + length + kAfter);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

}  // namespace muffle::report
