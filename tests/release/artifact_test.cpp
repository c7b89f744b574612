#include "muffle/release/artifact.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "muffle/core/container.hpp"
#include "muffle/core/hash.hpp"
#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;
using test::expect_error;
using testing_artifact::sample_artifact;

/// Of the release with another header or payload, and the checksum that belongs to it.
void refused(const std::string& release, const std::string& part,
             const std::function<void(Container&)>& change) {
  Container bad = parse_container(release, "muffle-release", kArtifactVersion, "x");
  change(bad);
  const std::string bytes = serialize(bad);
  expect_error(ExitCode::kProtocol, {"x.mfl", part}, [&] { (void)parse_artifact(bytes, "x.mfl"); });
}

/// A header that lies.
struct Lie {
  std::string pointer;
  json value;
  std::string named;  ///< what the message must say
};
void lies_are_refused(const std::string& release, const std::vector<Lie>& lies) {
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.pointer + " = " + lie.value.dump().substr(0, 60));
    refused(release, lie.named, [&](Container& c) { c.header[json::json_pointer(lie.pointer)] = lie.value; });
  }
}

void not_written(std::initializer_list<std::string> parts, const Artifact& a) {
  expect_error(ExitCode::kInvariant, parts, [&] { (void)artifact_bytes(a); });
}

TEST(ArtifactTest, ReadsBackWhatWasWritten) {
  using privacy::Adjacency;
  const std::vector<testing_artifact::Settings> settings{
      {},
      {.counts = true},
      {.adjacency = Adjacency::kAddRemoveOne, .counts = true},
      {.records_per_person = 4, .epsilon = 0.2},
      {.rff = false, .moments = true},
      {.counts = true, .moments = true, .weight = 0.3},
      {.adjacency = Adjacency::kAddRemoveOne, .epsilon = 3, .classes = 1, .moments = true, .weight = 7},
      {.moments = true, .proxy = true, .weight = 5},
      {.counts = true, .coarse = true},
      {.moments = true, .proxy = true, .coarse = true, .weight = 5},
  };
  for (const auto& s : settings) {
    Artifact a = sample_artifact(s);
    EXPECT_EQ(a.proxy().has_value(), s.proxy);
    EXPECT_EQ(a.second_moments().has_value(), s.moments);
    a.is_private = s.epsilon == 1.0;
    a.schema.on_error = schema::OnError::kClamp;
    const std::string bytes = artifact_bytes(a);
    const Artifact back = parse_artifact(bytes, "x.mfl");
    EXPECT_EQ(artifact_bytes(back), bytes) << "every field is read, or it would be written otherwise";
    EXPECT_EQ(back.values, a.values);
    EXPECT_EQ(back.noise.parts, a.noise.parts);
    EXPECT_EQ(back.size(), a.size());
    // Noise from a seed is named in the file itself.
    EXPECT_EQ(bytes.find("NOT PRIVATE") != std::string::npos, !a.is_private);
  }
}

TEST(ArtifactTest, AFlippedByteAnywhereIsRefused) {
  const std::string good = artifact_bytes(sample_artifact({.classes = 2, .features = 2}));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {0x01, 0x80}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      SCOPED_TRACE(i);
      expect_error(ExitCode::kProtocol, {"x.mfl"}, [&] { (void)parse_artifact(bad, "x.mfl"); });
    }
  }
}

TEST(ArtifactTest, TruncationsAndAddedBytesAreRefused) {
  const std::string good = artifact_bytes(sample_artifact({.classes = 2, .features = 2}));
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_THROW((void)parse_artifact(std::string_view(good).substr(0, n), "x.mfl"), ProtocolError) << n;
  }
  EXPECT_THROW((void)parse_artifact(good + '\0', "x.mfl"), ProtocolError);
}

