#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "support/expect_error.hpp"
#include "support/fashion_mnist.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kClasses = 3, kSide = 9;

/// Images of noise; with a signal, class c has a bright band in its own third of the rows. Labels go round.
schema::Records images(std::size_t n, bool signal, std::uint32_t substream, std::size_t side = kSide) {
  const CounterStream stream(1, Stream::kTest, substream);
  schema::Records records;
  records.shape = {1, side, side};
  const std::size_t dims = side * side;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t label = i % kClasses;
    records.labels.push_back(static_cast<std::uint8_t>(label));
    for (std::size_t p = 0; p < dims; ++p) {
      const bool bright = signal && p / side / (side / kClasses) == label;
      records.bytes.push_back(
          static_cast<std::uint8_t>(stream.below(i * dims + p, 128) + (bright ? 100u : 0u)));
    }
  }
  return records;
}
/// Left and right exchanged.
schema::Records mirrored(schema::Records records) {
  for (auto row = records.bytes.begin(); row != records.bytes.end();
       row += static_cast<std::ptrdiff_t>(records.shape[2]))
    std::reverse(row, row + static_cast<std::ptrdiff_t>(records.shape[2]));
  return records;
}

class Classifiers : public ::testing::Test {
 protected:
  /// Real records as IDX files.
  data::DataSpec real(const std::string& name, const schema::Records& records) {
    test::write_records(folder_ / (name + "-images.idx"), records);
    return {.dir = folder_.path().string(),
            .features = name + "-images.idx",
            .labels = name + "-labels.idx",
            .schema = {records.shape, kClasses}};
  }
  std::filesystem::path synthetic(const schema::Records& records) {
    test::write_records(folder_ / "samples.npz", records);
    return folder_ / "samples.npz";
  }
  ClassifierReport evaluate(const schema::Records& made, const data::DataSpec& test,
                            const EvaluateSpec& spec = {}, const data::DataSpec& real_train = {},
                            int threads = 3) {
    return evaluate_classifiers({synthetic(made), test, real_train, threads, {}}, spec);
  }
  void refuses(ExitCode code, std::initializer_list<std::string> parts, const schema::Records& made,
               const EvaluateSpec& spec = {}) {
    const auto test = real("test", images(30, true, 1));
    test::expect_error(code, parts, [&] { evaluate(made, test, spec); });
  }

  test::TemporaryFolder folder_;
};

const EvaluateSpec kLinearOnly{.classifiers = {"logistic_regression"}};
const EvaluateSpec kLinearOnBoth{.classifiers = {"logistic_regression"}, .also_real = true};

TEST_F(Classifiers, LearnWhatIsEasy) {
  const auto report = evaluate(images(300, true, 0), real("test", images(300, true, 1)));
  ASSERT_EQ(report.synthetic.size(), 3u);
  EXPECT_EQ(report.synthetic[0].name, "logistic_regression");
  EXPECT_EQ(report.synthetic[1].name, "mlp");
  EXPECT_EQ(report.synthetic[2].name, "cnn");
  for (const Score& score : report.synthetic) {
    EXPECT_GT(score.accuracy, 0.95) << score.name;
    EXPECT_GT(score.macro_f1, 0.95) << score.name;
  }
  EXPECT_TRUE(report.real.empty());
  EXPECT_TRUE(report.notes.empty());
}

TEST_F(Classifiers, AreAtChanceWhereLabelsSayNothing) {
  const auto report = evaluate(images(300, false, 0), real("test", images(900, false, 1)));
  for (const Score& score : report.synthetic) {
    // Five standard deviations of a binomial share: false alarms below 1e-6, and the seeds are fixed.
    EXPECT_NEAR(score.accuracy, 1.0 / 3.0, 5.0 * std::sqrt(2.0 / 9.0 / 900.0)) << score.name;
  }
}

TEST_F(Classifiers, GiveTheSameScoresForAnyThreadsAndOrder) {
  const auto test = real("test", images(900, false, 1));
  const auto first = evaluate(images(300, false, 0), test),
             second = evaluate(images(300, false, 0), test, {}, {}, 1);
  EvaluateSpec reversed{.classifiers = {"cnn", "mlp", "logistic_regression"}};
  const auto third = evaluate(images(300, false, 0), test, reversed);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(first.synthetic[i].accuracy, second.synthetic[i].accuracy);
    EXPECT_EQ(first.synthetic[i].macro_f1, second.synthetic[i].macro_f1);
    EXPECT_EQ(first.synthetic[i].macro_f1, third.synthetic[2 - i].macro_f1) << "order must not matter";
  }
}

