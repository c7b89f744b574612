#include "muffle/train/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"

namespace muffle::train {
namespace {

static_assert(std::endian::native == std::endian::little,
              "checkpoint payloads are little-endian and copied as they lie");

using nlohmann::json;

constexpr std::string_view kFormat = "muffle-checkpoint";
/// Larger than any real tensor's; keeps products of the header's numbers inside 64 bits.
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 40;
constexpr std::size_t kMaxDimensions = 8;
constexpr std::size_t kMaxText = 256;

/// Strict reader of the header: every key is there, is known, and has its type.
class Header {
 public:
  Header(const json& header, const std::string& name) : header_(header), name_(name) {
    static const std::set<std::string> known{"format",         "version",   "train_hash", "release_hash",
                                             "muffle_version", "ranks",     "seed",       "step",
                                             "first_loss",     "last_loss", "tensors"};
    for (const auto& item : header.items()) {
      if (!known.contains(item.key())) fail(fmt::format("unknown key '{}'", item.key()));
    }
    for (const auto& key : known) {
      if (!header.contains(key)) fail(fmt::format("no '{}'", key));
    }
  }

  std::string text(const char* key) const {
    const json& v = header_.at(key);
    if (!v.is_string() || v.get_ref<const std::string&>().size() > kMaxText)
      fail(fmt::format("'{}' is no short text", key));
    return v.get<std::string>();
  }
  std::uint64_t whole(const char* key, std::uint64_t most) const {
    const json& v = header_.at(key);
    if (!v.is_number_unsigned() || v.get<std::uint64_t>() > most)
      fail(fmt::format("'{}' is no whole number up to {}", key, most));
    return v.get<std::uint64_t>();
  }
  double number(const char* key) const {
    const json& v = header_.at(key);
    if (!v.is_number() || !std::isfinite(v.get<double>())) fail(fmt::format("'{}' is no number", key));
    return v.get<double>();
  }
  const json& tensors() const {
    if (!header_.at("tensors").is_array()) fail("'tensors' is no list");
    return header_.at("tensors");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw ProtocolError(fmt::format("'{}' is no checkpoint that this muffle reads: {}", name_, what));
  }

 private:
  const json& header_;
  const std::string& name_;
};

/// Tensors lie in the payload one after the other, without gaps.
class TensorReader {
 public:
  TensorReader(const Header& header, const std::vector<std::byte>& payload)
      : header_(header), payload_(payload) {}

  CheckpointTensor take(const json& described) {
    if (!described.is_object() || described.size() != 2 || !described.contains("name") ||
        !described.contains("shape") || !described["name"].is_string() || !described["shape"].is_array()) {
      header_.fail("a tensor is not described by a name and a shape");
    }
    CheckpointTensor tensor;
    tensor.name = described["name"].get<std::string>();
    if (tensor.name.size() > kMaxText || !names_.insert(tensor.name).second)
      header_.fail("a tensor's name is too long, or there twice");
    const std::size_t numbers = read_shape(described["shape"], tensor.shape);
    if (numbers > (payload_.size() - at_) / sizeof(float)) header_.fail("a tensor is longer than the file");
    tensor.values.resize(numbers);
    if (numbers > 0) std::memcpy(tensor.values.data(), payload_.data() + at_, numbers * sizeof(float));
    at_ += numbers * sizeof(float);
    if (!std::all_of(tensor.values.begin(), tensor.values.end(), [](float v) { return std::isfinite(v); }))
      header_.fail("a tensor holds numbers that are not finite");
    return tensor;
  }

  bool at_end() const { return at_ == payload_.size(); }

 private:
  /// @returns the numbers in a tensor of this shape.
  std::size_t read_shape(const json& described, std::vector<std::int64_t>& shape) const {
    if (described.size() > kMaxDimensions) header_.fail("a tensor has too many dimensions");
    std::uint64_t numbers = 1;
    for (const json& side : described) {
      if (!side.is_number_unsigned() || side.get<std::uint64_t>() > kMaxSize)
        header_.fail("a tensor's shape is no list of sizes");
      const auto n = side.get<std::uint64_t>();
      if (n > 0 && numbers > kMaxSize / n) header_.fail("a tensor is too large");
      numbers *= n;
      shape.push_back(static_cast<std::int64_t>(n));
    }
    return static_cast<std::size_t>(numbers);
  }

  const Header& header_;
  const std::vector<std::byte>& payload_;
  std::set<std::string> names_;
  std::size_t at_ = 0;
};

}  // namespace

std::string serialize(const Checkpoint& c) {
  Container file;
  file.header = {{"format", kFormat},
                 {"version", kCheckpointVersion},
                 {"train_hash", c.train_hash},
                 {"release_hash", c.release_hash},
                 {"muffle_version", c.muffle_version},
                 {"ranks", c.ranks},
                 {"seed", c.seed},
                 {"step", c.step},
                 {"first_loss", c.first_loss},
                 {"last_loss", c.last_loss},
                 {"tensors", json::array()}};
  for (const CheckpointTensor& tensor : c.tensors) {
    file.header["tensors"].push_back({{"name", tensor.name}, {"shape", tensor.shape}});
    const auto bytes = std::as_bytes(std::span(tensor.values));
    file.payload.insert(file.payload.end(), bytes.begin(), bytes.end());
  }
  return serialize(file);
}

Checkpoint parse_checkpoint(std::string_view bytes, const std::string& name) {
  const Container file = parse_container(bytes, kFormat, kCheckpointVersion, name);
  const Header header(file.header, name);
  Checkpoint c;
  c.train_hash = header.text("train_hash");
  c.release_hash = header.text("release_hash");
  c.muffle_version = header.text("muffle_version");
  c.ranks = static_cast<int>(header.whole("ranks", 1 << 30));
  c.seed = header.whole("seed", UINT64_MAX);
  c.step = header.whole("step", UINT32_MAX);
  c.first_loss = header.number("first_loss");
  c.last_loss = header.number("last_loss");
  TensorReader tensors(header, file.payload);
  for (const json& described : header.tensors()) c.tensors.push_back(tensors.take(described));
  if (!tensors.at_end()) header.fail("there are bytes behind the last tensor");
  return c;
}

}  // namespace muffle::train
