#include "evaluate/table_classifiers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "evaluate/decision_tree.hpp"
#include "evaluate/table_classifier.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"
#include "support/maps.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {

std::unique_ptr<Metric> make_table_classifiers_metric();

namespace {

constexpr const char* kTable = R"(
[[columns]]
name = "age"
type = "integer"
lo = 20
hi = 70
bins = 5
missing = ["?"]
[[columns]]
name = "job"
type = "category"
values = ["cook", "clerk", "nurse"]
missing = ["?"]
[[columns]]
name = "luck"
type = "decimal"
decimals = 2
lo = 0
hi = 1
bins = 4
[[columns]]
name = "income"
type = "category"
role = "label"
values = ["low", "high"]
)";

schema::Schema parsed(const std::string& toml) {
  schema::Schema schema;
  describe_table(schema, std::make_shared<const schema::Table>(schema::parse_table_toml(toml, "table.toml")));
  return schema;
}

class TableClassifiers : public testing::Test {
 protected:
  /// Nurses and the old have a high income, a tenth of the rows excepted; or luck alone decides.
  std::string people(std::size_t n, bool rule, std::uint32_t substream, const char* yes = "high",
                     const char* no = "low") const {
    const CounterStream stream(1, Stream::kTest, substream);
    const char* jobs[] = {"cook", "clerk", "nurse", "?"};
    std::string rows = "age,job,luck,income\n";
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t age = 20 + stream.below(5 * i, 51), job = stream.below(5 * i + 1, 4);
      const std::uint64_t luck = stream.below(5 * i + 2, 101);
      const bool known = stream.below(5 * i + 3, 20) > 0, odd = stream.below(5 * i + 4, 10) == 0;
      const bool high = rule ? (job == 2 || (known && age >= 50)) != odd : i % 2 == 0;
      rows += (known ? std::to_string(age) : "?") + "," + jobs[job] + "," +
              std::to_string(0.01 * static_cast<double>(luck)).substr(0, 4) + "," + (high ? yes : no) + "\n";
    }
    return rows;
  }
  data::DataSpec file(const std::string& name, const std::string& rows) const {
    write_file_atomically(folder_ / name, rows);
    data::DataSpec spec;
    spec.format = "csv";
    spec.dir = folder_.path().string();
    spec.features = name;
    spec.schema = schema_;
    return spec;
  }
  TableClassifierReport evaluate(const std::string& samples, const std::string& test,
                                 const TableClassifiersSpec& spec = {}, const std::string& train = "",
                                 int threads = 3) const {
    const data::DataSpec held_out = file("test.csv", test);
    file("samples.csv", samples);
    return evaluate_table_classifiers(
        {folder_ / "samples.csv", held_out, file("train.csv", train), threads, {}}, spec);
  }

  schema::Schema schema_ = parsed(kTable);
  const test::TemporaryFolder folder_;
};

TableClassifiersSpec only(std::vector<std::string> names) {
  TableClassifiersSpec spec;
  spec.classifiers = std::move(names);
  return spec;
}

TEST_F(TableClassifiers, LearnAPlantedRule) {
  const auto report = evaluate(people(2000, true, 0), people(2000, true, 1));
  ASSERT_EQ(report.synthetic.size(), 12u);
  EXPECT_TRUE(report.real.empty());
  for (const TableScore& score : report.synthetic) {
    // The rule itself is right for nine of ten. Trees without an end also learn the tenth.
    const bool overfits = score.name == "decision_tree" || score.name == "bagging";
    const bool additive = score.name == "gaussian_nb" || score.name == "bernoulli_nb" ||
                          score.name == "lda" || score.name == "linear_svm" ||
                          score.name == "logistic_regression";
    EXPECT_GT(score.measures.accuracy, overfits ? 0.77 : additive ? 0.65 : 0.84) << score.name;
    EXPECT_LT(score.measures.accuracy, 0.93) << score.name;
    EXPECT_GT(score.measures.roc_auc, overfits ? 0.77 : 0.7) << score.name;
    EXPECT_GT(score.measures.pr_auc_hard, 0.6) << score.name;
    EXPECT_FALSE(score.predicts_one_class) << score.name;
  }
  const Measures mean = mean_of(report.synthetic);
  double accuracies = 0.0;
  for (const TableScore& score : report.synthetic) accuracies += score.measures.accuracy;
  EXPECT_NEAR(mean.accuracy, accuracies / 12.0, 1e-12);
}

