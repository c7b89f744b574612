#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labelled_records.hpp"
#include "measures.hpp"
#include "muffle/evaluate/evaluate.hpp"

namespace muffle::evaluate {

/// The names in the table of classifiers of tables (table_classifier.hpp).
std::vector<std::string> table_classifier_names();

/// Which of them are trained, and on what.
struct TableClassifiersSpec {
  std::vector<std::string> classifiers = table_classifier_names();
  TrainingChoice training;
  /// Each classifier once more on the first so many synthetic records alone.
  std::vector<std::size_t> train_sizes = {};
  std::uint64_t seed = 1;
};

/// One classifier's measures on real test records.
struct TableScore {
  std::string name;
  Measures measures;
  bool predicts_one_class = false;  ///< of every test record the same one
};

/// In the order asked for.
struct TableClassifierReport {
  std::vector<TableScore> synthetic;   ///< trained on synthetic records
  std::vector<TableScore> real;        ///< trained on real records, on request
  std::vector<AccuraciesOf> of_sizes;  ///< trained on so few synthetic records, on request; ascending
  std::vector<std::string> notes;      ///< what was left out and why
  double commonest_f1 = 0.0;  ///< weighted F1 of whoever names the test records' commonest class for each
};

/// The mean over the classifiers, measure by measure. There is one at least.
Measures mean_of(const std::vector<TableScore>& scores);

/// Train on synthetic, test on real (single process). Reads REAL data: its result is not covered by the
/// release's guarantee, and choosing anything by it costs privacy; callers say so.
/// @param subject  `train` is used only with also_real; if its `records` is 0, m is private and no progress
/// is shown. `threads` classifiers are trained at a time, each by
/// one thread: the measures do not depend on it. `heartbeat` is called while files are read, now and then in
/// each training (not within LIBLINEAR's) and before every batch of test records, by one thread at a time;
/// what it throws ends the evaluation and comes out of here.
/// Memory: the training records, those of train_sizes once more, and C scores of 8 bytes a test record and
/// classifier.
/// @throws IoError; ConfigError: no classifier is named; DataError: unlabelled data, records of another size
/// than the test data's, a label outside the schema, a class without records, also among the test records:
/// of real ones it is a local detail which one.
TableClassifierReport evaluate_table_classifiers(const Subject& subject, const TableClassifiersSpec& spec);

/// For people: which of them name the classes of held-out rows far worse than the same ones that learn from
/// real rows. Empty: none, or there are no such ones.
std::string far_below_real(const std::vector<TableScore>& synthetic, const std::vector<TableScore>& real);
/// Which of them do far worse than whoever names the commonest class for each. Empty: none.
std::string far_below_commonest(const std::vector<TableScore>& scores, double commonest_f1,
                                const char* trained_on);

}  // namespace muffle::evaluate
