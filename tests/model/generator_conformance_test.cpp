// What every kind of generator promises, over the table: a new kind is tested by being in it.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>

#include "muffle/core/container.hpp"
#include "muffle/core/files.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/sync_batch_norm.hpp"
#include "pair_graph/stepped_release.hpp"
#include "support/expect_error.hpp"
#include "support/generators.hpp"
#include "support/planned_release.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::model {
namespace {

using nlohmann::json;

bool takes(const GeneratorSettings& settings, const schema::Schema& schema) {
  settings::Problems problems;
  settings.problems(&schema, problems);
  return problems.empty();
}

/// An image, or columns or a table for a kind that takes none.
schema::Schema records_for(const GeneratorSettings& settings) {
  for (const schema::Schema& schema : {test::schema_of({2, 8, 12}, 3), test::schema_of({5}, 3)}) {
    if (takes(settings, schema)) return schema;
  }
  return test::table_schema({4, 3, 5, 2, 6}, 3, settings.network() == nullptr ? 0 : 2);
}

class EveryGenerator : public ::testing::TestWithParam<GeneratorKind> {
 protected:
  ModelInfo info() const {
    schema::Schema schema = schema_;
    if (!schema.table) schema.lo = -0.1;
    schema.on_error = schema::OnError::kClamp;
    return {.generator = settings_,
            .schema = schema,
            .class_share = {0.25, 0.5, 0.25},
            .release_hash = "abc",
            .train_hash = "def",
            .is_private = false,
            .counts_released = true,
            .choice = ProxyChoice{true, 2e-3, 1e-3, 1e-4, 2e-4}};
  }
  ModelContent content() const {
    const ClosedFormSettings* form = settings_->closed_form();
    if (form == nullptr) return content_of(*built(*settings_->network()));
    for (const features::MapKind& kind : features::map_kinds()) {
      std::shared_ptr<const features::FeatureMap> map = test::small_map(kind.name, schema_);
      settings::Problems problems;
      if (map) form->release_problems(schema_, {test::named("m", map)}, problems);
      if (map && problems.empty()) return form->fit(test::random_release(schema_, map, 90), {});
    }
    const test::SteppedRelease steps = test::decoder_release(schema_);
    settings::Problems problems;
    form->release_problems(schema_, steps.maps, problems);
    if (problems.empty()) return form->fit(steps.whole(), {});
    throw std::logic_error("no map of the table is what this closed form is made of");
  }
  std::shared_ptr<Generator> built(const NetworkSettings& network) const {
    const auto generator = network.build(schema_, 3, nullptr);
    generator->forward(generator->codes(1, true, 0, 0, 20),
                       torch::arange(20) % 3);  // moves the running statistics
    return generator;
  }
  std::string write() const {
    save_model(file_, info(), content());
    return read_file(file_);
  }
  std::vector<float> draw(const Sampler& sampler, std::uint64_t first,
                          const std::vector<std::int64_t>& labels) const {
    std::vector<float> out(labels.size() * schema_.dims());
    sampler.draw(5, first, labels, out);
    return out;
  }