TEST_F(TableClassifiers, AccuracyByTheNumberOfRows) {
  const std::string later = people(500, true, 2);  // the first half teaches the opposite
  const std::string made = people(500, true, 0, "low", "high") + later.substr(later.find('\n') + 1);
  const std::string test = people(1000, true, 1);
  TableClassifiersSpec spec = only({"logistic_regression", "decision_tree"});
  spec.train_sizes = {400, 200, 2, 1001, 400};
  const auto report = evaluate(made, test, spec);
  ASSERT_EQ(report.of_sizes.size(), 2u);
  EXPECT_EQ(report.of_sizes[0].records, 200u);
  EXPECT_EQ(report.of_sizes[1].records, 400u);
  for (const auto& [records, accuracies] : report.of_sizes) {
    TableClassifiersSpec limited = only(spec.classifiers);
    limited.training.train_limit = records;
    const auto alone = evaluate(made, test, limited);
    ASSERT_EQ(accuracies.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_LT(accuracies[i], 0.45) << records;
      EXPECT_EQ(accuracies[i], alone.synthetic[i].measures.accuracy) << records;
    }
  }
  EXPECT_EQ(report.synthetic.size(), 2u);
  EXPECT_THAT(report.notes,
              testing::UnorderedElementsAre(testing::HasSubstr("1001 is left out, as there are 1000"),
                                            testing::HasSubstr("2 is left out, as the first 2")));
}

TEST_F(TableClassifiers, AreAtChanceWhereColumnsSayNothing) {
  const auto report = evaluate(people(1000, false, 0), people(2000, false, 1));
  for (const TableScore& score : report.synthetic) {
    // Five standard deviations of a share and of an area; the seeds are fixed.
    EXPECT_NEAR(score.measures.accuracy, 0.5, 5.0 * std::sqrt(0.25 / 2000.0)) << score.name;
    EXPECT_NEAR(score.measures.roc_auc, 0.5, 5.0 * std::sqrt(1.0 / (12.0 * 500.0))) << score.name;
  }
}

TEST_F(TableClassifiers, SayWhenTheyPredictOneClassOnly) {
  std::string made = people(400, false, 0);
  for (std::size_t at = made.find(",high\n", 200); at != std::string::npos; at = made.find(",high\n", at))
    made.replace(at, 6, ",low\n");  // but for a few of the first rows
  const auto report = evaluate(made, people(400, true, 1), only({"logistic_regression", "decision_tree"}));
  EXPECT_TRUE(report.synthetic[0].predicts_one_class);
  EXPECT_FALSE(report.synthetic[1].predicts_one_class);  // it learns the few by heart
}

TEST_F(TableClassifiers, AreNamedWhereTheyHardlyTellClassesApart) {
  const auto said = [&](const std::string& samples, const std::string& test) {
    const data::DataSpec held_out = file("test.csv", test);
    file("samples.csv", samples);
    return make_table_classifiers_metric()
        ->score({folder_ / "samples.csv", held_out, file("train.csv", ""), 3, {}})
        .sentences;
  };
  EXPECT_TRUE(said(people(1000, true, 0), people(1000, true, 1)).empty());
  const std::vector<std::string> near = said(people(1000, false, 0), people(2000, false, 1));
  ASSERT_EQ(near.size(), 1u);
  for (const char* part : {"Trained on synthetic records", "hardly tell the classes apart", "random_forest"})
    EXPECT_NE(near[0].find(part), std::string::npos) << near[0];
}