TEST_F(Classifiers, OnRequestAlsoTrainedOnRealRecords) {
  const auto report = evaluate(images(300, false, 0), real("test", images(300, true, 1)), kLinearOnBoth,
                               real("train", images(300, true, 2)));
  ASSERT_EQ(report.real.size(), 1u);
  EXPECT_GT(report.real[0].accuracy, 0.95);
  EXPECT_LT(report.synthetic[0].accuracy, 0.8) << "the synthetic records were noise";
}

TEST_F(Classifiers, TrainLimitTakesTheFirstRecords) {
  auto made = images(900, true, 0);
  for (std::size_t i = 300; i < 900; ++i)
    made.labels[i] = static_cast<std::uint8_t>((made.labels[i] + 1) % kClasses);
  const auto test = real("test", images(300, true, 1));
  // Two of three labels are the wrong class's: that is what the whole file teaches, but for what is learnt by
  // heart.
  EXPECT_LT(evaluate(made, test, kLinearOnly).synthetic[0].accuracy, 0.5);
  EvaluateSpec limited = kLinearOnly;
  limited.train_limit = 300;
  EXPECT_GT(evaluate(made, test, limited).synthetic[0].accuracy, 0.95);
}

TEST_F(Classifiers, ResNet9LearnsWhatIsEasy) {
  const EvaluateSpec spec{.classifiers = {"resnet9"}, .epochs = 12};
  const auto report = evaluate(images(240, true, 0, 12), real("test", images(90, true, 1, 12)), spec);
  ASSERT_EQ(report.synthetic.size(), 1u);
  EXPECT_GT(report.synthetic[0].accuracy, 0.9);
}

/// A last batch of one record has no variance; one epoch of noise, so that what it says of an image is no
/// matter of course.
TEST_F(Classifiers, ResNet9SaysTheSameOfAnImageAndItsMirrorImage) {
  const EvaluateSpec spec{.classifiers = {"resnet9"}, .epochs = 1};
  const auto made = images(513, false, 0, 11), seen = images(60, false, 1, 11);
  const Score once = evaluate(made, real("test", seen), spec).synthetic[0],
              turned = evaluate(made, real("turned", mirrored(seen)), spec, {}, 1).synthetic[0];
  EXPECT_GT(once.accuracy, 0.0);
  EXPECT_EQ(once.accuracy, turned.accuracy);
  EXPECT_EQ(once.macro_f1, turned.macro_f1);
}

TEST_F(Classifiers, ResNet9NeedsMorePixels) {
  const EvaluateSpec spec{.classifiers = {"logistic_regression", "resnet9"}};
  const auto report = evaluate(images(60, true, 0), real("test", images(60, true, 1)), spec);
  EXPECT_EQ(report.synthetic.size(), 1u);
  EXPECT_THAT(report.notes,
              ::testing::ElementsAre("resnet9 is left out: it needs images of at least 11 x 11 pixels"));
}

TEST_F(Classifiers, AccuracyByTheNumberOfRecords) {
  auto made = images(900, true, 0);
  for (std::size_t i = 0; i < 600; ++i)  // the first records teach the wrong class
    made.labels[i] = static_cast<std::uint8_t>((made.labels[i] + 1) % kClasses);
  const auto test = real("test", images(300, true, 1));
  EvaluateSpec spec = kLinearOnly;
  spec.train_sizes = {600, 300, 300, 901};
  const auto report = evaluate(made, test, spec);
  ASSERT_EQ(report.of_sizes.size(), 2u);
  EXPECT_EQ(report.of_sizes[0].records, 300u);
  EXPECT_EQ(report.of_sizes[1].records, 600u);
  for (const auto& [records, accuracies] : report.of_sizes) {
    ASSERT_EQ(accuracies.size(), 1u);
    EXPECT_LT(accuracies[0], 0.1) << records;
    EvaluateSpec limited = kLinearOnly;
    limited.train_limit = records;
    EXPECT_EQ(evaluate(made, test, limited).synthetic[0].accuracy, accuracies[0]) << records;
  }
  EXPECT_THAT(report.notes,
              ::testing::ElementsAre(::testing::HasSubstr("901 is left out, as there are 900")));
}

