// Maps that run a network: which files they take, and what they make of records.
#include "muffle/networks/network.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "embed/shards.hpp"
#include "features/features_fixture.hpp"
#include "muffle/networks/network_block.hpp"
#include "support/expect_error.hpp"
#include "support/networks.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::networks {
namespace {

using features::Lattice;
using features::Records;
using test::MapKeys;
using test::NetworkFile;
using torch::Tensor;

const schema::Schema kImages = test::schema_of({3, 8, 8}, 3);

std::shared_ptr<features::FeatureMap> perceptual(MapKeys keys = {}, const schema::Schema& schema = kImages,
                                                 const std::string& network = test::small_network()) {
  keys.insert(keys.begin(), {"network", network});
  return test::make_map("perceptual", keys, schema);
}

const features::PerceptualSpec& spec_of(const features::FeatureMap& map) {
  return dynamic_cast<const features::PerceptualMap&>(map).spec();
}

class NetworkFiles : public ::testing::Test {
 protected:
  std::string written(const NetworkFile& network) {
    return test::write_network(folder_ / "n.pt", network).string();
  }
  /// Of the map or of its block.
  void refuses(const NetworkFile& network, std::initializer_list<std::string> parts) {
    SCOPED_TRACE(network.body + network.forked);
    test::expect_error(ExitCode::kConfig, parts,
                       [&] { make_network_block(*perceptual({}, kImages, written(network)), {}); });
  }
  const test::TemporaryFolder folder_;
};

TEST_F(NetworkFiles, WhatIsNoNetworkOfTheMapIsRefused) {
  test::expect_error(ExitCode::kConfig, {"no such file"},
                     [] { perceptual({}, kImages, "/nonexistent/n.pt"); });
  test::expect_error(ExitCode::kConfig, {"network is required"},
                     [] { test::make_map("perceptual", {}, kImages); });
  std::filesystem::copy_file(test::small_network(), folder_ / "cut.pt");
  std::filesystem::resize_file(folder_ / "cut.pt", 1000);
  test::expect_error(ExitCode::kConfig, {"no TorchScript file"},
                     [&] { perceptual({}, kImages, (folder_ / "cut.pt").string()); });
  refuses({.manifest = "none"}, {"extra/muffle.json"});
  refuses({.manifest = R"({"format": "muffle network", "version": 2})"}, {"version"});
  refuses({.license = "as you like it"}, {"license", "SPDX"});
  refuses({.signs = "positive"}, {"signs"});
  refuses(
      {.layers =
           R"([{"name": "a", "channels": 4, "height": 8, "width": 8}, {"name": "a", "channels": 5, "height": 4, "width": 4}])"},
      {"layers", "twice"});
  refuses({.layers = R"([{"name": "first", "channels": 4, "height": 8, "width": 8}])"},
          {"2 tensors", "1 outputs"});
  refuses(
      {.layers =
           R"([{"name": "first", "channels": 4, "height": 8, "width": 8}, {"name": "second", "channels": 5, "height": 4, "width": 5}])"},
      {"second", "3 x 5 x 4 x 4", "3 x 5 x 4 x 5"});
}

TEST_F(NetworkFiles, WhatTheNetworkMakesIsTriedBeforeItIsUsed) {
  const std::string one = R"([{"name": "s", "channels": 3, "height": 8, "width": 8}])";
  refuses({.body = "    return [torch.log(x)]\n", .layers = one}, {"not finite"});
  refuses({.body = "    return [x]\n", .layers = one}, {"non-negative", "negative numbers"});
  refuses({.body = "    return [(x - x[:, :1].min()) / (x[:, :1].max() - x[:, :1].min())]\n", .layers = one},
          {"not finite"});
  refuses({.body = "    return [torch.relu(x) + 0.01 - x.std()]\n", .signs = "non-negative", .layers = one},
          {"negative"});
  refuses({.body = "    return [x.double()]\n", .signs = "any", .layers = one}, {"float32"});
  refuses({.body = "    return [torch.conv2d(x, self.v)]\n", .layers = one}, {"cannot be used"});
  EXPECT_NO_THROW(make_network_block(
      *perceptual({}, kImages, written({.body = "    return [x]\n", .signs = "any", .layers = one})), {}));
}

/// One record's features are a function of that record alone: what keeps something of an image is refused,
/// and what looks at a batch's images together sees one at a time.
TEST_F(NetworkFiles, NoImageHasAPartInAnothersOutputs) {
  const std::string one = R"([{"name": "s", "channels": 3, "height": 8, "width": 8}])";
  refuses(
      {.body = "    self.seen = self.seen + 1.0\n    return [torch.sigmoid(x) * self.seen]\n", .layers = one},
      {"attributes"});
  refuses(
      {.body = "    self.b.add_(x.mean())\n    return [torch.sigmoid(x + self.b.mean())]\n", .layers = one},
      {"attributes"});
  refuses(
      {.body = "    s = [self.b]\n    s[0].add_(x.mean())\n    return [torch.sigmoid(x + self.b.mean())]\n",
       .layers = one},
      {"attributes"});
  refuses({.body = "    return [torch.sigmoid(x)]\n", .layers = one, .keeps_in_constant = true},
          {"constants"});
  for (const std::string norm : {"batch_norm", "instance_norm"})
    refuses({.body = "    return [torch.sigmoid(torch." + norm +
                     "(x, None, None, self.b[:3], self.b[2:], True, 0.1, 1e-5, False))]\n",
             .layers = one},
            {"attributes"});
  // The process has one generator of random numbers: an image could seed it, and the next one's outputs tell.
  // Memory that nobody wrote holds what was there before.
  for (const auto& [body, operation] :
       {std::pair("    torch.manual_seed(int(x.mean() * 1000))\n    return [torch.sigmoid(x)]\n",
                  "manual_seed"),
        std::pair("    return [torch.sigmoid(x) * torch.rand(1)]\n", "aten::rand"),
        std::pair("    return [torch.sigmoid(x).bernoulli_()]\n", "aten::bernoulli_"),
        std::pair("    return [torch.sigmoid(x + torch.empty(1))]\n", "aten::empty"),
        std::pair("    return [torch.dropout(torch.sigmoid(x), 0.5, True)]\n", "aten::dropout")})
    refuses({.body = body, .layers = one}, {operation, "nothing else", "perceptual.md"});
  for (const char* body :
       {"    return [torch.dropout(torch.sigmoid(x), 0.5, False)]\n",
        "    return [torch.dropout(torch.sigmoid(x), 0.5, self.training)]\n",
        "    return [torch.sigmoid(torch.instance_norm(x, None, None, None, None, True, 0.1, "
        "1e-5, False))]\n"})
    EXPECT_NO_THROW(make_network_block(*perceptual({}, kImages, written({.body = body, .layers = one})), {}))
        << body;
  for (const char* body : {"    print(x)\n    return [torch.sigmoid(x)]\n",
                           "    if bool(x.sum() > 1e9):\n      print(x)\n    return [torch.sigmoid(x)]\n",
                           "    torch.warn(str(x), 2)\n    return [torch.sigmoid(x)]\n",
                           "    seen = torch.from_file('/tmp/muffle-network-test', True, 192)\n"
                           "    seen.copy_(x[0].flatten())\n"
                           "    return [torch.sigmoid(x + seen.mean())]\n",
                           "    torch.save(x, '/tmp/muffle-network-test')\n    return [torch.sigmoid(x)]\n"})
    refuses({.body = body, .layers = one}, {"would tell of records"});
  for (const char* forked : {"    print(x)\n    return x\n", "    return self.b.add_(x.mean())\n"})
    refuses({.body = "    return [torch.sigmoid(x)]\n", .layers = one, .forked = forked},
            {"cannot look into", "torch.jit.fork"});
  // Where images are seen one by one, a batch of one is what it is tried with.
  refuses(
      {.body = "    return [torch.sigmoid(x).reshape([3 * (x.size(0) - 1) // (x.size(0) - 1), 3, 8, 8])]\n",
       .layers = one},
      {"cannot be used"});
  const auto tile = [&](const std::string& body) {
    const auto map = perceptual({}, kImages, written({.body = body, .signs = "any", .layers = one}));
    const auto block = make_network_block(*map, {});
    const Records records(5, 192, 1);
    std::vector<std::uint64_t> alone(map->features());
    for (std::size_t i = 0; i < records.n; ++i) {
      const auto own = features::features_of(*block, records.row(i));
      for (std::size_t j = 0; j < own.size(); ++j) alone[j] += static_cast<std::uint64_t>(own[j]);
    }
    EXPECT_EQ(features::sums_of(*block, records, 1), alone) << body;
    return block->tile();
  };
  EXPECT_EQ(tile("    return [x - x.mean([0], True) + x.mean([0, 1], True)]\n"), 1u);
  EXPECT_EQ(tile("    return [torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)]\n"), 1u);
  EXPECT_EQ(tile("    return [torch.conv2d(x, x[:3], None, [1, 1], [4, 4])[:, :, :8, :8] + x.flip(0)]\n"),
            1u);
  tile("    return [torch.tanh(x)]\n");
  EXPECT_GT(make_network_block(*perceptual(), {})->tile(), 0u);
}

TEST_F(NetworkFiles, WhatANetworkSaysOfAnImageIsNotShown) {
  const std::string one = R"([{"name": "s", "channels": 3, "height": 8, "width": 8}])";
  const auto map = perceptual(
      {}, kImages,
      written({.body = "    assert bool(x.max() < 1e6), 'SEEN ' + str(x)\n    return [torch.sigmoid(x)]\n",
               .layers = one}));
  const auto block = make_network_block(*map, {});
  std::vector<float> image(192, 0.5f);
  EXPECT_NO_THROW((void)features::features_of(*block, image.data()));
  // A round between institutions does not even begin with it: all would see that this site fails.
  test::expect_error(ExitCode::kConfig, {"everybody sees", "No record was read"},
                     [&] { make_plain_network_block(*map, {}); });
  EXPECT_NO_THROW(make_plain_network_block(*perceptual(), {}));
  image[7] = 1.25e9f;
  test::expect_error(ExitCode::kConfig, {"fails on an image", "not shown"}, [&] {
    try {
      (void)features::features_of(*block, image.data());
    } catch (const Error& e) {
      for (const std::string& told : {std::string(e.what()), e.local_detail()}) {
        EXPECT_EQ(told.find("SEEN"), std::string::npos) << told;
        EXPECT_EQ(told.find("1.25"), std::string::npos) << told;
      }
      throw;
    }
  });
}

TEST_F(NetworkFiles, AnotherFileInItsPlaceIsRefused) {
  const std::string file = written({});
  const auto map = perceptual({}, kImages, file);
  EXPECT_NO_THROW(make_network_block(*map, {}));
  written({.body = "    a = torch.sigmoid(torch.conv2d(x, self.w, None, [1, 1], [1, 1]))\n    return [a, "
                   "torch.sigmoid(torch.conv2d("
                   "torch.max_pool2d(a, [2, 2]), self.v, self.b, [1, 1], [1, 1]))]\n"});
  test::expect_error(ExitCode::kConfig, {"SHA-256", file}, [&] { make_network_block(*map, {}); });
}

TEST_F(NetworkFiles, SettingsThatDoNotFitAreRefused) {
  const auto refused = [](const MapKeys& keys, const schema::Schema& schema,
                          std::initializer_list<std::string> parts) {
    test::expect_error(ExitCode::kConfig, parts, [&] { perceptual(keys, schema); });
  };
  refused({}, test::schema_of({3, 8, 9}), {"8 x 8", "8 x 9", "resize"});
  refused({}, test::schema_of({2, 8, 8}), {"3 channels", "2"});
  refused({}, test::schema_of({5}), {"images"});
  refused({{"layers", "[\"third\"]"}}, kImages, {"third", "first, second"});
  refused({{"weights", "[\"third=2\"]"}}, kImages, {"third"});
  refused({{"weights", "[\"first=2\"]"}, {"norm", "whole"}}, kImages, {"weights", "norm"});
}

TEST_F(NetworkFiles, OutputsMayComeInATupleADictionaryOrAlone) {
  const std::string pooled = R"([{"name": "p", "channels": 3, "height": 1, "width": 1}])";
  const Records records(3, 192, 1);
  const auto sums = [&](const std::string& body) {
    const auto map = perceptual({}, kImages, written({.body = body, .signs = "any", .layers = pooled}));
    return features::sums_of(*make_network_block(*map, {}), records, 1);
  };
  const auto expected = sums("    return [x.mean([2, 3], True)]\n");
  EXPECT_EQ(sums("    return x.mean([2, 3])\n"), expected);
  EXPECT_EQ(sums("    return (x.mean([2, 3]),)\n"), expected);
  EXPECT_EQ(sums("    return {\"p\": x.mean([2, 3])}\n"), expected);
}

/// The definition, in double, from the network's own outputs.
std::vector<double> plainly(const features::PerceptualSpec& spec, const Tensor& x) {
  const Network network(spec, torch::TensorOptions(torch::kFloat32));
  const torch::NoGradGuard no_grad;
  const std::vector<Tensor> outputs = network.outputs(x);
  double weights = 0;
  for (const double w : spec.weights) weights += w * w;
  std::vector<double> phi;
  for (std::uint64_t moment = 1; moment <= spec.moments; ++moment) {
    std::vector<Tensor> layers;
    for (const Tensor& output : outputs) {
      Tensor values = output.to(torch::kFloat64).pow(static_cast<double>(moment));
      if (spec.pooled) values = values.mean({2, 3});
      layers.push_back(values.flatten());
    }
    const double whole = torch::cat(layers).norm().item<double>();
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const double norm =
          spec.whole ? whole : layers[l].norm().item<double>() * std::sqrt(weights) / spec.weights[l];
      const Tensor part = layers[l] / (norm * std::sqrt(static_cast<double>(spec.moments)));
      for (std::int64_t i = 0; i < part.numel(); ++i) phi.push_back(part[i].item<double>());
    }
  }
  return phi;
}

