#include "muffle/train/checkpoint.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <system_error>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::train {
namespace {

static_assert(std::endian::native == std::endian::little,
              "checkpoint payloads are little-endian and copied as they lie");

using nlohmann::json;

constexpr std::string_view kFormat = "muffle-checkpoint";
/// Larger than any real tensor's; keeps products of the header's numbers inside 64 bits.
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 40;
constexpr std::size_t kMaxDimensions = 8;
constexpr std::size_t kMaxText = 256, kMaxTensors = 1 << 20;

/// Adds the numbers to the payload. @returns what the header says of them.
json add_tensors(const std::vector<CheckpointTensor>& tensors, std::vector<std::byte>& payload) {
  json out = json::array();
  for (const CheckpointTensor& tensor : tensors) {
    out.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
    const auto bytes = std::as_bytes(std::span(tensor.values));
    payload.insert(payload.end(), bytes.begin(), bytes.end());
  }
  return out;
}

/// Tensors lie in the payload one after the other, without gaps.
/// @param at  where the first begins; then where the last ends
std::vector<CheckpointTensor> read_tensors(const JsonFields& fields, std::span<const std::byte> payload,
                                           std::size_t& at) {
  std::vector<CheckpointTensor> out;
  std::set<std::string> names;
  for (const JsonFields& described : fields.objects("tensors", kMaxTensors)) {
    described.only({"name", "shape"});
    CheckpointTensor tensor;
    tensor.name = described.text("name", kMaxText);
    if (!names.insert(tensor.name).second) described.fail("name", "is there twice");
    std::uint64_t numbers = 1;
    for (const std::size_t n : described.sizes("shape", kMaxDimensions, 0, kMaxSize, /*may_be_empty=*/true)) {
      if (n > 0 && numbers > kMaxSize / n) described.fail("shape", "is too large");
      numbers *= n;
      tensor.shape.push_back(static_cast<std::int64_t>(n));
    }
    if (numbers > (payload.size() - at) / sizeof(float))
      described.fail("shape", "is that of a tensor longer than the file");
    tensor.values.resize(numbers);
    if (numbers > 0) std::memcpy(tensor.values.data(), payload.data() + at, numbers * sizeof(float));
    at += numbers * sizeof(float);
    if (!std::all_of(tensor.values.begin(), tensor.values.end(), [](float v) { return std::isfinite(v); }))
      described.fail("name", "is that of a tensor with numbers that are not finite");
    out.push_back(std::move(tensor));
  }
  return out;
}

/// What a training that was killed while it wrote has left (write_file_atomically's temporary name).
void remove_unfinished(const std::filesystem::path& file) {
  std::string prefix(".");
  prefix.append(file.filename().string()).append(".tmp.");
  const WatchedStep step("looking for the rests of", file);
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(file.parent_path(), ignored), end; at != end;
       at.increment(ignored)) {
    std::error_code kept;
    if (at->path().filename().string().starts_with(prefix)) std::filesystem::remove(at->path(), kept);
  }
}

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
                 {"tensors", add_tensors(c.tensors, file.payload)},
                 {"chosen", nullptr},
                 {"curve", model::to_json(c.curve)},
                 {"is_private", c.is_private}};
  if (c.chosen) {
    file.header["chosen"] = {{"step", c.chosen->step},
                             {"distance", c.chosen->distance},
                             {"tensors", add_tensors(c.chosen->tensors, file.payload)}};
  }
  return serialize(file);
}

Checkpoint parse_checkpoint(std::string_view bytes, const std::string& name) {
  const Container file = parse_container(bytes, kFormat, kCheckpointVersion, name);
  const JsonDocument document{name, "a checkpoint that this muffle reads",
                              "Remove it to train from the start."};
  const JsonFields header(file.header, document);
  header.only({"format", "version", "train_hash", "release_hash", "muffle_version", "ranks", "seed", "step",
               "first_loss", "last_loss", "tensors", "chosen", "curve", "is_private"});
  Checkpoint c;
  c.train_hash = header.text("train_hash", kMaxText);
  c.release_hash = header.text("release_hash", kMaxText);
  c.muffle_version = header.text("muffle_version", kMaxText);
  c.ranks = static_cast<int>(header.integer("ranks", 0, 1 << 30));
  c.seed = header.integer("seed", 0, UINT64_MAX);
  c.step = header.integer("step", 0, UINT32_MAX);
  c.first_loss = header.number("first_loss");
  c.last_loss = header.number("last_loss");
  c.curve = model::read_training_curve(header.object("curve"));
  // Checkpoints of before there was the field do not say it.
  c.is_private = !header.has("is_private") || header.flag("is_private");
  std::size_t at = 0;
  c.tensors = read_tensors(header, file.payload, at);
  if (!header.at("chosen").is_null()) {
    const JsonFields chosen = header.object("chosen");
    chosen.only({"step", "distance", "tensors"});
    c.chosen = {chosen.integer("step", 0, c.step), chosen.number("distance"),
                read_tensors(chosen, file.payload, at)};
  }
  if (at != file.payload.size()) header.fail("tensors", "leaves bytes behind the last tensor");
  return c;
}

CheckpointSlots::CheckpointSlots(const std::filesystem::path& folder)
    : files_{folder / "checkpoint-a.mfl", folder / "checkpoint-b.mfl"} {}

std::optional<std::string> CheckpointSlots::newest(const std::string& train_hash,
                                                   const std::string& release_hash) {
  std::optional<std::string> best;
  std::uint64_t best_step = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    remove_unfinished(files_[i]);
    try {
      if (!is_there(files_[i], "the checkpoint", "The other one is looked for.")) continue;
      std::string bytes = read_file(files_[i]);
      const Checkpoint found = parse_checkpoint(bytes, files_[i].string());
      if (found.train_hash != train_hash || found.release_hash != release_hash) {
        spdlog::info("train: {} is of {}; it is not used", files_[i].string(),
                     found.train_hash != train_hash ? "other train or model settings" : "another release");
        continue;
      }
      if (best && found.step <= best_step) continue;
      best = std::move(bytes);
      best_step = found.step;
      next_ = 1 - i;
    } catch (const Error& e) {
      spdlog::warn("train: the checkpoint {} cannot be used, looking for the other one: {}",
                   files_[i].string(), e.what());
    }
  }
  return best;
}

void CheckpointSlots::save(const Checkpoint& checkpoint) {
  write_file_atomically(files_[next_], serialize(checkpoint));
  next_ = 1 - next_;
}

void CheckpointSlots::remove() noexcept {
  for (const auto& file : files_) {
    const WatchedStep step("removing", file);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
}

}  // namespace muffle::train
