#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "muffle/data/source.hpp"

namespace muffle::evaluate {

/// The names in the table of classifiers (classifiers.hpp).
std::vector<std::string> classifier_names();

struct EvaluateSpec {
  std::vector<std::string> classifiers = classifier_names();
  bool also_real = false;  ///< the same classifiers trained on real data beside it
  std::uint64_t train_limit =
      0;  ///< use only the first so many synthetic (and real) training records; 0: all
  std::uint64_t seed = 1;
};

/// One classifier's score on real test records.
struct Score {
  std::string name;
  double accuracy = 0.0;
  double macro_f1 = 0.0;  ///< unweighted mean over classes; a class never predicted and never true counts 0
};

struct ClassifierReport {
  std::vector<Score> synthetic;  ///< trained on synthetic records
  std::vector<Score> real;       ///< trained on real records, on request
  std::vector<std::string>
      notes;  ///< what was left out and why, such as the CNN for records that are not images
};

/// Train on synthetic, test on real (single process). Reads REAL data: its result is not covered by the
/// release's guarantee, and choosing anything by it costs privacy; callers say so.
/// @param synthetic  samples.npz, or what another record format has written
/// @param test       real test records (open_shard with one rank)
/// @param real_train used only with also_real; if its `records` is 0, m is private and no progress is shown
/// @param threads    classifiers trained at a time, each by one thread: the scores do not depend on it. The
/// process's
///                   thread counts are set back afterwards.
/// @param heartbeat    called while files are read, after every training step and before every batch of test
/// records, by one thread at
///                   a time; what it throws ends the evaluation at once and comes out of here.
/// @throws IoError; ConfigError: an unknown or repeated classifier; DataError: unlabelled data, records of
/// another size
///         than the test data's, a label outside the schema, a class (or all but one) without a training
///         record.
ClassifierReport evaluate_classifiers(const std::filesystem::path& synthetic, const data::DataSpec& test,
                                      const data::DataSpec& real_train, const EvaluateSpec& spec, int threads,
                                      const std::function<void()>& heartbeat = {});

/// Negative log-likelihood of the papers' 2-D mixture .
struct MixtureScore {
  std::uint64_t records = 0;
  double nll_true = 0.0;  ///< sum over records of -log p(x, y): the 25 centres' density, y's five of them
  double nll_authors_convention = 0.0;  ///< the authors' 1-D normaliser on 2-D data; 0.69 per record higher
  double per_90000_true = 0.0;          ///< scaled to 90,000 records
  double per_90000_authors_convention = 0.0;
};
/// @param synthetic  written by a record format: float32 n x 2 in the mixture's own units, labels in 0..4
/// @param heartbeat  called now and then; what it throws ends the evaluation
/// @throws DataError  another shape or type, no records, a coordinate that is not finite, a label above 4;
/// IoError.
MixtureScore evaluate_mixture(const std::filesystem::path& synthetic,
                              const std::function<void()>& heartbeat = {});

}  // namespace muffle::evaluate