TEST(PerceptualMap, FeaturesAreTheNormedOutputs) {
  const Lattice lattice;
  for (const MapKeys& keys :
       {MapKeys{}, MapKeys{{"moments", "2"}, {"weights", "[\"first=0.5\"]"}}, MapKeys{{"norm", "whole"}},
        MapKeys{{"norm", "whole"}, {"moments", "2"}}, MapKeys{{"pool", "channel"}, {"moments", "2"}}}) {
    const auto map = perceptual(keys);
    const auto block = make_network_block(*map, lattice);
    const Records records(2, 192, 1);
    for (std::size_t i = 0; i < records.n; ++i) {
      Tensor x = torch::empty({1, 192});
      std::copy_n(records.row(i), 192, x.data_ptr<float>());
      const std::vector<double> expected = plainly(spec_of(*map), x);
      const auto values = features::features_of(*block, records.row(i));
      ASSERT_EQ(values.size(), expected.size());
      ASSERT_EQ(values.size(), map->features());
      double squares = 0;
      for (std::size_t j = 0; j < values.size(); ++j) {
        const double value = static_cast<double>(values[j]) / static_cast<double>(lattice.scale());
        ASSERT_NEAR(value, expected[j], 1e-6) << j;
        squares += value * value;
      }
      EXPECT_NEAR(squares, 1.0, 1e-4);
      EXPECT_LE(squares, 1.0);
    }
  }
}

