// The checkpoint's format and its two slots; no training.
#include "muffle/train/checkpoint.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::train {
namespace {

Checkpoint sample(std::uint64_t step) {
  Checkpoint c{"train", "release", "test", /*ranks=*/3, /*seed=*/7, step, 0.1, 1.0 / 3.0, {}};
  c.tensors = {{"parameter/weight", {2, 3}, {1, -2, 3.5f, 1e-30f, 0, 6}},
               {"buffer/empty", {0}, {}},
               {"adam.mean/scalar", {}, {0.1f}}};
  c.chosen = {step / 2, -0.25, {{"parameter/weight", {1}, {7}}, {"buffer/b", {2}, {8, 9}}}};
  c.curve = {{{step, 0.5}, {step + 1, 1.0 / 3.0}}, {{step / 2, -0.25}}};
  return c;
}

TEST(Checkpoint, WhatIsWrittenIsRead) {
  Checkpoint c = sample(12);
  EXPECT_EQ(parse_checkpoint(serialize(c), "here"), c);
  c.chosen.reset();
  c.is_private = false;
  EXPECT_EQ(parse_checkpoint(serialize(c), "here"), c);
  Container older = parse_container(serialize(sample(12)), "muffle-checkpoint", kCheckpointVersion, "older");
  older.header.erase("is_private");
  EXPECT_EQ(parse_checkpoint(serialize(older), "older"), sample(12));
}

TEST(Checkpoint, EveryFlippedByteAndEveryCutIsNoticed) {
  const std::string good = serialize(sample(12));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_THROW(parse_checkpoint(bad, "bad"), ProtocolError) << i;
    EXPECT_THROW(parse_checkpoint(good.substr(0, i), "cut"), ProtocolError) << i;
  }
}

/// With the right checksum, but a content that lies.
TEST(Checkpoint, LyingHeadersAreRefused) {
  const Container good =
      parse_container(serialize(sample(12)), "muffle-checkpoint", kCheckpointVersion, "good");
  const auto refused = [&](const std::string& says, const std::function<void(Container&)>& lie) {
    Container bad = good;
    lie(bad);
    test::expect_error(ExitCode::kProtocol, {"slot", says},
                       [&] { parse_checkpoint(serialize(bad), "slot"); });
  };
  refused("version", [](Container& c) { c.header["version"] = 1; });
  refused("step", [](Container& c) { c.header["step"] = -1; });
  refused("step", [](Container& c) { c.header["step"] = std::uint64_t{1} << 33; });
  refused("first_loss", [](Container& c) { c.header["first_loss"] = nullptr; });
  refused("train_hash", [](Container& c) { c.header.erase("train_hash"); });
  refused("novelty", [](Container& c) { c.header["novelty"] = 1; });
  refused("longer than the file", [](Container& c) { c.header["tensors"][0]["shape"] = {2, 4}; });
  refused("longer than the file", [](Container& c) { c.header["tensors"][0]["shape"] = {1 << 20, 1 << 20}; });
  refused("too large", [](Container& c) { c.header["tensors"][0]["shape"] = {1ll << 40, 1ll << 40}; });
  refused("behind the last", [](Container& c) { c.header["chosen"]["tensors"][1]["shape"] = {1}; });
  refused("longer than the file", [](Container& c) { c.header["chosen"]["tensors"][0]["shape"] = {2}; });
  refused("step", [](Container& c) { c.header["chosen"]["step"] = 13; });
  refused("distance", [](Container& c) { c.header["chosen"]["distance"] = nullptr; });
  refused("novelty", [](Container& c) { c.header["chosen"]["novelty"] = 1; });
  refused("chosen", [](Container& c) { c.header.erase("chosen"); });
  refused("does not ascend", [](Container& c) { c.header["curve"]["loss"]["steps"] = {2, 2}; });
  refused("values", [](Container& c) { c.header["curve"]["loss"]["values"] = {2}; });
  refused("curve", [](Container& c) { c.header.erase("curve"); });
  refused("there twice", [](Container& c) { c.header["tensors"][1]["name"] = "parameter/weight"; });
  refused("not finite", [](Container& c) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(c.payload.data(), &nan, sizeof nan);
  });
}

class Slots : public ::testing::Test {
 protected:
  void damage(const std::filesystem::path& file) {
    std::string bytes = read_file(file);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file_atomically(file, bytes);
  }
  /// The step of the checkpoint that a new process finds; 0: none.
  std::uint64_t found() {
    const auto bytes = CheckpointSlots(folder_.path()).newest("train", "release");
    return bytes ? parse_checkpoint(*bytes, "found").step : 0;
  }

  test::TemporaryFolder folder_;
  CheckpointSlots slots_{folder_.path()};
};

TEST_F(Slots, AreWrittenInTurn) {
  EXPECT_EQ(found(), 0u);
  for (std::uint64_t step = 1; step < 6; ++step) {
    slots_.save(sample(step));
    EXPECT_EQ(found(), step);
  }
  EXPECT_EQ(parse_checkpoint(read_file(slots_.slot(0)), "a").step, 5u);
  EXPECT_EQ(parse_checkpoint(read_file(slots_.slot(1)), "b").step, 4u);
  slots_.remove();
  EXPECT_EQ(found(), 0u);
}

TEST_F(Slots, ADamagedOneIsPassedOverAndReplaced) {
  slots_.save(sample(1));
  slots_.save(sample(2));
  damage(slots_.slot(1));
  EXPECT_EQ(found(), 1u);
  CheckpointSlots next(folder_.path());
  next.newest("train", "release");
  next.save(sample(3));
  EXPECT_EQ(parse_checkpoint(read_file(slots_.slot(0)), "the good one stays").step, 1u);
  EXPECT_EQ(found(), 3u);
  damage(slots_.slot(0));
  damage(slots_.slot(1));
  EXPECT_EQ(found(), 0u);
}

TEST_F(Slots, OtherSettingsAndReleasesAreNotUsed) {
  Checkpoint other = sample(9);
  other.train_hash = "other";
  slots_.save(other);
  EXPECT_EQ(found(), 0u);
  other = sample(9);
  other.release_hash = "other";
  slots_.save(other);
  EXPECT_EQ(found(), 0u);
  CheckpointSlots next(folder_.path());
  next.newest("train", "release");
  next.save(sample(2));
  EXPECT_EQ(found(), 2u);
}

TEST_F(Slots, WhatAKilledWriteLeftIsSwept) {
  slots_.save(sample(1));
  const auto left = folder_ / ".checkpoint-b.mfl.tmp.a1B2c3";
  std::ofstream(left) << "half a checkp";
  EXPECT_EQ(found(), 1u);
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(Slots, AFailedWriteLeavesTheOtherSlot) {
  slots_.save(sample(1));
  std::filesystem::create_directories(slots_.slot(1) / "in the way");
  EXPECT_THROW(slots_.save(sample(2)), IoError);
  EXPECT_EQ(found(), 1u);
}

}  // namespace
}  // namespace muffle::train
