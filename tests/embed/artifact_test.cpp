#include "muffle/embed/artifact.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "embed/sample_artifact.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "privacy/expect_error.hpp"

namespace muffle::embed {
namespace {

using nlohmann::json;
using testing_artifact::sample_artifact;
using testing_support::expect_error;

class ArtifactTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muffle-artifact-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path file() const { return folder_ / "release.mfl"; }
  std::string bytes_of(const Artifact& a) const {
    write_artifact(file(), a);
    return read_file(file());
  }

  std::filesystem::path folder_;
};

void expect_equal(const Artifact& a, const Artifact& b) {
  EXPECT_EQ(a.rff.dims, b.rff.dims);
  EXPECT_EQ(a.rff.features, b.rff.features);
  EXPECT_EQ(a.rff.length_scale, b.rff.length_scale);
  EXPECT_EQ(a.rff.kind, b.rff.kind);
  EXPECT_EQ(a.rff.seed, b.rff.seed);
  EXPECT_EQ(a.lattice_bits, b.lattice_bits);
  EXPECT_EQ(a.schema.shape, b.schema.shape);
  EXPECT_EQ(a.schema.classes, b.schema.classes);
  EXPECT_EQ(a.schema.lo, b.schema.lo);
  EXPECT_EQ(a.schema.hi, b.schema.hi);
  EXPECT_EQ(a.schema.on_error, b.schema.on_error);
  EXPECT_EQ(a.counts, b.counts);
  EXPECT_EQ(a.counts_weight, b.counts_weight);
  EXPECT_EQ(a.records, b.records);
  EXPECT_EQ(a.adjacency, b.adjacency);
  EXPECT_EQ(a.max_records_per_person, b.max_records_per_person);
  EXPECT_EQ(a.noise.epsilon, b.noise.epsilon);
  EXPECT_EQ(a.noise.delta, b.noise.delta);
  EXPECT_EQ(a.noise.noise_multiplier, b.noise.noise_multiplier);
  EXPECT_EQ(a.noise.sensitivity.value, b.noise.sensitivity.value);
  EXPECT_EQ(a.noise.sensitivity.derivation, b.noise.sensitivity.derivation);
  ASSERT_EQ(a.noise.sensitivity_input.blocks.size(), b.noise.sensitivity_input.blocks.size());
  EXPECT_EQ(a.noise.sensitivity_input.blocks[0].theorem, b.noise.sensitivity_input.blocks[0].theorem);
  EXPECT_EQ(a.noise.sigma, b.noise.sigma);
  EXPECT_EQ(a.noise.sigma_lattice, b.noise.sigma_lattice);
  EXPECT_EQ(a.noise.lattice_bits, b.noise.lattice_bits);
  EXPECT_EQ(a.is_private, b.is_private);
  EXPECT_EQ(a.config_hash, b.config_hash);
  EXPECT_EQ(a.data_id, b.data_id);
  EXPECT_EQ(a.ledger_charge, b.ledger_charge);
  EXPECT_EQ(a.frequencies_hash, b.frequencies_hash);
  EXPECT_EQ(a.muffle_version, b.muffle_version);
  EXPECT_EQ(a.ranks, b.ranks);
  EXPECT_EQ(a.values, b.values);
}

TEST_F(ArtifactTest, ReadsBackWhatWasWritten) {
  using privacy::Adjacency;
  const std::vector<testing_artifact::Settings> settings{
      {},
      {.counts = true},
      {.adjacency = Adjacency::kAddRemoveOne, .counts = true},
      {.records_per_person = 4, .epsilon = 0.2},
  };
  for (const auto& s : settings) {
    Artifact a = sample_artifact(s);
    a.is_private = s.epsilon == 1.0;
    a.schema.on_error = data::OnError::kClamp;
    const std::string hash = write_artifact(file(), a);
    EXPECT_EQ(hash, sha256_file_hex(file().string()));
    expect_equal(a, read_artifact(file()));
    // Noise from a seed is named in the file itself.
    EXPECT_EQ(read_file(file()).find("NOT PRIVATE") != std::string::npos, !a.is_private);
  }
}

TEST_F(ArtifactTest, AFlippedByteAnywhereIsRefused) {
  const std::string good = bytes_of(sample_artifact({.classes = 2, .features = 2}));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {0x01, 0x80}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      try {
        (void)parse_artifact(bad, "x.mfl");
        ADD_FAILURE() << "byte " << i << " was flipped unnoticed";
      } catch (const ProtocolError& e) {
        EXPECT_EQ(e.code(), ExitCode::kProtocol);
        ASSERT_NE(std::string(e.what()).find("x.mfl"), std::string::npos) << e.what();
      }
    }
  }
}