TEST_F(TableClassifiers, AreNamedWhereTheyLieFarBelowTheSameOnesOfRealRows) {
  std::vector<TableScore> synthetic{{"mlp", {}}, {"lda", {}}, {"gaussian_nb", {}}}, real = synthetic;
  synthetic[0].measures.weighted_f1 = 0.80;
  synthetic[1].measures.weighted_f1 = 0.85;
  synthetic[2].measures.weighted_f1 = 0.09;
  for (TableScore& score : real) score.measures.weighted_f1 = 0.85;
  EXPECT_TRUE(far_below_real(synthetic, {}).empty());
  EXPECT_NE(far_below_real(synthetic, real).find("on real records: gaussian_nb."), std::string::npos)
      << far_below_real(synthetic, real);
  EXPECT_TRUE(far_below_real(real, real).empty());
}

TEST_F(TableClassifiers, AreNamedWhereTheyLieFarBelowTheCommonestClass) {
  std::vector<TableScore> scores{{"mlp", {}}, {"gaussian_nb", {}}};
  scores[0].measures.weighted_f1 = 0.70;
  scores[1].measures.weighted_f1 = 0.41;
  EXPECT_NE(far_below_commonest(scores, 0.76, "synthetic").find("synthetic records, these lie more than 0.1"),
            std::string::npos);
  EXPECT_NE(far_below_commonest(scores, 0.76, "real").find("record: gaussian_nb."), std::string::npos);
  EXPECT_TRUE(far_below_commonest(scores, 0.5, "real").empty());
  // Of equally many records of two classes whoever names one of them has an F1 of 2/3 for it, and 0 of the
  // other.
  const auto report = evaluate(people(400, true, 0), people(400, true, 1), only({"decision_tree"}));
  EXPECT_NEAR(report.commonest_f1, 1.0 / 3.0, 0.05);
}

TEST_F(TableClassifiers, GiveTheSameMeasuresForAnyThreadsAndOrder) {
  const std::string made = people(300, false, 0), test = people(300, false, 1);
  const auto names = table_classifier_names();
  const auto first = evaluate(made, test, {}, "", 1), second = evaluate(made, test, {}, "", 4);
  const auto reversed = evaluate(made, test, only({names.rbegin(), names.rend()}));
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(first.synthetic[i].name, names[i]);
    for (const MeasureName& measure : measure_names()) {
      const double found = first.synthetic[i].measures.*measure.field;
      EXPECT_EQ(found, second.synthetic[i].measures.*measure.field) << names[i] << " " << measure.name;
      EXPECT_EQ(found, reversed.synthetic[11 - i].measures.*measure.field) << names[i] << " " << measure.name;
    }
  }
}

TEST_F(TableClassifiers, OnRequestAlsoTrainedOnRealRecords) {
  TableClassifiersSpec spec = only({"xgboost"});
  spec.training.also_real = true;
  const auto report = evaluate(people(1000, false, 0), people(1000, true, 1), spec, people(1000, true, 2));
  ASSERT_EQ(report.real.size(), 1u);
  EXPECT_GT(report.real[0].measures.accuracy, 0.8);
  EXPECT_LT(report.synthetic[0].measures.accuracy, 0.7) << "the synthetic rows were noise";
}

/// The time that trainings take tells how many rows there are: where that is private no line shows it.
TEST_F(TableClassifiers, ShowNoProgressThatTellsAPrivateNumberOfRecords) {
  TableClassifiersSpec spec = only({"lda"});
  spec.training.also_real = true;
  const data::DataSpec test = file("test.csv", people(300, true, 0));
  for (const std::uint64_t known : {0, 300}) {
    data::DataSpec train = test;
    train.records = known;
    testing::internal::CaptureStderr();
    evaluate_table_classifiers({folder_ / "test.csv", test, train, 1, {}}, spec);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("training") != std::string::npos, known > 0);
  }
}