TEST_F(Classifiers, FloatsAreScaledByTheSchemaAndTheCnnNeedsImages) {
  // Three clouds in the plane; bounds that are not 0..1, so that records and tests agree only if both are
  // scaled.
  const auto clouds = [](std::size_t n, std::uint32_t substream) {
    const CounterStream stream(1, Stream::kTest, substream);
    schema::Records records;
    records.shape = {2};
    for (std::size_t i = 0; i < n; ++i) {
      const double angle = 2.0 * static_cast<double>(i % kClasses);
      records.labels.push_back(static_cast<std::uint8_t>(i % kClasses));
      records.floats.push_back(
          static_cast<float>(105.0 + 3.0 * std::cos(angle) + 0.2 * stream.normal(2 * i)));
      records.floats.push_back(
          static_cast<float>(105.0 + 3.0 * std::sin(angle) + 0.2 * stream.normal(2 * i + 1)));
    }
    return records;
  };
  auto test = real("test", clouds(300, 1));
  test.schema.lo = 100.0;
  test.schema.hi = 110.0;
  const auto report = evaluate(clouds(300, 0), test);
  ASSERT_EQ(report.synthetic.size(), 2u);
  EXPECT_GT(report.synthetic[0].accuracy, 0.95);
  EXPECT_GT(report.synthetic[1].accuracy, 0.95);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], ::testing::HasSubstr("cnn"));
}

TEST_F(Classifiers, TestRecordsWithoutAKnownLabelDoNotCount) {
  auto with_strangers = images(300, true, 1);
  for (std::size_t i = 0; i < 150; ++i) with_strangers.labels[i] = 200;
  auto test = real("test", with_strangers);
  test.schema.on_error = schema::OnError::kClamp;
  EXPECT_GT(evaluate(images(300, true, 0), test, kLinearOnly).synthetic[0].accuracy, 0.95);
  std::fill(with_strangers.labels.begin(), with_strangers.labels.end(), std::uint8_t{200});
  test = real("test", with_strangers);
  test.schema.on_error = schema::OnError::kClamp;
  test::expect_error(ExitCode::kData, {"test-images.idx", "no labelled record"},
                     [&] { evaluate(images(300, true, 0), test, kLinearOnly); });
}

/// A lost peer is reported once, and to one thread: the others must not train on for minutes.
TEST_F(Classifiers, AnErrorBetweenStepsEndsAllTrainingsAtOnce) {
  const auto samples = synthetic(images(300, true, 0));
  const auto test = real("test", images(30, true, 1));
  for (const int threads : {1, 2, 3}) {
    int calls = 0;
    test::expect_error(ExitCode::kPeer, {"lost rank 1"}, [&] {
      const auto lose = [&] {
        if (++calls == 5) throw CommError("lost rank 1");
        if (calls > 5) std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the error is on its way
      };
      evaluate_classifiers({samples, test, {}, threads, lose}, {});
    });
    // The other threads take a few steps more while the error is on its way; all trainings have 2,600.
    EXPECT_LT(calls, 500) << threads << " threads";
  }
}

TEST_F(Classifiers, ShowLifeInEveryStepAndThroughoutTheTest) {
  const auto samples = synthetic(images(300, true, 0));
  const auto calls_until = [&](const data::DataSpec& test, int last) {
    int calls = 0;
    const auto lose = [&] {
      if (++calls == last) throw CommError("lost rank 1");
    };
    evaluate_classifiers({samples, test, {}, 1, lose}, kLinearOnly);
    return calls;
  };
  const auto few = real("few", images(1000, true, 1)), many = real("many", images(6000, true, 1));
  const int with_few = calls_until(few, 0), with_many = calls_until(many, 0);
  EXPECT_GE(with_many, with_few + 5) << "at least once in a thousand test records";
  test::expect_error(ExitCode::kPeer, {"lost rank 1"}, [&] { calls_until(many, with_many); });
}

TEST_F(Classifiers, RefuseAMissingOrASingleClass) {
  auto made = images(300, true, 0);
  std::replace(made.labels.begin(), made.labels.end(), std::uint8_t{1}, std::uint8_t{0});
  refuses(ExitCode::kData, {"samples.npz", "class 1 of 0..2 is missing", "sample.count"}, made);
  std::fill(made.labels.begin(), made.labels.end(), std::uint8_t{2});
  refuses(ExitCode::kData, {"samples.npz", "a single class only", "classes 0, 1 of 0..2 are missing"}, made);
  EvaluateSpec two_records;
  two_records.train_limit = 2;
  refuses(ExitCode::kData, {"class 2", "evaluate.train_limit"}, images(300, true, 0), two_records);
  schema::Records none;
  none.shape = {1, kSide, kSide};
  refuses(ExitCode::kData, {"samples.npz", "no record"}, none);
}

