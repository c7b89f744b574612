// Files of arrays for other programs. NumPy and PyTorch read them in tests/e2e/python_test.sh.
#include "muffle/interop/array_files.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace muffle::interop {
namespace {

model::ModelParts parts() {
  const std::vector<float> a{1.5f, -2.0f, 3.0f, 0.25f, 5.0f, 6.0f};
  const std::vector<double> b{0.1, 1e300};
  return {{{"format", "muffle-model"}, {"is_private", true}},
          {{"a.weight", {2, 3}, std::span(a)}, {"b", {2}, std::span(b)}}};
}

TEST(ArrayFiles, SafetensorsHaveAHeaderOfOffsetsAndThenTheNumbers) {
  const std::string bytes = safetensors_bytes(parts());
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  EXPECT_EQ(size % 8, 0u);
  ASSERT_EQ(bytes.size(), 8 + size + 24 + 16);
  const auto header = nlohmann::json::parse(bytes.substr(8, size));
  EXPECT_EQ(header.at("a.weight"),
            (nlohmann::json{{"dtype", "F32"}, {"shape", {2, 3}}, {"data_offsets", {0, 24}}}));
  EXPECT_EQ(header.at("b"), (nlohmann::json{{"dtype", "F64"}, {"shape", {2}}, {"data_offsets", {24, 40}}}));
  EXPECT_EQ(header.size(), 3u);
  EXPECT_EQ(nlohmann::json::parse(header.at("__metadata__").at("muffle").get<std::string>()), parts().header);
  EXPECT_EQ(std::memcmp(bytes.data() + 8 + size, parts().arrays[0].bytes.data(), 24), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + 8 + size + 24, parts().arrays[1].bytes.data(), 16), 0);
}

TEST(ArrayFiles, EqualModelsMakeEqualArchives) {
  EXPECT_EQ(npz_bytes(parts()), npz_bytes(parts()));
  model::ModelParts others = parts();
  others.arrays[1].bytes[3] ^= std::byte{1};
  EXPECT_NE(npz_bytes(parts()), npz_bytes(others));
}

TEST(ArrayFiles, MembersAreStoredBehindHeadersOfAMultipleOf64) {
  const std::string archive = npz_bytes(parts());
  for (const char* name : {"description.npy", "a.weight.npy", "b.npy"})
    EXPECT_NE(archive.find(name), std::string::npos) << name;
  const std::size_t at = archive.find("\x93NUMPY", archive.find("\x93NUMPY") + 1);
  ASSERT_NE(at, std::string::npos);
  const std::size_t length = static_cast<unsigned char>(archive[at + 8]) |
                             std::size_t{static_cast<unsigned char>(archive[at + 9])} << 8;
  EXPECT_EQ((10 + length) % 64, 0u);
  EXPECT_EQ(archive.substr(at + 10, 62), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   ");
  EXPECT_EQ(archive.substr(at + 10 + length, 24),
            std::string(reinterpret_cast<const char*>(parts().arrays[0].bytes.data()), 24));
}

}  // namespace
}  // namespace muffle::interop