  const std::shared_ptr<const GeneratorSettings> settings_ = GetParam().make();
  const schema::Schema schema_ = records_for(*settings_);
  test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "model.mfl";
};

TEST_P(EveryGenerator, IsNetworkOrClosedFormUnderItsNameInTheTable) {
  EXPECT_EQ(settings_->kind(), GetParam().name);
  EXPECT_NE(settings_->network() == nullptr, settings_->closed_form() == nullptr);
  EXPECT_FALSE(GetParam().summary.empty());
  EXPECT_TRUE(takes(*settings_, schema_));
}

TEST_P(EveryGenerator, SettingsGoToJsonAndBackAndToClones) {
  const std::unique_ptr<GeneratorSettings> changed = GetParam().make();
  settings::Keys declared("model", settings::Stage::kTrain);
  changed->declare(declared);
  for (const settings::Key& key : declared.take()) {
    EXPECT_TRUE(key.name.starts_with("model.") && !key.help.empty() && key.stage == settings::Stage::kTrain)
        << key.name;
    using settings::Value;
    const Value wrong{.kind = Value::Kind::kFloat, .number = std::nan(""), .shown = ""},
        number{.kind = Value::Kind::kInteger, .integer = 1, .shown = ""},
        list{.kind = Value::Kind::kArray, .items = {number, number}, .shown = ""};
    EXPECT_NE(key.set(wrong), "") << key.name;
    EXPECT_TRUE(key.set(number).empty() || key.set(list).empty()) << key.name;
  }
  const json stated = changed->to_json();
  EXPECT_NE(stated, settings_->to_json());
  EXPECT_EQ(changed->clone()->to_json(), stated);
  EXPECT_EQ(test::generator(std::string(GetParam().name), stated)->to_json(), stated);
  EXPECT_THROW(test::generator(std::string(GetParam().name), {{"extra", 1}}), ProtocolError);
  for (const auto& field : stated.items()) {
    json less = json::parse(stated.dump());
    less.erase(field.key());
    EXPECT_THROW(changed->read_json(JsonFields(less, test::kTestDocument)), ProtocolError) << field.key();
  }
}

/// What other programs get: every number of the file, or of what is drawn from.
TEST_P(EveryGenerator, ComesApartIntoNamedArrays) {
  const std::string bytes = write();
  const ModelParts parts = take_apart(bytes, "model.mfl");
  EXPECT_EQ(parts.header.at("generator").at("kind"), GetParam().name);
  std::vector<std::string> names;
  std::size_t held = 0;
  for (const NamedArray& array : parts.arrays) {
    names.push_back(array.name);
    std::size_t size = array.type == NamedArray::Type::kFloat64 ? sizeof(double) : sizeof(float);
    for (const std::size_t n : array.shape) size *= n;
    EXPECT_EQ(array.bytes.size(), size) << array.name;
    held += size;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_GE(held, content().payload.size());
}

TEST_P(EveryGenerator, FilesComeBackAsTheyWere) {
  const Model model = parse_model(write(), "model.mfl");
  const ModelInfo wanted = info(), loaded = load_model_info(file_);
  for (const ModelInfo& got : {model.info, loaded}) {
    EXPECT_EQ(got.generator->kind(), wanted.generator->kind());
    EXPECT_EQ(got.generator->to_json(), wanted.generator->to_json());
    EXPECT_EQ(got.schema.shape, wanted.schema.shape);
    EXPECT_EQ(got.schema.lo, wanted.schema.lo);
    EXPECT_EQ(got.class_share, wanted.class_share);
    EXPECT_EQ(got.release_hash + got.train_hash, "abcdef");
    EXPECT_EQ(got.choice, wanted.choice);
    EXPECT_FALSE(got.is_private);
    EXPECT_TRUE(got.counts_released);
  }
  const std::vector<std::int64_t> labels{0, 1, 2, 1};
  const ModelContent made = content();
  const json description = json::parse(made.description.dump());
  const auto again =
      info().generator->open(model.info, JsonFields(description, test::kTestDocument), made.payload);
  EXPECT_EQ(draw(*again, 0, labels), draw(*model.sampler, 0, labels));
}

TEST_P(EveryGenerator, ARecordDependsOnItsNumberLabelAndSeedAlone) {
  const Model model = parse_model(write(), "model.mfl");
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < 60; ++i) labels.push_back(i % 3);
  const std::size_t d = schema_.dims();
  const auto all = draw(*model.sampler, 100, labels);
  const auto part = draw(*model.sampler, 130, {labels.begin() + 30, labels.begin() + 50});
  EXPECT_EQ(draw(*model.sampler, 100, labels), all);
  for (std::size_t i = 0; i < part.size(); ++i) ASSERT_NEAR(part[i], all[30 * d + i], 1e-5);
  EXPECT_FALSE(std::equal(all.begin(), all.begin() + static_cast<long>(3 * d),
                          all.begin() + static_cast<long>(3 * d)));
  for (const float v : all) ASSERT_TRUE(v >= -1e-6f && v <= 1 + 1e-6f);
  EXPECT_GE(model.info.generator->numbers_at_once(schema_), 2 * static_cast<double>(d))
      << "records and their copy";
}

TEST_P(EveryGenerator, DeparturesAreEachRecordsOwn) {
  const Model model = parse_model(write(), "model.mfl");
  const std::vector<std::int64_t> labels{0, 1, 2, 1};
  const std::size_t d = schema_.dims();
  const std::vector<float> usual = draw(*model.sampler, 0, labels);
  const std::vector<float> of_other = draw(*model.sampler, 0, {0, 2, 2, 1});
  std::vector<float> out(usual.size());
  std::vector<sampling::Departure> departures;
  for (const std::int64_t label : labels) departures.push_back({.other = label});
  model.sampler->draw(5, 0, labels, out, departures);
  EXPECT_EQ(out, usual);
  for (const sampling::Departure departure :
       {sampling::Departure{.spread = 3, .other = 1}, {.toward = 0.4F, .other = 2}}) {
    departures[1] = departure;
    model.sampler->draw(5, 0, labels, out, departures);
    double moved = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_TRUE(out[i] >= -1e-6f && out[i] <= 1 + 1e-6f);
      const double by = std::fabs(static_cast<double>(out[i] - usual[i]));
      if (i / d == 1) {
        moved += by;
        if (settings_->network() != nullptr && departure.toward > 0) {
          ASSERT_NEAR(out[i], usual[i] + departure.toward * (of_other[i] - usual[i]), 1e-5);
        }
      } else {
        ASSERT_LE(by, 1e-5);
      }
    }
    const NetworkSettings* network = settings_->network();
    EXPECT_TRUE(moved > 0 || network == nullptr || (network->normal_codes() == 0 && departure.toward == 0));
  }
}