/// A dark red makes this network's only number negative, and the trial does not show it.
TEST(PerceptualMap, ARecordOfAnotherSignThanDeclaredAddsNothing) {
  const test::TemporaryFolder folder;
  NetworkFile network{.body = "    return torch.abs(x[:, :1] + 2.5 / 3).mean([1, 2, 3], True) - 0.1\n",
                      .layers = R"([{"name": "s", "channels": 1, "height": 1, "width": 1}])"};
  std::vector<float> x(2 * 192, 1.0f);
  std::fill_n(x.begin(), 192, 0.25f);
  const std::vector<std::int32_t> y{0, 0};
  for (const bool declared : {true, false}) {
    network.signs = declared ? "non-negative" : "any";
    const auto map = perceptual({}, kImages, test::write_network(folder / "s.pt", network).string());
    EXPECT_EQ(map->bound().nonnegative_kernel, declared);
    const auto block = make_network_block(*map, {});
    std::vector<std::uint64_t> sums(3);
    const auto workspace = block->make_workspace();
    std::uint64_t nothing = 0;
    for (std::size_t i = 0; i < 2; ++i)
      nothing += block->accumulate(x.data() + 192 * i, y.data() + i, 1, *workspace, sums);
    EXPECT_EQ(nothing, declared ? 1u : 0u);
    const std::int64_t one = Lattice{}.scale();
    EXPECT_EQ(static_cast<std::int64_t>(sums[0]), declared ? one : 0);
  }
}

