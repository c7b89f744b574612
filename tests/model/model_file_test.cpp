#include "muffle/model/model_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"

namespace muffle::model {
namespace {

using ::testing::HasSubstr;
using torch::Tensor;

class ModelFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("muffle-model-test-{}", ::getpid());
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "model.mfl";
    info_.spec.hidden = {12};
    info_.spec.channels = {4, 3};
    info_.spec.schema.shape = {1, 8, 8};
    info_.spec.schema.classes = 3;
    info_.spec.schema.lo = -0.1;
    info_.spec.schema.on_error = schema::OnError::kClamp;
    info_.class_share = {0.25, 0.5, 0.25};
    info_.release_hash = "abc";
    info_.train_hash = "def";
    info_.is_private = false;
    info_.counts_released = true;
    generator_ = make_generator(info_.spec, 3, nullptr);
    generator_->forward(latent_codes(1, true, 0, 0, 20, 5),
                        torch::arange(20) % 3);  // moves the running statistics
    hash_ = save_model(path_, info_, *generator_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Rewrites the file with a valid checksum and expects the reader to refuse it for what it says.
  void refused(const std::function<void(Container&)>& forge, const std::string& hint) {
    Container file = read_container(path_, "muffle-model", kModelVersion);
    forge(file);
    try {
      parse_model(serialize(file), "forged.mfl");
      ADD_FAILURE() << "accepted: " << hint;
    } catch (const ProtocolError& e) {
      EXPECT_EQ(static_cast<int>(e.code()), 76);
      EXPECT_THAT(e.what(), HasSubstr("forged.mfl"));
      EXPECT_THAT(e.what(), HasSubstr(hint));
    }
  }

  std::filesystem::path folder_, path_;
  ModelInfo info_;
  std::shared_ptr<Generator> generator_;
  std::string hash_;
};

TEST_F(ModelFile, RoundTrip) {
  EXPECT_EQ(hash_, sha256_file_hex(path_.string()));
  const auto [info, loaded] = load_model(path_);
  EXPECT_EQ(info.spec.kind, info_.spec.kind);
  EXPECT_EQ(info.spec.hidden, info_.spec.hidden);
  EXPECT_EQ(info.spec.channels, info_.spec.channels);
  EXPECT_EQ(info.spec.code, info_.spec.code);
  EXPECT_EQ(info.spec.schema.shape, info_.spec.schema.shape);
  EXPECT_EQ(info.spec.schema.classes, info_.spec.schema.classes);
  EXPECT_EQ(info.spec.schema.lo, info_.spec.schema.lo);
  EXPECT_EQ(info.spec.schema.hi, info_.spec.schema.hi);
  EXPECT_EQ(info.spec.schema.on_error, info_.spec.schema.on_error);
  EXPECT_EQ(info.class_share, info_.class_share);
  EXPECT_EQ(info.release_hash, "abc");
  EXPECT_EQ(info.train_hash, "def");
  EXPECT_FALSE(info.is_private);
  EXPECT_TRUE(info.counts_released);
  EXPECT_EQ(load_model_info(path_).class_share, info_.class_share);

  EXPECT_FALSE(loaded->is_training());
  generator_->eval();
  const Tensor z = latent_codes(1, false, 0, 0, 5, 5), y = torch::arange(5) % 3;
  EXPECT_TRUE(torch::equal(generator_->forward(z, y), loaded->forward(z, y)));
  for (const auto& b : generator_->named_buffers()) {
    EXPECT_TRUE(torch::equal(b.value(), loaded->named_buffers()[b.key()])) << b.key();
  }
}

TEST_F(ModelFile, FullyConnectedRoundTrip) {
  info_.spec.kind = GeneratorKind::kFullyConnected;
  info_.spec.hidden = {4, 7};
  const auto generator = make_generator(info_.spec, 3, nullptr);
  save_model(path_, info_, *generator);
  generator->eval();
  const Tensor z = latent_codes(1, false, 0, 0, 5, 5), y = torch::arange(5) % 3;
  EXPECT_TRUE(torch::equal(generator->forward(z, y), load_model(path_).second->forward(z, y)));
}

TEST_F(ModelFile, AnyFlippedByteIsRefused) {
  const std::string bytes = read_file(path_);
  for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 97) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    EXPECT_THROW(parse_model(bad, "bad"), ProtocolError) << at;
  }
  EXPECT_THROW(parse_model(bytes.substr(0, bytes.size() / 2), "half"), ProtocolError);
  EXPECT_THROW(parse_model("", "empty"), ProtocolError);
}

TEST_F(ModelFile, LyingHeadersAreRefused) {
  refused([](Container& f) { f.header["generator"]["hidden"] = {1u << 23}; }, "do not fit the generator");
  refused([](Container& f) { f.header["generator"]["hidden"] = {-1}; }, "'hidden'");
  refused([](Container& f) { f.header["generator"]["kind"] = "transformer"; }, "unknown kind");
  refused([](Container& f) { f.header["generator"]["channels"] = {3, 4}; }, "do not fit the generator");
  refused([](Container& f) { f.header["schema"]["shape"] = {1, 8, 6}; }, "do not fit");
  refused([](Container& f) { f.header["schema"].erase("lo"); }, "lacks the key 'lo'");
  refused([](Container& f) { f.header["schema"]["hi"] = "255"; }, "'hi'");
  refused([](Container& f) { f.header["extra"] = 1; }, "unknown key 'extra'");
  refused([](Container& f) { f.header["class_share"] = {0.5, 0.5}; }, "class share");
  refused([](Container& f) { f.header["class_share"] = {0.5, 0.5, 0.5}; }, "sum to 1.5");
  refused([](Container& f) { f.header["is_private"] = "yes"; }, "'is_private'");
  refused([](Container& f) { f.header["tensors"][0]["name"] = "other"; }, "tensor 0");
  refused([](Container& f) { f.header["tensors"][1]["offset"] = 0; }, "tensor 1");
  refused([](Container& f) { f.header["tensors"].erase(0); }, "does not list");
  refused([](Container& f) { f.payload.resize(f.payload.size() - 4); }, "do not fit");
  refused(
      [](Container& f) {
        const float nan = std::nanf("");
        std::memcpy(f.payload.data(), &nan, sizeof nan);
      },
      "not finite");
}

TEST_F(ModelFile, AMissingFileIsAnIoErrorAndADivergedModelIsNotSaved) {
  EXPECT_THROW(load_model(folder_ / "absent.mfl"), IoError);
  {
    const torch::NoGradGuard no_grad;
    generator_->parameters()[0].fill_(std::nanf(""));
  }
  EXPECT_THROW(save_model(folder_ / "nan.mfl", info_, *generator_), InvariantError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "nan.mfl"));
}

}  // namespace
}  // namespace muffle::model