TEST_P(EveryGenerator, WhatIsDrawnIsTheNetworksOutput) {
  const NetworkSettings* network = settings_->network();
  if (network == nullptr) return;
  const auto generator = built(*network);
  generator->eval();
  const torch::Tensor labels = torch::arange(20) % 3;
  const torch::Tensor made = generator->draw(generator->codes(5, false, 0, 130, 20), labels).contiguous();
  const auto drawn = draw(*parse_model(write(), "model.mfl").sampler, 130,
                          {labels.data_ptr<std::int64_t>(), labels.data_ptr<std::int64_t>() + 20});
  EXPECT_TRUE(torch::allclose(torch::tensor(drawn), made.detach().reshape(-1), 0, 1e-5));
}

TEST_P(EveryGenerator, ANetworksSizeIsWhatItTakes) {
  const NetworkSettings* network = settings_->network();
  for (const schema::Schema& schema : {test::schema_of({1, 28, 28}, 10), test::schema_of({3, 32, 16}, 10),
                                       test::schema_of({40}, 10), test::table_schema({4, 5, 3}, 10, 2)}) {
    if (network == nullptr || !takes(*network, schema)) continue;
    const auto generator = network->build(schema, 1, nullptr);
    NetworkSize took;
    for (const auto& p : generator->parameters()) took.parameters += static_cast<std::uint64_t>(p.numel());
    for (const auto& m : generator->modules(false)) {
      const auto* norm = dynamic_cast<const SyncBatchNorm*>(m.get());
      if (norm == nullptr) continue;
      ++took.norms;
      took.normed_features += static_cast<std::uint64_t>(norm->weight.numel());
    }
    const NetworkSize said = network->size(schema);
    EXPECT_EQ(said.parameters, took.parameters);
    EXPECT_EQ(said.norms, took.norms);
    EXPECT_EQ(said.normed_features, took.normed_features);
  }
}

TEST_P(EveryGenerator, DamagedFilesAreRefused) {
  const std::string bytes = write();
  for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 97) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    EXPECT_THROW(parse_model(bad, "bad"), ProtocolError) << at;
  }
  EXPECT_THROW(parse_model(bytes.substr(0, bytes.size() / 2), "half"), ProtocolError);
  EXPECT_THROW(parse_model("", "empty"), ProtocolError);
}