TEST_F(TableClassifiers, TrainLimitTakesTheFirstRows) {
  // Behind the first thousand rows the rule is turned round.
  const std::string turned = people(4000, true, 3, "low", "high");
  const std::string made = people(1000, true, 0) + turned.substr(turned.find('\n') + 1);
  TableClassifiersSpec spec = only({"gradient_boosting"});
  EXPECT_LT(evaluate(made, people(500, true, 1), spec).synthetic[0].measures.accuracy, 0.5);
  spec.training.train_limit = 1000;
  EXPECT_GT(evaluate(made, people(500, true, 1), spec).synthetic[0].measures.accuracy, 0.8);
}

TEST_F(TableClassifiers, TellMoreThanTwoClassesApart) {
  std::string toml(kTable);
  toml.replace(toml.find("[\"low\", \"high\"]"), 15, "[\"low\", \"middle\", \"high\"]");
  schema_ = parsed(toml);
  const auto rows = [](std::size_t n, std::uint32_t substream) {
    const CounterStream stream(1, Stream::kTest, substream);
    std::string text = "age,job,luck,income\n";
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t age = 20 + stream.below(2 * i, 51);
      const std::uint64_t draw = stream.below(2 * i + 1, 100);
      const bool nurse = draw < 50, odd = draw % 50 == 0;  // lda is blind to what a class never varies in
      text += std::to_string(age) + (nurse ? ",nurse" : ",cook") + ",0.5," +
              (nurse != odd ? "high"
               : age < 45   ? "low"
                            : "middle") +
              "\n";
    }
    return text;
  };
  const auto report = evaluate(rows(1000, 0), rows(500, 1));
  for (const TableScore& score : report.synthetic) {
    // Of bernoulli_nb all ages but the least are alike: it can tell nurses only.
    const bool blind = score.name == "bernoulli_nb";
    EXPECT_GT(score.measures.accuracy, blind ? 0.7 : 0.9) << score.name;
    EXPECT_GT(score.measures.roc_auc, blind ? 0.8 : 0.93) << score.name;
    EXPECT_GT(score.measures.macro_f1, blind ? 0.5 : 0.88) << score.name;
  }
}

TEST_F(TableClassifiers, RefuseAMissingClassAndAnEmptyList) {
  std::string one_class = "age,job,luck,income\n30,nurse,0.5,low\n31,cook,0.5,low\n";
  const std::string good = people(50, true, 1);
  test::expect_error(ExitCode::kData, {"samples.csv", "class 1 of 0..1 is missing", "sample.count"},
                     [&] { evaluate(one_class, good); });
  test::expect_error(ExitCode::kConfig, {"evaluate.table_classifiers is empty"},
                     [&] { evaluate(good, good, only({})); });
  test::expect_error(ExitCode::kConfig, {"luck", "\"mlp\"", "\"xgboost\""},
                     [&] { evaluate(good, good, only({"luck"})); });
  schema_.classes = 1;
  test::expect_error(ExitCode::kData, {"at least two classes"}, [&] { evaluate(good, good); });
}

/// Which class real records lack is private: the message is the same whichever it is.
TEST_F(TableClassifiers, RefuseTestRecordsOfOneClassWithoutTellingWhich) {
  const std::string good = people(50, true, 1), header = "age,job,luck,income\n";
  std::string said;
  for (const std::string missing : {"0", "1"}) {
    const std::string rows = header + "30,nurse,0.5," + (missing == "0" ? "high" : "low") + "\n";
    const auto evaluate_it = [&] { evaluate(good, rows, only({"gaussian_nb"})); };
    test::expect_local_detail(ExitCode::kData, {"test.csv"}, {"classes " + missing}, evaluate_it);
    const std::string message = test::expect_error(ExitCode::kData, {"test records"}, evaluate_it);
    if (said.empty()) said = message;
    EXPECT_EQ(message, said);
  }
}

