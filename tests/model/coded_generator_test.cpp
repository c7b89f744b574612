// Samples of a decoder that rounds have learned: what the file holds is what decodes, whichever way codes are
// made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "muffle/features/decoder_step.hpp"
#include "muffle/model/model_file.hpp"
#include "pair_graph/stepped_release.hpp"
#include "support/generators.hpp"

namespace muffle::model {
namespace {

using nlohmann::json;

std::shared_ptr<const GeneratorSettings> coded() { return test::generator("coded", {{"plain_share", 0.5}}); }

ModelInfo info_of(const schema::Schema& schema) {
  return {.generator = coded(),
          .schema = schema,
          .class_share = {0.25, 0.5, 0.25},
          .release_hash = "abc",
          .train_hash = "def",
          .is_private = true,
          .counts_released = false,
          .choice = {}};
}

std::unique_ptr<Sampler> opened(const schema::Schema& schema, const json& description,
                                const std::vector<std::byte>& payload) {
  return coded()->open(info_of(schema), JsonFields(description, test::kTestDocument), payload);
}

void decodes_what_the_moments_draw(const test::SteppedRelease& release) {
  const release::Artifact a = release.whole();
  const ModelContent content = coded()->closed_form()->fit(a, {});
  const json description = json::parse(content.description.dump());
  const ModelContent moments = test::generator("moments", {{"plain_share", 0.5}})->closed_form()->fit(a, {});
  const json plain = json::parse(moments.description.dump());
  const std::unique_ptr<Sampler> codes =
      test::generator("moments", {{"plain_share", 0.5}})
          ->open(info_of(a.schema), JsonFields(plain, test::kTestDocument), moments.payload);
  const features::Decoder decoder =
      dynamic_cast<const features::DecoderStepMap&>(*pair_graph::last_step(a)).decoder();

  const std::vector<std::int64_t> labels{0, 1, 2, 1, 0};
  const std::size_t d = a.schema.dims();
  std::vector<float> expected(labels.size() * d), got(expected.size());
  codes->draw(7, 3, labels, expected);
  const std::vector<float> drawn = expected;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    decoder.redraw(expected.data() + i * d, expected.data() + i * d);
    for (std::size_t j = 0; j < d; ++j) expected[i * d + j] = std::clamp(expected[i * d + j], 0.0F, 1.0F);
  }
  opened(a.schema, description, content.payload)->draw(7, 3, labels, got);
  EXPECT_EQ(got, expected);
  EXPECT_NE(got, drawn);
}

TEST(CodedGenerator, DecodesWhatTheMomentsDrawByWhateverMakesCodes) {
  decodes_what_the_moments_draw(test::decoder_release());
  decodes_what_the_moments_draw(test::components_release());
}

TEST(CodedGenerator, AFileOfOtherNumbersThanItsHeaderSaysIsRefused) {
  const release::Artifact a = test::components_release().whole();
  const ModelContent content = coded()->closed_form()->fit(a, {});
  const json good = json::parse(content.description.dump());
  EXPECT_TRUE(opened(a.schema, good, content.payload));
  const auto refused = [&](const char* where, const json& lie) {
    json bad = good;
    bad[json::json_pointer(where)] = lie;
    EXPECT_THROW(opened(a.schema, bad, content.payload), ProtocolError) << where << " " << lie;
  };
  refused("/decoder/components", 0);
  refused("/decoder/components", 3);
  refused("/decoder/components", 1 << 24);
  refused("/decoder/hidden", 1 << 24);
  refused("/decoder/lift", "image");
  for (const std::size_t at : {std::size_t{40}, std::size_t{5 * 96 + 11}}) {  // of the axes, of the weights
    std::vector<std::byte> payload = content.payload;
    const float none = std::nanf("");
    std::memcpy(payload.data() + at * sizeof(float), &none, sizeof none);
    EXPECT_THROW(opened(a.schema, good, payload), ProtocolError) << at;
  }
  std::vector<std::byte> shorter = content.payload;
  shorter.resize(4 * 96 * sizeof(float));
  EXPECT_THROW(opened(a.schema, good, shorter), ProtocolError);
}

}  // namespace
}  // namespace muffle::model