/// Which class real records lack is private: the message is the same whichever it is.
TEST_F(Classifiers, RefuseRealRecordsOfTooFewClassesWithoutTellingWhich) {
  const auto test = real("test", images(30, true, 1));
  std::string said;
  for (const int missing : {0, 1}) {
    auto records = images(300, true, 2);
    std::replace(records.labels.begin(), records.labels.end(), static_cast<std::uint8_t>(missing),
                 std::uint8_t{2});
    const auto train = real("train", records);
    const auto evaluate_it = [&] { evaluate(images(300, true, 0), test, kLinearOnBoth, train); };
    test::expect_local_detail(ExitCode::kData, {}, {"classes " + std::to_string(missing)}, evaluate_it);
    const std::string message =
        test::expect_error(ExitCode::kData, {"train-labels.idx", "also_real"}, evaluate_it);
    if (said.empty()) said = message;
    EXPECT_EQ(message, said);
  }
}

/// Steps are counted from the records: where their number is private (`records` 0) no line shows them.
TEST_F(Classifiers, ShowNoProgressThatTellsAPrivateNumberOfRecords) {
  const auto test = real("test", images(30, true, 1));
  for (const std::uint64_t known : {0, 300}) {
    auto train = real("train", images(300, true, 2));
    train.records = known;
    ::testing::internal::CaptureStderr();
    evaluate(images(300, true, 0), test, kLinearOnBoth, train);
    EXPECT_EQ(::testing::internal::GetCapturedStderr().find("steps") != std::string::npos, known > 0);
  }
}

TEST_F(Classifiers, RefuseRecordsOfAnotherKind) {
  auto narrow = images(300, true, 0);
  narrow.shape = {1, kSide, kSide - 1};
  narrow.bytes.resize(300 * kSide * (kSide - 1));
  refuses(ExitCode::kData, {"samples.npz", "72", "9 x 9", "shape"}, narrow);
  auto stranger = images(300, true, 0);
  stranger.labels[17] = 3;
  refuses(ExitCode::kData, {"samples.npz", "record 17", "label 3", "3 classes"}, stranger);
  auto broken = images(300, true, 0);
  broken.floats.assign(broken.bytes.begin(), broken.bytes.end());
  broken.bytes.clear();
  broken.floats[5 * kSide * kSide] = std::numeric_limits<float>::quiet_NaN();
  refuses(ExitCode::kData, {"samples.npz", "record 5", "finite"}, broken);
}

TEST_F(Classifiers, RefuseSettingsThatMakeNoSense) {
  const auto made = images(300, true, 0);
  refuses(ExitCode::kConfig, {"random_forest", "\"logistic_regression\", \"mlp\", \"cnn\" or \"resnet9\""},
          made, {.classifiers = {"random_forest"}});
  refuses(ExitCode::kConfig, {"mlp twice"}, made, {.classifiers = {"mlp", "mlp"}});
  refuses(ExitCode::kConfig, {"evaluate.classifiers is empty"}, made, {.classifiers = {}});
  auto unlabelled = real("test", images(30, true, 1));
  unlabelled.schema.classes = 1;
  test::expect_error(ExitCode::kData, {"at least two classes"}, [&] { evaluate(made, unlabelled); });
  test::expect_error(ExitCode::kIo, {"nowhere.npz"}, [&] {
    evaluate_classifiers({folder_ / "nowhere.npz", real("test", images(30, true, 1)), {}, 1, {}}, {});
  });
}

/// The public benchmark, so that a classifier that got worse is noticed.
TEST_F(Classifiers, FashionMnist) {
  const data::DataSpec train = test::fashion_mnist("train"), test = test::fashion_mnist("t10k");
  EvaluateSpec spec = kLinearOnBoth;
  spec.train_limit = 3000;

  // The same records as "synthetic" ones: both ways into a training set must lead to the same place.
  data::Batch batch;
  data::open_shard(train, 0, 1)->next(spec.train_limit, batch);
  schema::Records records;
  records.shape = train.schema.shape;
  for (const float v : batch.x) records.bytes.push_back(static_cast<std::uint8_t>(std::lround(v * 255.0f)));
  records.labels.assign(batch.y.begin(), batch.y.end());

  const auto report = evaluate(records, test, spec, train);
  EXPECT_GT(report.real[0].accuracy, 0.78);  // measured: 0.816
  EXPECT_LT(report.real[0].accuracy, 0.86);
  EXPECT_NEAR(report.synthetic[0].accuracy, report.real[0].accuracy, 0.003);
}

}  // namespace
}  // namespace muffle::evaluate
