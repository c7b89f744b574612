// Every kind of network, over the table: its TorchScript draws what it draws itself, bit for bit.
#include "muffle/interop/torch_script.hpp"

#include <gtest/gtest.h>
#include <torch/script.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/synth/sampler.hpp"
#include "support/expect_error.hpp"
#include "support/generators.hpp"
#include "support/planned_release.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::interop {
namespace {

using torch::Tensor;

bool takes(const model::GeneratorSettings& settings, const schema::Schema& schema) {
  settings::Problems problems;
  settings.problems(&schema, problems);
  return problems.empty();
}

schema::Schema records_for(const model::GeneratorSettings& settings) {
  for (const schema::Schema& schema : {test::schema_of({1, 8, 12}, 3), test::schema_of({5}, 3)}) {
    if (takes(settings, schema)) return schema;
  }
  return test::table_schema({4, 3, 5, 2, 6}, 3, 2);
}

/// A network whose numbers are all of some size, and its file.
struct Case {
  Case(std::shared_ptr<const model::NetworkSettings> settings, schema::Schema of)
      : generator(settings->build(of, 3, nullptr)),
        info{.generator = settings,
             .schema = std::move(of),
             .class_share = {0.3, 0.7, 0.0},
             .release_hash = "",
             .train_hash = "",
             .counts_released = true} {
    const torch::NoGradGuard no_grad;
    std::uint32_t substream = 0;
    for (auto& tensors : {generator->named_parameters(), generator->named_buffers()}) {
      for (const auto& named : tensors) {
        const CounterStream stream(7, Stream::kTest, substream++);
        const bool variance = named.key().ends_with("running_var");
        auto* const out = named.value().data_ptr<float>();
        for (std::int64_t i = 0; i < named.value().numel(); ++i) {
          const double z = stream.normal(static_cast<std::uint64_t>(i));
          out[i] = static_cast<float>(variance ? 0.5 + z * z : 0.4 * z);
        }
      }
    }
    const test::TemporaryFolder folder;
    model::save_model(folder / "model.mfl", info, model::content_of(*generator));
    const std::string bytes = read_file(folder / "model.mfl");
    model = model::parse_model(bytes, "model.mfl");
    std::istringstream exported(torch_script_bytes(model, model::take_apart(bytes, "model.mfl").header));
    script = torch::jit::load(exported);
  }