TEST_P(EveryGenerator, FilesThatContradictThemselvesAreRefused) {
  const Container good = parse_container(write(), "muffle-model", kModelVersion, "model");
  const auto refused = [&](const std::string& says, const std::function<void(Container&)>& forge) {
    Container file = good;
    forge(file);
    test::expect_error(ExitCode::kProtocol, {"forged.mfl", says},
                       [&] { parse_model(serialize(file), "forged.mfl"); });
  };
  refused("schema", [](Container& f) { f.header["schema"]["shape"] = {1, 8}; });
  refused("", [](Container& f) { f.header["schema"]["shape"] = {2, 8, 8}; });
  refused("", [](Container& f) {
    f.header["schema"]["classes"] = 4;
    f.header["class_share"] = {0.25, 0.25, 0.25, 0.25};
  });
  refused("lo", [](Container& f) { f.header["schema"].erase("lo"); });
  refused("extra", [](Container& f) { f.header["extra"] = 1; });
  refused("must be \"fully-connected\"", [](Container& f) { f.header["generator"]["kind"] = "transformer"; });
  refused("generator", [](Container& f) { f.header["generator"]["plain_share"] = 1.5; });
  refused("class_share", [](Container& f) { f.header["class_share"] = {0.5, 0.5}; });
  refused("sum to 1.5", [](Container& f) { f.header["class_share"] = {0.5, 0.5, 0.5}; });
  refused("is_private", [](Container& f) { f.header["is_private"] = "yes"; });
  refused("", [](Container& f) { f.payload.resize(f.payload.size() - 4); });
  refused("not finite", [](Container& f) { std::fill_n(f.payload.begin(), 8, std::byte{0xFF}); });
  for (const auto& field : good.header.at("content").items())
    refused("content", [&](Container& f) { f.header["content"].erase(field.key()); });
  refused("version", [](Container& f) { f.header["version"] = kModelVersion - 1; });
}

INSTANTIATE_TEST_SUITE_P(Table, EveryGenerator,
                         ::testing::ValuesIn(generator_kinds().begin(), generator_kinds().end()),
                         [](const auto& line) { return test::test_name(std::string(line.param.name)); });

TEST(GeneratorTable, UnknownNamesListIt) {
  test::expect_error(ExitCode::kConfig, {"\"transformer\"", "fully-connected", "convolutional", "moments"},
                     [] { make_generator_settings("transformer"); });
}

/// One key sets all kinds that have it, whichever is chosen in the end.
TEST(GeneratorSettings, KindsShareKeys) {
  Settings all;
  settings::Keys keys("model");
  all.declare(keys);
  std::vector<std::string> names;
  for (const settings::Key& key : keys.take()) {
    names.push_back(key.name);
    const settings::Value v{.kind = settings::Value::Kind::kFloat, .number = 0.25, .shown = ""};
    EXPECT_TRUE(key.name != "model.plain_share" || key.set(v).empty());
  }
  EXPECT_EQ(names.front(), "model.generator");
  std::sort(names.begin(), names.end());
  EXPECT_TRUE(std::adjacent_find(names.begin(), names.end()) == names.end()) << "each once";
  std::size_t sharing = 0;
  for (const GeneratorKind& kind : generator_kinds()) {
    Settings copy = all;
    copy.generator = kind.name;
    EXPECT_EQ(copy.chosen().kind(), kind.name);
    sharing += copy.chosen().to_json().value("plain_share", 0.0) == 0.25;
  }
  EXPECT_GE(sharing, 2u) << "the closed form, and networks that start from it";
}

TEST(ModelFile, OnesOfEarlierFormatsAreRefusedWithTheWayOut) {
  Container old{{{"format", "muffle-moments-model"}, {"version", 2}}, {}};
  test::expect_error(ExitCode::kProtocol, {"old.mfl", "train again"},
                     [&] { parse_model(serialize(old), "old.mfl"); });
  old.header["format"] = "muffle-model";
  test::expect_error(ExitCode::kProtocol, {"old.mfl", "version 2", "make it again"},
                     [&] { parse_model(serialize(old), "old.mfl"); });
}

}  // namespace
}  // namespace muffle::model