TEST_F(TableClassifiers, AnErrorOfTheHeartbeatEndsAllTrainings) {
  const data::DataSpec held_out = file("test.csv", people(100, true, 1));
  file("samples.csv", people(500, true, 0));
  for (const int threads : {1, 3}) {
    int calls = 0;
    test::expect_error(ExitCode::kPeer, {"lost rank 1"}, [&] {
      const auto lose = [&] {
        if (++calls == 8) throw CommError("lost rank 1");
      };
      evaluate_table_classifiers({folder_ / "samples.csv", held_out, {}, threads, lose}, {});
    });
    EXPECT_LE(calls, 8 + threads);
  }
}

TEST_F(TableClassifiers, ReadNumbersByTheirBoundsAndCategoriesOneByOne) {
  const Features features(schema_);
  ASSERT_EQ(features.width(), 2u + 4u + 1u) << "a number that may be missing, 3 jobs and none, a number";
  const auto of = [&](std::uint32_t age_code, float age_fraction, std::uint32_t job) {
    const std::vector<std::size_t> codes = schema_.table->codes();
    const std::vector<float> record{schema::position({age_code, age_fraction}, codes[0]),
                                    schema::position({job, 0.5f}, codes[1]),
                                    schema::position({0, 0.001f}, codes[2])};
    std::vector<float> values(3), all(features.width(), 0.0f);
    features.read(record, values.data());
    features.visit(values.data(), [&](std::size_t feature, float value) { all[feature] = value; });
    return all;
  };
  EXPECT_EQ(of(0, 0.001f, 2), (std::vector<float>{0, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(of(4, 0.999f, 3), (std::vector<float>{1, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(of(5, 0.5f, 0), (std::vector<float>{0, 1, 1, 0, 0, 0, 0})) << "the last code: missing";
}

/// Rows of 4 x 4 numbers, read as images or as vectors.
struct PixelRows {
  explicit PixelRows(bool images)
      : features(images ? test::schema_of({1, 4, 4}, 2) : test::schema_of({16}, 2)),
        rows{&features, 2, {}, {}} {}
  void add(const std::array<float, 16>& record, std::int32_t label) { rows.add(record, label); }
  /// Where one number is `high` or `low` by the class, nine times of ten, and the others by chance.
  void plant(std::size_t n, float low, float high, std::uint32_t substream) {
    const CounterStream random(2, Stream::kTest, substream);
    for (std::size_t i = 0; i < n; ++i) {
      std::array<float, 16> record;
      for (std::size_t j = 0; j < 16; ++j)
        record[j] = static_cast<float>(random.uniform(32 * i + j)) < 0.5f ? low : high;
      const bool odd = random.below(32 * i + 16, 10) == 0;
      record[5] = (i % 2 == 1) != odd ? high : low;
      add(record, static_cast<std::int32_t>(i % 2));
    }
  }
  std::vector<double> scores(const TableClassifier& classifier) const {
    std::vector<double> out(rows.size() * 2);
    classifier.score(rows, out);
    return out;
  }
  double accuracy(const TableClassifier& classifier) const {
    const std::vector<double> s = scores(classifier);
    double right = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) right += (s[2 * i + 1] > s[2 * i]) == (rows.y[i] == 1);
    return right / static_cast<double>(rows.size());
  }

  Features features;
  Rows rows;
};

// Table 10 of DP-MERF sets some classifiers otherwise for images than scikit-learn does.
TEST(TableClassifiersOfImages, DimNumbersAreAbsentToBernoulli) {
  for (const bool images : {true, false}) {
    PixelRows planted(images), held_out(images);
    planted.plant(400, 0.3f, 0.8f, 0);
    held_out.plant(400, 0.3f, 0.8f, 1);
    EXPECT_NEAR(held_out.accuracy(*train_bernoulli_nb(planted.rows, 1, {})), images ? 0.9 : 0.5, 0.06);
  }
}

TEST(TableClassifiersOfImages, ClassesOfFewRowsCountAsMuchInTrees) {
  for (const bool images : {true, false}) {
    PixelRows same(images);
    for (int i = 0; i < 100; ++i) same.add({}, i < 90 ? 0 : 1);
    for (const auto train : {train_decision_tree, train_random_forest}) {
      const double share = same.scores(*train(same.rows, 1, {}))[1];
      EXPECT_NEAR(share, images ? 0.5 : 0.1, 0.03);
    }
  }
}

TEST(TableClassifiersOfImages, ABaggedTreeOfTwentyHasATenthOfTheRows) {
  // One row of 400 is of class 1: a tree that has drawn it says so.
  std::array<float, 16> odd{};
  odd[3] = 1.0f;
  for (const bool images : {true, false}) {
    double found = 0;
    bool odd_number = false;  // of twentieths: there are twenty
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      PixelRows rows(images);
      rows.add(odd, 1);
      for (int i = 1; i < 400; ++i) rows.add({}, 0);
      const double score = rows.scores(*train_bagging(rows.rows, seed, {}))[1];
      const double trees = images ? 20 : 10;
      EXPECT_NEAR(score * trees, std::round(score * trees), 1e-9);
      odd_number = odd_number || std::lround(score * 20) % 2 == 1;
      found += score / 20;
    }
    EXPECT_EQ(odd_number, images);
    EXPECT_NEAR(found, images ? 1 - std::exp(-0.1) : 1 - std::exp(-1.0), 0.07);
  }
}

TEST(TableClassifiersOfImages, BoostedTreesSeePartOfTheRowsOrOfTheNumbers) {
  PixelRows images(true), vectors(false);
  images.plant(300, 0.0f, 1.0f, 0);
  vectors.plant(300, 0.0f, 1.0f, 0);
  for (const auto train : {train_gradient_boosting, train_xgboost}) {
    EXPECT_EQ(vectors.scores(*train(vectors.rows, 1, {})), vectors.scores(*train(vectors.rows, 2, {})));
    EXPECT_EQ(images.scores(*train(images.rows, 1, {})), images.scores(*train(images.rows, 1, {})));
    EXPECT_NE(images.scores(*train(images.rows, 1, {})), images.scores(*train(images.rows, 2, {})));
    EXPECT_GT(images.accuracy(*train(images.rows, 1, {})), 0.8);
  }
  // Of one number there is no part, and of rows there is.
  const Features one(test::schema_of({1, 1, 1}, 2));
  Rows rows{&one, 2, {}, {}};
  const CounterStream random(3, Stream::kTest);
  for (std::size_t i = 0; i < 300; ++i)
    rows.add(std::array{static_cast<float>(random.uniform(i))}, random.below(1000 + i, 3) == 0 ? 1 : 0);
  const auto differs = [&](auto train) {
    std::vector<double> first(600), second(600);
    train(rows, 1, {})->score(rows, first);
    train(rows, 2, {})->score(rows, second);
    return first != second;
  };
  EXPECT_TRUE(differs(train_gradient_boosting));
  EXPECT_FALSE(differs(train_xgboost));
}

TEST(TableClassifiersOfImages, AdaBoostIsAnotherThanOfVectors) {
  PixelRows images(true), vectors(false);
  images.plant(300, 0.0f, 1.0f, 0);
  vectors.plant(300, 0.0f, 1.0f, 0);
  const std::unique_ptr<TableClassifier> trained = train_adaboost(images.rows, 1, {});
  EXPECT_NE(images.scores(*trained), vectors.scores(*train_adaboost(vectors.rows, 1, {})));
  EXPECT_GE(images.accuracy(*trained), 0.85);
}

TEST(TableClassifiersOfImages, LdaTakesHalfTheCovarianceFromAllNumbers) {
  PixelRows images(true);
  images.plant(300, 0.1f, 0.9f, 0);
  const auto& values = images.rows.values;
  Eigen::MatrixXd means = Eigen::MatrixXd::Zero(2, 16), within = Eigen::MatrixXd::Zero(16, 16);
  const auto row = [&](std::size_t i) {
    return Eigen::Map<const Eigen::Matrix<float, 1, 16>>(values.data() + 16 * i).cast<double>().eval();
  };
  for (std::size_t i = 0; i < 300; ++i) means.row(images.rows.y[i]) += row(i) / 150.0;
  for (std::size_t i = 0; i < 300; ++i) {
    const Eigen::RowVectorXd e = row(i) - means.row(images.rows.y[i]);
    within += e.transpose() * e / 300.0;
  }
  const Eigen::MatrixXd shrunk =
      0.5 * within + 0.5 * within.trace() / 16.0 * Eigen::MatrixXd::Identity(16, 16);
  const Eigen::MatrixXd weights = means * shrunk.inverse();
  const std::vector<double> scores = images.scores(*train_lda(images.rows, 1, {}));
  for (std::size_t i = 0; i < 300; ++i) {
    const auto of_class = [&](Eigen::Index c) {
      return weights.row(c).dot(row(i)) - 0.5 * weights.row(c).dot(means.row(c));
    };
    ASSERT_NEAR(scores[2 * i + 1] - scores[2 * i], of_class(1) - of_class(0), 1e-6) << i;
  }
}

/// Against all questions, asked one by one.
TEST(DecisionTree, AsksTheBestQuestionAndGrowsToTheEnd) {
  schema::Schema plain;
  plain.shape = {2};
  const Features features(plain);
  Rows rows{&features, 2, {}, {}};
  const CounterStream stream(1, Stream::kTest, 0);
  std::vector<double> weights;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const float x[] = {static_cast<float>(stream.below(4 * i, 30)) / 30.0f,
                       static_cast<float>(stream.uniform(4 * i + 1))};
    rows.add(x, x[0] + x[1] + 0.2f * static_cast<float>(stream.normal(4 * i + 2)) > 1.0f ? 1 : 0);
    weights.push_back(static_cast<double>(stream.below(4 * i + 3, 3)));
  }
  double best = 0.0;
  std::vector<float> best_left;
  for (std::size_t j = 0; j < 2; ++j) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double left[2] = {0, 0}, right[2] = {0, 0};
      for (std::size_t k = 0; k < rows.size(); ++k)
        (rows.row(k)[j] <= rows.row(i)[j] ? left : right)[rows.y[k]] += weights[k];
      if (left[0] + left[1] == 0 || right[0] + right[1] == 0) continue;
      const auto purity = [](const double* w) { return (w[0] * w[0] + w[1] * w[1]) / (w[0] + w[1]); };
      if (purity(left) + purity(right) <= best) continue;
      best = purity(left) + purity(right);
      best_left = {static_cast<float>(left[0] / (left[0] + left[1])),
                   static_cast<float>(right[0] / (right[0] + right[1]))};
    }
  }
  const TreeGrower grower(rows);
  const DecisionTree stump = grower.grow(weights, {.depth = 1}, stream, {});
  std::vector<float> shares;
  for (std::size_t i = 0; i < rows.size(); ++i) shares.push_back(stump.shares(rows.row(i))[0]);
  EXPECT_THAT(shares, testing::Each(testing::AnyOf(best_left[0], best_left[1])));
  EXPECT_THAT(shares, testing::IsSupersetOf(best_left));

  const DecisionTree whole = grower.grow(weights, {.features = 1}, stream, {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (weights[i] == 0.0) continue;
    EXPECT_EQ(whole.shares(rows.row(i))[static_cast<std::size_t>(rows.y[i])], 1.0f) << i;
  }
}

}  // namespace
}  // namespace muffle::evaluate