TEST(ArtifactTest, LyingHeaderFieldsAreRefused) {
  const std::string good = artifact_bytes(sample_artifact());
  const json huge = std::numeric_limits<std::uint64_t>::max();
  lies_are_refused(good, {
                             {"/maps/0/map/features", 10, "values"},
                             {"/maps/0/map/features", 7, "must be even"},
                             {"/maps/0/map/features", huge, "maps.map.features"},
                             {"/maps/0/map/dims", 5, "maps.map"},
                             {"/maps/0/kind", "wavelets", "there is no feature map \"wavelets\""},
                             {"/maps/0/kind", "moments", "maps.map.dims"},
                             {"/maps/0/map/length_scale", 0.0, "length-scale"},
                             {"/map_sha256/rff", "beef", "hash"},
                             {"/maps/0/name", "Rff", "map_sha256"},
                             {"/maps/0/name", "", "map_sha256"},
                             {"/maps/0/name", std::string(33, 'x'), "maps.name"},
                             {"/maps/0/role", "judge", "maps.role"},
                             {"/maps", json::array(), "maps"},
                             {"/maps/0/weight", 0.0, "weight"},
                             {"/maps/0/weight", 2.0, "norm"},
                             {"/maps/0/numbers/0/count", 7, "noise that was drawn"},
                             {"/maps/0/numbers/0/unit", 65536.0, "noise that was drawn"},
                             {"/maps/0/numbers", json::array(), "numbers"},
                             {"/schema/shape", json::array(), "schema.shape"},
                             {"/schema/shape", json::array({1, 2, 0}), "shape"},
                             {"/schema/shape", json::array({huge, huge, huge}), "shape"},
                             {"/schema/shape", json::array({1, "2", 2}), "schema.shape"},
                             {"/schema/classes", 0, "schema.classes"},
                             {"/schema/classes", 1u << 20, "values"},
                             {"/schema/lo", 300, ""},
                             {"/schema/on_error", "ignore", "schema.on_error"},
                             {"/lattice_bits", 25, "lattice_bits"},
                             {"/lattice_bits", 20, "sigma"},
                             {"/counts/released", true, "counts.numbers"},
                             {"/records", 0, "records"},
                             {"/records", std::uint64_t{1} << 61, "records"},
                             {"/records", 1, "larger than the records"},
                             {"/aggregation/ranks", 0, "ranks"},
                             {"/privacy/adjacency", "add-remove-one", "sensitivity"},
                             {"/privacy/adjacency", "none", "privacy.adjacency"},
                             {"/privacy/max_records_per_person", 2, "sensitivity"},
                             {"/privacy/max_records_per_person", 0, "privacy.max_records_per_person"},
                             {"/privacy/epsilon", 0.5, "noise multiplier"},
                             {"/privacy/epsilon", -1.0, "epsilon"},
                             {"/privacy/delta", 1e-6, "noise multiplier"},
                             {"/privacy/delta", 1.0, "delta"},
                             {"/privacy/noise_multiplier", 3.0, "noise multiplier"},
                             {"/privacy/sensitivity", 1.0, "sensitivity"},
                             {"/privacy/sigma", 5.0, "sigma"},
                             {"/maps/0/numbers/0/sigma_lattice", 1000, "sigma"},
                             {"/maps/0/numbers/0/sigma_lattice", 0, "numbers.sigma_lattice"},
                             {"/privacy/mechanism", "Laplace", "privacy.mechanism"},
                             {"/maps/0/bound/norm", 0.5, "norm"},
                             {"/maps/0/bound/norm", 1e300, "norm"},
                             {"/maps/0/bound/nonnegative_kernel", true, "norm"},
                             {"/values/count", 23, "values"},
                             {"/values/type", "float32", "values.type"},
                             {"/muffle_version", std::string(1000, 'x'), "muffle_version"},
                         });
  // Every field is needed, and has a type.
  const json header = parse_container(good, "muffle-release", kArtifactVersion, "x").header;
  const json flat = header.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    const json::json_pointer at(pointer);
    if (!header[at.parent_pointer()].is_object()) continue;
    SCOPED_TRACE(pointer);
    refused(good, "", [&](Container& c) { c.header[at] = nullptr; });
    refused(good, "", [&](Container& c) { c.header[at.parent_pointer()].erase(at.back()); });
  }
}