/// A dim image's output would be denormal, and its time another than a bright one's.
TEST(PerceptualMap, NoImageMakesDenormalNumbers) {
#if defined(__SSE2__)
  const test::TemporaryFolder folder;
  const NetworkFile network{.body = "    return x.mean([1, 2, 3], True) * 1e-37\n",
                            .signs = "any",
                            .layers = R"([{"name": "s", "channels": 1, "height": 1, "width": 1}])"};
  const auto map = perceptual({}, kImages, test::write_network(folder / "s.pt", network).string());
  const auto block = make_network_block(*map, {});
  // What the network sees of the second one is 0.01 everywhere (test::NetworkFile's input).
  const std::vector<float> bright(192, 1.0f);
  std::vector<float> dim;
  for (const float value : {0.5f + 0.01f * 0.3f, 0.4f + 0.01f * 0.25f, 0.3f + 0.01f * 0.2f})
    dim.resize(dim.size() + 64, value);
  EXPECT_EQ(features::features_of(*block, bright.data()).at(0), Lattice{}.scale());
  EXPECT_EQ(features::features_of(*block, dim.data()).at(0), 0);
  volatile float small = 1e-30f;
  EXPECT_NE(small * 1e-12f, 0.0f);  // and only there
#else
  GTEST_SKIP() << "only x86 is slowed by them";
#endif
}

