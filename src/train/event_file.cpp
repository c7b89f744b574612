#include "muffle/train/event_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>

#include "muffle/core/watchdog.hpp"

namespace muffle::train {
namespace {

/// CRC-32C (Castagnoli), reflected, byte by byte: a few kilobytes a training.
std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < t.size(); ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0x82F63B78u : 0u);
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t crc = ~0u;
  for (const char b : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(b)) & 0xFF];
  return ~crc;
}

/// As TFRecord stores it, so that a checksum of data with checksums in it is no degenerate case.
std::uint32_t masked(std::uint32_t crc) { return std::rotr(crc, 15) + 0xA282EAD8u; }

template <class T>
std::string little_endian(T value) {
  std::string out;
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  return out += static_cast<char>(value);
}

// Protobuf fields: a tag, (number << 3) | wire type, and the value.
std::string double_field(int number, double v) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 1) + little_endian(std::bit_cast<std::uint64_t>(v));
}
std::string float_field(int number, float v) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(v));
}
std::string varint_field(int number, std::uint64_t v) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(v);
}
std::string bytes_field(int number, std::string_view bytes) {
  return (varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size())).append(bytes);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string tf_record(std::string_view event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  return length + little_endian(masked(crc32c(length))) + std::string(event) +
         little_endian(masked(crc32c(event)));
}

EventFile::EventFile(const std::filesystem::path& folder, const std::string& host, bool time_is_public,
                     std::uint64_t resumed_at)
    : out_(-1) {
  constexpr double kDay = 86400;
  if (!time_is_public) day_ = std::floor(now_s() / kDay) * kDay;
  file_ = folder / fmt::format("events.out.tfevents.{}.{}.{}", static_cast<long long>(wall_s(resumed_at)),
                               host, ::getpid());
  const WatchedStep step("opening", file_);
  std::error_code reported_by_write;
  std::filesystem::create_directories(folder, reported_by_write);
  // Through no link: what else it leads to would be cut off.
  out_ = FileDescriptor(::open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (out_.get() < 0) give_up();
  write(double_field(1, wall_s(resumed_at)) + bytes_field(3, "brain.Event:2"));
  constexpr std::uint64_t kStart = 1;  // SessionLog.START: what is of this step or later is void
  write(double_field(1, wall_s(resumed_at)) + varint_field(2, resumed_at + 1) +
        bytes_field(7, varint_field(1, kStart)));
}

double EventFile::wall_s(std::uint64_t step) const {
  return day_ ? *day_ + static_cast<double>(step) : now_s();
}

EventFile::~EventFile() {
  const WatchedStep step("closing", file_);
  static_cast<void>(out_.close());
}

void EventFile::add(std::uint64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    summary += bytes_field(1, bytes_field(1, tag) + float_field(2, static_cast<float>(value)));
  }
  write(double_field(1, wall_s(step)) + varint_field(2, step) + bytes_field(5, summary));
}

void EventFile::write(const std::string& event) {
  if (out_.get() < 0) return;
  const WatchedStep step("writing", file_);
  if (write_all(out_.get(), tf_record(event)) != 0) give_up();
}

void EventFile::give_up() {
  static_cast<void>(out_.close());
  spdlog::warn("train: no curves for TensorBoard: '{}' cannot be written", file_.string());
}

}  // namespace muffle::train