TEST(ArtifactTest, LyingPayloadsAreRefused) {
  const std::string good = artifact_bytes(sample_artifact());
  for (const int less : {1, 8, 192})
    refused(good, "values", [&](Container& c) { c.payload.resize(c.payload.size() - less); });
  // Half the values, honestly declared: then they do not fit classes x features.
  refused(good, "12 values, but its 3 classes, maps need 24", [](Container& c) {
    c.payload.resize(96);
    c.header["values"]["count"] = 12;
  });
  refused(good, "value 0 is larger", [](Container& c) { c.payload[7] = std::byte{0x7F}; });
  refused(good, "of version 1", [](Container& c) { c.header["version"] = 1; });
  refused(good, "muffle-model", [](Container& c) { c.header["format"] = "muffle-model"; });
}

TEST(ArtifactTest, AContradictionIsNeverWritten) {
  Artifact a = sample_artifact();
  a.noise.parts[0].runs[0].sigma_lattice /= 2;
  not_written({"sigma"}, a);
  a = sample_artifact();
  a.values.pop_back();
  not_written({"23 values", "24"}, a);
  a = sample_artifact();
  a.noise.sensitivity_input.max_records_per_person = 9;
  not_written({"records per person"}, a);
}

TEST(ArtifactTest, NoiseMultiplierInsteadOfEpsilonReadsBack) {
  Artifact a = sample_artifact();
  privacy::PrivacySpec spec;
  spec.noise_multiplier = 7.7;
  a.noise = testing_artifact::plan_for(a, spec);
  EXPECT_EQ(parse_artifact(artifact_bytes(a), "x").noise.epsilon, a.noise.epsilon);
}

TEST(ArtifactTest, LyingMomentsAreRefused) {
  const std::string good = artifact_bytes(sample_artifact({.moments = true, .weight = 2}));
  lies_are_refused(
      good, {
                // (What of a map's own fields is refused: map_conformance_test.cpp.)
                {"/maps/0/map/lift", "sparse", "there is no lift \"sparse\""},
                {"/maps/0/map/lift_settings/coefficients", 1, "values"},
                {"/maps/0/map/lift_settings/coefficients", 3, "3 coefficients"},
                {"/maps/0/map/offset", 0.0, "leaves something open"},
                {"/maps/0/map/bits", 15, "noise that was drawn"},
                {"/maps/0/weight", 1.0, "norm"},
                {"/maps/0/weight", 1e7, "weight"},
                {"/maps/0/bound/nonnegative_kernel", false, "signed"},
                {"/maps/0/numbers/1/count", 11, "noise that was drawn"},
                {"/maps/0/numbers/1/unit", 4294967296.0, "noise that was drawn"},
                {"/maps/1", parse_container(good, "muffle-release", kArtifactVersion, "x").header["maps"][0],
                 "does not know"},
            });
}

TEST(ArtifactTest, MissingSecondMomentsAreNamed) {
  EXPECT_EQ(require_second_moments(sample_artifact({.moments = true, .coarse = true}), "it"), 1u);
  expect_error(ExitCode::kConfig, {"the fit needs", "\"rff\"", "[map.NAME]"},
               [&] { require_second_moments(sample_artifact({.proxy = true}), "the fit"); });
}

TEST(ArtifactTest, MapsThatAreRebuiltOtherwiseAreRefused) {
  Artifact a = sample_artifact({.moments = true, .proxy = true, .coarse = true});
  for (std::size_t b = 0; b < a.maps.size(); ++b) {
    check_map(a, b);
    a.map_hashes[b][0] ^= 1;
    expect_error(ExitCode::kProtocol, {"feature map", "'" + a.maps[b].name + "'", "0.1.0", a.map_hashes[b]},
                 [&] { check_map(a, b); });
  }
}

TEST(ArtifactTest, MapsAreInTheOrderOfTheirNamesAndAProxyHasItsOwnNumbers) {
  const std::string good = artifact_bytes(sample_artifact({.proxy = true, .coarse = true}));
  refused(good, "order of their names",
          [](Container& c) { std::swap(c.header["maps"][0], c.header["maps"][2]); });
  refused(good, "two maps are proxies", [](Container& c) { c.header["maps"][2]["role"] = "proxy"; });
  refused(good, "the proxy has the numbers", [](Container& c) {
    json& hashes = c.header["map_sha256"];
    hashes[c.header["maps"][1]["name"]] = hashes[c.header["maps"][0]["name"]];
    ;
  });
}

}  // namespace
}  // namespace muffle::release