TEST(PerceptualMap, SumsAreTheSameForAnyRanksThreadsAndTiles) {
  const data::Batch records = [] {
    const Records made(75, 192, 3);
    data::Batch batch;
    batch.n = made.n;
    batch.x = made.x;
    batch.y = made.y;
    return batch;
  }();
  const privacy::PrivacySpec privacy{.epsilon = {}, .noise_multiplier = 1.0, .max_records_per_person = 1};
  const embed::Embedder embedder = embed::make_embedder(
      release::make_plan(
          {kImages, {}, {test::named("vgg", perceptual({{"moments", "2"}}))}, privacy, true, 75}),
      make_network_block);
  std::vector<std::uint64_t> expected;
  int threads = 1;
  for (const std::size_t ranks : {1, 2, 3}) {
    for (const test::Deal deal :
         {test::Deal::kContiguous, test::Deal::kRoundRobin, test::Deal::kShuffledUneven}) {
      std::vector<std::uint64_t> total(embedder.plan.size());
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        test::MemorySource source(records, test::shard(records.n, deal, rank, ranks),
                                  threads % 2 == 0 ? 7 : 1000);
        const auto part = embed::TestAccess::values(embed::embed_shard(embedder, source, threads, {}));
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
      }
      threads = threads % 4 + 1;
      if (expected.empty()) expected = total;
      EXPECT_EQ(total, expected) << ranks << " ranks";
    }
  }
}