  std::shared_ptr<model::Generator> generator;
  model::ModelInfo info;
  model::Model model;
  torch::jit::Module script;
};

void expect_same_bits(const Tensor& made, const Tensor& wanted) {
  ASSERT_EQ(made.sizes(), wanted.sizes());
  ASSERT_EQ(made.scalar_type(), wanted.scalar_type());
  EXPECT_TRUE(torch::equal(made, wanted)) << (made - wanted).abs().max();
}

void expect_same_samples(Case& c, std::uint64_t seed, std::size_t count) {
  const synth::ScopedThreads one_thread(1);
  const auto signed_seed = static_cast<std::int64_t>(seed);
  const auto n = static_cast<std::int64_t>(count);
  expect_same_bits(c.script.get_method("codes")({signed_seed, std::int64_t{1000}, n}).toTensor(),
                   c.generator->codes(seed, false, 0, 1000, count));
  const auto sampled = c.script.get_method("sample")({n, torch::IValue(), signed_seed}).toTuple()->elements();
  const std::vector<double> equal(c.info.schema.classes, 1.0 / static_cast<double>(c.info.schema.classes));
  const std::vector<std::int64_t> labels =
      sampling::draw_labels(seed, false, 0, 0, count, count, equal, true);
  expect_same_bits(sampled[1].toTensor(), torch::tensor(labels));
  std::vector<float> wanted(count * c.info.schema.dims());
  for (std::size_t first = 0; first < count; first += synth::kTileRecords) {
    const std::size_t rows = std::min(synth::kTileRecords, count - first), d = c.info.schema.dims();
    c.model.sampler->draw(seed, first, std::span(labels).subspan(first, rows),
                          std::span(wanted).subspan(first * d, rows * d));
  }
  expect_same_bits(sampled[0].toTensor(), torch::tensor(wanted).view({n, -1}));
}

class EveryNetwork : public ::testing::TestWithParam<std::string> {
 protected:
  const std::shared_ptr<const model::NetworkSettings> settings_ = test::network(GetParam());
};

TEST_P(EveryNetwork, DrawsTheSameInTorchScript) {
  Case c(settings_, records_for(*settings_));
  expect_same_samples(c, 5, 1203);
  expect_same_samples(c, 0xFFFF'FFFF'FFFF'FFF0, 7);
}

TEST_P(EveryNetwork, SaysWhatTheFileSays) {
  const Case c(settings_, records_for(*settings_));
  const auto header = nlohmann::json::parse(c.script.attr("description").toStringRef());
  EXPECT_EQ(header.at("generator").at("kind"), GetParam());
  std::vector<std::string> names, wanted;
  for (const auto& p : c.script.named_parameters()) names.push_back(p.name);
  for (const auto& b : c.script.named_buffers()) names.push_back(b.name);
  for (const auto& tensor : header.at("content").at("tensors")) wanted.push_back(tensor.at("name"));
  std::sort(names.begin(), names.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(names, wanted);
}

std::vector<std::string> networks() {
  std::vector<std::string> out;
  for (const model::GeneratorKind& kind : model::generator_kinds()) {
    if (kind.make()->network() != nullptr) out.emplace_back(kind.name);
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Table, EveryNetwork, ::testing::ValuesIn(networks()), [](const auto& of) {
  std::string name = of.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(TorchScript, ANetworkWithoutHiddenLayersDrawsTheSame) {
  Case c(test::network("resnet", {{"hidden", nlohmann::json::array()}}), test::schema_of({1, 8, 12}, 3));
  expect_same_samples(c, 5, 40);
}

TEST(TorchScript, NetworksBesideAClosedFormDrawTheSame) {
  for (const auto& [kind, shape, code] : {std::tuple{"convolutional", std::vector<std::size_t>{1, 8, 12}, 9},
                                          {"resnet", {1, 8, 12}, 9},
                                          {"fully-connected", {2, 8, 8}, 8},
                                          {"fully-connected", {5}, 5}}) {
    const auto settings = test::network(kind, {{"residual", true}, {"code", code}, {"plain_share", 0.3}});
    Case c(settings, test::schema_of(shape, 3));
    expect_same_samples(c, 11, 601);
  }
}

TEST(TorchScript, LabelsFollowTheReleasedCountsWhereAsked) {
  Case c(test::network("fully-connected"), test::schema_of({5}, 3));
  const std::int64_t count = 1001;
  const Tensor labels = c.script.get_method("labels")({count, std::int64_t{9}, true}).toTensor();
  expect_same_bits(
      labels, torch::tensor(sampling::draw_labels(9, false, 0, 0, 1001, 1001, c.info.class_share, true)));
  EXPECT_EQ((labels == 2).sum().item<std::int64_t>(), 0);
}

TEST(TorchScript, RecordsAreStoredAsInSampleFiles) {
  const Tensor unit = torch::tensor({-0.5f, 0.0f, 0.1f, 0.498f, 1.0f, 1.5f});
  Case image(test::network("fully-connected"), test::schema_of({1, 1, 6}, 3));
  expect_same_bits(image.script.get_method("stored")({unit}).toTensor(),
                   torch::tensor({0, 0, 26, 127, 255, 255}, torch::kUInt8));
  schema::Schema schema = test::schema_of({5}, 3);
  schema.lo = -1;
  schema.hi = 3;
  Case vector(test::network("fully-connected"), schema);
  expect_same_bits(vector.script.get_method("stored")({unit}).toTensor(),
                   torch::tensor({-1.0f, -1.0f, static_cast<float>(-1 + 4 * static_cast<double>(0.1f)),
                                  static_cast<float>(-1 + 4 * static_cast<double>(0.498f)), 3.0f, 3.0f}));
}

}  // namespace
}  // namespace muffle::interop