TEST_F(ArtifactTest, TruncationsAndAddedBytesAreRefused) {
  const std::string good = bytes_of(sample_artifact({.classes = 2, .features = 2}));
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_THROW((void)parse_artifact(std::string_view(good).substr(0, n), "x.mfl"), ProtocolError) << n;
  }
  EXPECT_THROW((void)parse_artifact(good + '\0', "x.mfl"), ProtocolError);
  expect_error<IoError>([&] { (void)read_artifact(folder_ / "absent.mfl"); }, ExitCode::kIo, {"absent.mfl"});
}

/// A header that lies, in a container whose checksum is right.
struct Lie {
  std::string pointer;
  json value;
  std::string named;  ///< what the message must say
};

TEST_F(ArtifactTest, LyingHeaderFieldsAreRefused) {
  const std::string good = bytes_of(sample_artifact());
  const Container container = parse_container(good, "muffle-release", 1, "x");
  const json huge = std::numeric_limits<std::uint64_t>::max();
  const std::vector<Lie> lies{
      {"/features/features", 10, "values"},
      {"/features/features", 7, "features"},
      {"/features/features", huge, "features.features"},
      {"/features/features", -8, "features.features"},
      {"/features/features", 8.0, "features.features"},
      {"/features/dims", 5, "numbers per record"},
      {"/features/map", "wavelets", "features.map"},
      {"/features/kind", "sparse", "features.kind"},
      {"/features/length_scale", 0.0, "length-scale"},
      {"/features/length_scale", nullptr, "features.length_scale"},
      {"/features/length_scale", "1.5", "features.length_scale"},
      {"/features/frequencies_sha256", "beef", "hash"},
      {"/features", 3, "features."},
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
      {"/counts/released", 1, "counts.released"},
      {"/counts/released", true, "values"},
      {"/records", 0, "records"},
      {"/records", std::uint64_t{1} << 61, "records"},
      {"/records", 1, "larger than the records"},
      {"/ranks", 0, "ranks"},
      {"/private", "yes", "private"},
      {"/privacy/adjacency", "add-remove-one", "sensitivity"},
      {"/privacy/adjacency", "none", "privacy.adjacency"},
      {"/privacy/max_records_per_person", 2, "sensitivity"},
      {"/privacy/max_records_per_person", 0, "privacy.max_records_per_person"},
      {"/privacy/epsilon", 0.5, "noise multiplier"},
      {"/privacy/epsilon", -1.0, "epsilon"},
      {"/privacy/epsilon", nullptr, "privacy.epsilon"},
      {"/privacy/delta", 1e-6, "noise multiplier"},
      {"/privacy/delta", 1.0, "delta"},
      {"/privacy/noise_multiplier", 3.0, "noise multiplier"},
      {"/privacy/sensitivity", 1.0, "sensitivity"},
      {"/privacy/sigma", 5.0, "sigma"},
      {"/privacy/sigma_lattice", 1000, "sigma"},
      {"/privacy/sigma_lattice", 0, "privacy.sigma_lattice"},
      {"/privacy/mechanism", "Laplace", "privacy.mechanism"},
      {"/privacy/blocks", json::array(), "privacy.blocks"},
      {"/privacy/blocks", json::array({7}), "privacy.blocks"},
      {"/privacy/blocks/0/norm", 0.5, "block"},
      {"/privacy/blocks/0/norm", 1e300, "block"},
      {"/privacy/blocks/0/nonnegative_kernel", true, "block"},
      {"/values/count", 23, "values"},
      {"/values/count", "24", "values"},
      {"/values/type", "float32", "values.type"},
      {"/muffle_version", std::string(1000, 'x'), "muffle_version"},
  };
  for (const Lie& lie : lies) {
    Container bad = container;
    bad.header[json::json_pointer(lie.pointer)] = lie.value;
    const std::string bytes = serialize(bad);
    SCOPED_TRACE(lie.pointer + " = " + lie.value.dump().substr(0, 60));
    expect_error<ProtocolError>([&] { (void)parse_artifact(bytes, "x.mfl"); }, ExitCode::kProtocol,
                                {"x.mfl", lie.named});
  }
  // Every field is needed.
  const json flat = container.header.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    Container bad = container;
    const json::json_pointer at(pointer);
    json& parent = bad.header[at.parent_pointer()];
    if (!parent.is_object()) continue;
    parent.erase(at.back());
    const std::string bytes = serialize(bad);
    EXPECT_THROW((void)parse_artifact(bytes, "x.mfl"), ProtocolError) << pointer;
  }
}