TEST(PerceptualMap, AReleaseStatesTheFileAndNeverWhereItLies) {
  const auto map = perceptual({{"moments", "2"}});
  const std::string stated = map->to_json().dump();
  EXPECT_EQ(stated.find(test::small_network()), std::string::npos);
  EXPECT_NE(stated.find("\"license\":\"MIT\""), std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(stated);
  const JsonDocument document{"x.mfl", "a release", ""};
  const auto theirs = features::make_map("perceptual");
  theirs->read_json(JsonFields(json, document, "map."));
  theirs->resolve(kImages);
  EXPECT_TRUE(theirs->asset()->file.empty());
  test::expect_error(ExitCode::kConfig, {theirs->asset()->digest, "network"},
                     [&] { make_network_block(*theirs, {}); });
  std::vector<features::NamedMap> maps{test::named("theirs", std::shared_ptr(theirs->clone()))};
  features::find_assets(maps, {{"0000", "/nonexistent.pt"}});
  EXPECT_TRUE(std::as_const(*maps[0].map).asset()->file.empty());
  features::find_assets(maps, {{map->asset()->digest, test::small_network()}});
  const Records records(20, 192, 3);
  EXPECT_EQ(features::sums_of(*make_network_block(*maps[0].map, {}), records, 3),
            features::sums_of(*make_network_block(*map, {}), records, 3));
}

/// What a release says of a network is printed, and decides how much memory an image takes: it is the file's
/// own word.
TEST(PerceptualMap, WhatAReleaseSaysOfAFileIsWhatTheFileSays) {
  const nlohmann::json stated = perceptual({{"moments", "2"}})->to_json();
  const auto opens = [](const nlohmann::json& json) {
    const JsonDocument document{"x.mfl", "a release", ""};
    const std::shared_ptr<features::FeatureMap> theirs = features::make_map("perceptual");
    theirs->read_json(JsonFields(json, document, "map."));
    theirs->resolve(kImages);
    std::vector<features::NamedMap> maps{test::named("theirs", theirs)};
    features::find_assets(maps, {{theirs->asset()->digest, test::small_network()}});
    make_network_block(*maps[0].map, {});
  };
  EXPECT_NO_THROW(opens(stated));
  for (const auto& [at, value] :
       std::vector<std::pair<std::string, nlohmann::json>>{{"/network/license", "Apache-2.0"},
                                                           {"/network/flops", 5.0},
                                                           {"/signs", "any"},
                                                           {"/input/scale", 255.0},
                                                           {"/input/order", "bgr"}}) {
    nlohmann::json other = stated;
    other[nlohmann::json::json_pointer(at)] = value;
    test::expect_error(ExitCode::kConfig, {"than the file itself"}, [&] { opens(other); });
  }
}

TEST(PerceptualMap, ALotOfFeaturesIsSaidToTakeBoundedMemory) {
  const auto one = perceptual()->cost(), two = perceptual({{"moments", "2"}})->cost();
  const std::size_t d = perceptual()->features();
  EXPECT_EQ(d, 4u * 64 + 5 * 16);
  EXPECT_GE(one.bytes_per_thread, 16 * (4 * d + 4 * d)) << "a tile's outputs and their lattice values";
  EXPECT_EQ(two.bytes_per_thread - one.bytes_per_thread, 16 * 4 * d);
  EXPECT_GE(one.bytes, std::filesystem::file_size(test::small_network()));
}

}  // namespace
}  // namespace muffle::networks
