// Mutated releases, with and without a repaired checksum: the reader either accepts them or throws
// ProtocolError; it never crashes, and what it accepts can be used. Seeded, so that every run tries the same
// inputs.
#include <gtest/gtest.h>

#include <string>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "release/sample_artifact.hpp"
#include "support/container_around.hpp"
#include "support/mutate.hpp"

namespace muffle::release {
namespace {

using test::container_around;

/// @returns whether the reader took it.
bool survives(const std::string& bytes) {
  try {
    const Artifact a = parse_artifact(bytes, "fuzz.mfl");
    try {
      EXPECT_EQ(make_target(a).column_weight.size(), a.classes());
    } catch (const DataError&) {  // counts that sum to nothing
    }
    (void)noisy_counts(a);
    for (const features::NamedMap& map : a.maps) {
      if (!map.map->tables() || map.role != features::MapRole::kMatch) continue;
      try {
        EXPECT_GE(make_noisy_tables(a).records, 1.0);
      } catch (const ProtocolError&) {  // another map
      }
    }
    EXPECT_FALSE(privacy_statement_json(a).empty());
    EXPECT_FALSE(privacy_statement_text(a).empty());
    return true;
  } catch (const ProtocolError&) {
    return false;
  }
}

/// Of each kind of release. (Under the sanitizers fuzz_artifact tries many more.)
#ifdef MUFFLE_SANITIZED
constexpr int kMutations = 600;
#else
constexpr int kMutations = 3000;
#endif

TEST(ArtifactFuzz, MutatedReleasesNeverCrashTheReader) {
  int accepted = 0, refused = 0;
  for (const std::uint32_t kind : {1, 2, 3}) {
    const bool counts = kind == 1;
    const Artifact a = kind == 3 ? testing_artifact::sample_tables()
                                 : testing_artifact::sample_artifact(
                                       {.counts = counts, .classes = 2, .features = 4, .moments = counts});
    const std::string whole = artifact_bytes(a);
    const Container container = parse_container(whole, "muffle-release", kArtifactVersion, "x");
    const std::string header = container.header.dump();
    const std::string payload(reinterpret_cast<const char*>(container.payload.data()),
                              container.payload.size());
    ASSERT_TRUE(survives(container_around(header, payload)));
    test::Mutator mutated(kind, {"null", "-1", "0", "1e999", "18446744073709551616", "\"\"", "[]", "{}",
                                 "[[[[[[[[", "true", "0.1", "\xFF\xFE", "1e-320", "9223372036854775808",
                                 "\\u0000", "\"version\":1", ",", "}", "NaN"});
    for (int i = 0; i < kMutations; ++i) {
      // The header (the checksum is right), the payload, or the file as it is.
      const std::string bytes = i % 4 == 0   ? mutated(whole)
                                : i % 4 == 1 ? container_around(header, mutated(payload))
                                             : container_around(mutated(header), payload);
      (survives(bytes) ? accepted : refused) += 1;
    }
  }
  // The loop reaches both sides: harmless edits of texts and values, and everything else.
  EXPECT_GT(accepted, kMutations / 30);
  EXPECT_GT(refused, kMutations);
}

}  // namespace
}  // namespace muffle::release