TEST_F(ArtifactTest, LyingPayloadsAreRefused) {
  const Container container = parse_container(bytes_of(sample_artifact()), "muffle-release", 1, "x");
  const auto parse_with = [&](const std::function<void(Container&)>& change) {
    Container bad = container;
    change(bad);
    return [bytes = serialize(bad)] { (void)parse_artifact(bytes, "x.mfl"); };
  };
  for (const int less : {1, 8, 192}) {
    expect_error<ProtocolError>(parse_with([&](Container& c) { c.payload.resize(c.payload.size() - less); }),
                                ExitCode::kProtocol, {"values"});
  }
  // Half the values, honestly declared: then they do not fit classes x features.
  expect_error<ProtocolError>(parse_with([](Container& c) {
                                c.payload.resize(96);
                                c.header["values"]["count"] = 12;
                              }),
                              ExitCode::kProtocol, {"12 values", "need 24"});
  expect_error<ProtocolError>(parse_with([](Container& c) { c.payload[7] = std::byte{0x7F}; }),
                              ExitCode::kProtocol, {"value 0 is larger"});
  expect_error<ProtocolError>(parse_with([](Container& c) { c.header["version"] = 2; }), ExitCode::kProtocol,
                              {"format version is 2"});
  expect_error<ProtocolError>(parse_with([](Container& c) { c.header["format"] = "muffle-model"; }),
                              ExitCode::kProtocol, {"muffle-model"});
}

TEST_F(ArtifactTest, AContradictionIsNeverWritten) {
  Artifact a = sample_artifact();
  a.noise.sigma_lattice /= 2;
  expect_error<InvariantError>([&] { write_artifact(file(), a); }, ExitCode::kInvariant,
                               {"release.mfl", "sigma"});
  a = sample_artifact();
  a.values.pop_back();
  expect_error<InvariantError>([&] { write_artifact(file(), a); }, ExitCode::kInvariant, {"23 values", "24"});
  a = sample_artifact();
  a.noise.sensitivity_input.max_records_per_person = 9;
  expect_error<InvariantError>([&] { write_artifact(file(), a); }, ExitCode::kInvariant,
                               {"records per person"});
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(ArtifactTest, NoiseMultiplierInsteadOfEpsilonReadsBack) {
  Artifact a = sample_artifact();
  privacy::PrivacySpec spec;
  spec.noise_multiplier = 7.7;
  spec.max_records_per_person = 1;
  a.noise = privacy::plan_noise(spec, a.noise.sensitivity_input, 24);
  write_artifact(file(), a);
  EXPECT_EQ(read_artifact(file()).noise.epsilon, a.noise.epsilon);
}

TEST_F(ArtifactTest, FrequenciesAreChecked) {
  const Artifact a = sample_artifact();
  std::vector<float> frequencies(16, 0.25f);
  check_frequencies(a, frequencies);
  frequencies[3] = std::nextafter(0.25f, 1.0f);
  expect_error<ProtocolError>([&] { check_frequencies(a, frequencies); }, ExitCode::kProtocol,
                              {"frequencies", "0.1.0", a.frequencies_hash});
}

}  // namespace
}  // namespace muffle::embed
