#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/command_line.hpp"
#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "support/expect_error.hpp"

namespace muffle::app {
namespace {

using nlohmann::json;
using test::expect_error;
using ::testing::HasSubstr;

const std::string kMain = std::string(MUFFLE_CONFIGS) + "/fashion-mnist.toml";

/// What the command line prints.
std::string muffle(const std::vector<std::string>& arguments) {
  CommandLine line;
  std::vector<const char*> words{"muffle"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  line.parse(static_cast<int>(words.size()), words.data());
  std::ostringstream out;
  if (const auto alone = line.alone(out)) {
    alone();
  } else {
    audit(line.sources, line.audit, *comm::single_process(), out);
  }
  return out.str();
}

json account_json(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "account");
  arguments.insert(arguments.end(), {"--format", "json"});
  return json::parse(muffle(arguments));
}

/// The table of the specification, digit by digit.
TEST(AccountCommand, PrintsTheReferenceNumbers) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"0.2", "16.3041334209"}, {"0.5", "7.03182667558"}, {"1", "3.73063163482"},
      {"2", "1.99381244564"},   {"5", "0.891868264952"},  {"10", "0.499888619709"}};
  for (const auto& [epsilon, sigma] : table) {
    const json j = account_json({"--epsilon", epsilon, "--delta", "1e-5"});
    const double value = j.at("noise_multiplier");
    EXPECT_NEAR(value, std::stod(sigma), 0.51 * std::pow(10.0, std::floor(std::log10(value)) - 11))
        << epsilon;
    EXPECT_EQ(j.at("epsilon"), std::stod(epsilon));
    EXPECT_EQ(j.at("delta"), 1e-5);
    EXPECT_EQ(j.at("sensitivity"), 1.0);
    EXPECT_EQ(j.at("sigma"), value);
    // And back.
    const json back = account_json({"--delta", "1e-5", "--noise-multiplier", sigma});
    EXPECT_NEAR(back.at("epsilon").get<double>() / std::stod(epsilon), 1.0, 1e-9);
  }
  const json j = account_json({"--epsilon", "1", "--noise-multiplier", "4"});
  EXPECT_NEAR(j.at("delta").get<double>() / 2.9242721048564073e-6, 1.0, 1e-11);
  EXPECT_GE(j.at("delta").get<double>(), 2.9242721048564073e-6 * (1 - 1e-15));
  // What the published code's noise really promises.
  EXPECT_NEAR(account_json({"--noise-multiplier", "5", "--delta", "1e-5"}).at("epsilon").get<double>(),
              0.72552, 5e-6);
}

TEST(AccountCommand, TextSaysTheSame) {
  const std::string text = muffle({"account", "--epsilon", "1", "--delta", "1e-5", "--block", "norm=1"});
  EXPECT_THAT(text, HasSubstr("3.7306316348"));
  EXPECT_THAT(text, HasSubstr("7.4612632696"));
  EXPECT_THAT(text, HasSubstr("2 B"));
}

TEST(AccountCommand, SensitivityOfBlocksCountsAndAdjacency) {
  const auto sensitivity = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"--epsilon", "1", "--delta", "1e-5"});
    const json j = account_json(more);
    EXPECT_NEAR(j.at("sigma").get<double>(),
                j.at("noise_multiplier").get<double>() * j.at("sensitivity").get<double>(), 1e-12);
    return j.at("sensitivity").get<double>();
  };
  EXPECT_EQ(sensitivity({"--block", "norm=1"}), 2.0);
  EXPECT_EQ(sensitivity({"--block", "norm=1,kernel=signed,weight=1"}), 2.0);
  EXPECT_NEAR(sensitivity({"--block", "norm=1,kernel=nonnegative"}), std::sqrt(2.0), 1e-15);
  EXPECT_EQ(sensitivity({"--block", "norm=1,weight=0.5"}), 1.0);
  EXPECT_EQ(sensitivity({"--block", "norm=1", "--counts", "1"}), 2.0);
  EXPECT_NEAR(sensitivity({"--block", "norm=1", "--counts", "2"}), std::sqrt(10.0), 1e-15);
  EXPECT_EQ(sensitivity({"--block", "norm=1", "--records-per-person", "3"}), 6.0);
  EXPECT_EQ(sensitivity({"--block", "norm=1", "--adjacency", "add-remove-one"}), 1.0);
  EXPECT_NEAR(sensitivity({"--block", "norm=1", "--adjacency", "add-remove-one", "--counts", "1"}),
              std::sqrt(2.0), 1e-15);
  // The paper's random Fourier block beside a one-hot block of k = 3 columns with d = 12 entries.
  EXPECT_NEAR(sensitivity({"--block", "norm=1", "--block", "norm=0.5,kernel=nonnegative"}),
              std::sqrt(4 + 2 * 0.25), 1e-15);
  EXPECT_NEAR(sensitivity({"--block", "norm=1", "--block", "one-hot=3/12"}), std::sqrt(4 + 2 * 0.25), 1e-15);
  EXPECT_THAT(muffle({"account", "--epsilon", "1", "--delta", "1e-5", "--block", "one-hot=3/12"}),
              HasSubstr("norm sqrt(k/d)"));
}

TEST(AccountCommand, ReleasesCompose) {
  const json one = account_json({"--epsilon", "1", "--delta", "1e-5"});
  const json four = account_json({"--epsilon", "1", "--delta", "1e-5", "--releases", "4"});
  EXPECT_EQ(four.at("noise_multiplier").get<double>(), 2 * one.at("noise_multiplier").get<double>());
  EXPECT_EQ(four.at("releases"), 4);
  // Four releases with that noise cost what was asked for.
  const json back = account_json(
      {"--noise-multiplier", json(four.at("noise_multiplier")).dump(), "--releases", "4", "--delta", "1e-5"});
  EXPECT_NEAR(back.at("epsilon").get<double>(), 1.0, 1e-10);
  const json three_four = account_json({"--mu", "0.3", "--mu", "0.4", "--delta", "1e-5"});
  EXPECT_NEAR(three_four.at("mu").get<double>(), 0.5, 1e-15);
  EXPECT_EQ(three_four.at("releases"), 2);
  EXPECT_NEAR(three_four.at("epsilon").get<double>(),
              account_json({"--mu", "0.5", "--delta", "1e-5"}).at("epsilon").get<double>(), 1e-14);
  const json mixed = account_json({"--noise-multiplier", "4", "--noise-multiplier", "4", "--mu", "0.25",
                                   "--releases", "3", "--delta", "1e-5"});
  EXPECT_NEAR(mixed.at("mu").get<double>(), 0.75, 1e-15);
  EXPECT_EQ(mixed.at("releases"), 9);
}

TEST(AccountCommand, NeverClaimsDeltaZero) {
  EXPECT_GT(account_json({"--epsilon", "100", "--noise-multiplier", "1000"}).at("delta").get<double>(), 0.0);
}

TEST(AccountCommand, RefusesAbsurdInputInOneParagraph) {
  struct Bad {
    ExitCode code;
    std::string arguments, says;
  };
  constexpr auto kUsage = ExitCode::kUsage, kConfig = ExitCode::kConfig;
  const std::vector<Bad> all{
      {kUsage, "", "exactly two"},
      {kUsage, "--epsilon 1", "exactly two"},
      {kUsage, "--epsilon 1 --delta 1e-5 --noise-multiplier 4", "exactly two"},
      {kUsage, "--epsilon 1 --delta 1e-5 --mu 4", "exactly two"},
      {kUsage, "--epsilon one --delta 1e-5", "one"},
      {kUsage, "--epsilon 1 --delta 1e-5 --block nrom=1", "nrom=1"},
      {kUsage, "--epsilon 1 --delta 1e-5 --block norm=x", "'x'"},
      {kUsage, "--epsilon 1 --delta 1e-5 --block norm=1,,", "''"},
      {kUsage, "--epsilon 1 --delta 1e-5 --block kernel=odd", "kernel=odd"},
      {kUsage, "--epsilon 1 --delta 1e-5 --block one-hot=3", "one-hot=3"},
      {kUsage, "--epsilon 1 --delta 1e-5 --block one-hot=3/x", "one-hot=3/x"},
      {kConfig, "--epsilon 1 --delta 1e-5 --block one-hot=4/3", "4 columns"},
      {kConfig, "--epsilon 1 --delta 1e-5 --block one-hot=0/3", "0 columns"},
      {kConfig, "--epsilon 1 --delta 1e-5 --block norm=1e-300,weight=1e300", "weight is 1e+300"},
      {kConfig, "--epsilon 1 --delta 1e-5 --block weight=1e-7", "weight is 1e-07"},
      {kUsage, "--epsilon 1 --delta 1e-5 --adjacency both", "both"},
      {kUsage, "--epsilon 1 --delta 1e-5 --format xml", "xml"},
      {kUsage, "--epsilon 1 --delta 1e-5 --counts 1", "--block"},
      {kConfig, "--epsilon nan --delta 1e-5", "nan"},
      {kConfig, "--epsilon 0 --delta 1e-5", "epsilon is 0"},
      {kConfig, "--epsilon -1 --delta 1e-5", "-1"},
      {kConfig, "--epsilon inf --delta 1e-5", "inf"},
      {kConfig, "--epsilon 1 --delta 0", "delta is 0"},
      {kConfig, "--epsilon 1 --delta nan", "delta is nan"},
      {kConfig, "--epsilon 1 --delta 1", "delta is 1"},
      {kConfig, "--delta 1e-5 --noise-multiplier 0", "noise multiplier is 0"},
      {kConfig, "--delta 1e-5 --noise-multiplier nan", "noise multiplier is nan"},
      {kConfig, "--epsilon nan --noise-multiplier 1", "epsilon is nan"},
      {kConfig, "--delta 1e-5 --mu -2", "-2"},
      {kConfig, "--delta 1e-5 --mu nan", "mu is nan"},
      // Beyond a multiplier of 1e-3 to 1e6: squares and means of these would vanish or round to the wrong
      // side.
      {kConfig, "--delta 1e-5 --mu 1e-155", "mu is 1e-155"},
      {kConfig, "--delta 1e-5 --mu 1e-7", "mu is 1e-07"},
      {kConfig, "--epsilon 1 --mu 1e9", "mu is 1e+09"},
      {kConfig, "--epsilon 1 --noise-multiplier 1e-9", "noise multiplier is 1e-09"},
      {kConfig, "--delta 1e-5 --noise-multiplier 1e100", "noise multiplier is 1e+100"},
      {kConfig, "--delta 1e-5 --noise-multiplier inf", "noise multiplier is inf"},
      {kConfig, "--epsilon 1 --noise-multiplier 0.01 --releases 1000000", "of all releases together"},
      {kConfig, "--epsilon 0.001 --delta 1e-5 --releases 1000000000", "of each release"},
      {kConfig, "--delta 1e-5 --noise-multiplier 0.001", "protects nobody"},
      {kConfig, "--epsilon 1 --delta 1e-5 --releases 0", "--releases is 0"},
      {kConfig, "--epsilon 1 --delta 1e-5 --block norm=0", "norm bound"},
      {kConfig, "--epsilon 1 --delta 1e-5 --block norm=nan", "norm bound"},
      {kConfig, "--epsilon 1 --delta 1e-5 --block weight=-1", "weight is -1"},
      {kConfig, "--epsilon 1 --delta 1e-5 --block norm=1 --counts nan", "counts"},
      {kConfig, "--epsilon 1 --delta 1e-5 --block norm=1 --records-per-person 0", "one person"},
  };
  for (const Bad& bad : all) {
    SCOPED_TRACE(bad.arguments);
    std::istringstream words("account " + bad.arguments);
    const std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
    const std::string message = expect_error(bad.code, {bad.says}, [&] { muffle(arguments); });
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

// ---- plan

json plan_json(std::vector<std::string> more) {
  more.insert(more.begin(), {"plan", "--config", kMain, "--format", "json"});
  return json::parse(muffle(more));
}

TEST(PlanCommand, NeedsNoData) {
  const json j = plan_json({"--set", "data.dir=/there/is/no/such/folder", "--ranks", "4"});
  EXPECT_NEAR(j.at("sigma").get<double>(), 2 * 3.73063163482, 1e-10);
  EXPECT_EQ(j.at("sensitivity"), 2.0);
  EXPECT_EQ(j.at("released_values"), 100'000);
  EXPECT_EQ(j.at("ranks"), 4);
  EXPECT_EQ(j.at("warnings"), json::array());
  // By hand: sigma sqrt(D) / m against 1 / C.
  const json& map = j.at("maps").at(0);
  const double sigma = 2 * 3.73063163482;
  EXPECT_NEAR(map.at("noise_per_number").get<double>(), sigma / 60'000, 1e-9);
  EXPECT_NEAR(map.at("noise_per_class").get<double>(), sigma * 100 / 60'000, 1e-7);
  EXPECT_NEAR(map.at("noise_norm").get<double>(), sigma * std::sqrt(1e5) / 60'000, 1e-7);
  EXPECT_NEAR(map.at("signal_to_noise_most").get<double>(), 0.1 / (sigma * 100 / 60'000), 1e-5);
  EXPECT_NEAR(map.at("kernel_where_equal").get<double>(), std::pow(sigma * 100 / 60'000 * 10, 2), 1e-7);
  EXPECT_EQ(j.at("wire_bytes").at("release"), 800'000);
  EXPECT_EQ(j.at("wire_bytes").at("release_all_ranks"), 2'400'000.0);
  EXPECT_EQ(j.at("wire_bytes").at("step_embedding"), 4 * (100'000 + 10));
  EXPECT_EQ(j.at("embed_flops"), 60'000.0 * 10'000 * 784);
  EXPECT_GT(j.at("memory_bytes").at("release").get<double>(), 10'000.0 / 2 * 784 * 4);
  EXPECT_EQ(plan_json({"--ranks", "1"}).at("wire_bytes").at("step_sent_per_rank"), 0.0);
}

TEST(PlanCommand, ClosedFormsHaveTheirMemoryOnTheCoordinator) {
  const std::string folder = MUFFLE_CONFIGS;
  const std::string closed = folder + "/fashion-mnist-moments.toml",
                    start = folder + "/fashion-mnist-init.toml";
  const auto memory = [](const std::string& file, std::vector<std::string> more) {
    more.insert(more.begin(), {"plan", "--config", file, "--format", "json"});
    return json::parse(muffle(more)).at("memory_bytes");
  };
  // By hand: the release's 10 x 19,503 numbers twice, and six times 10 matrices of 197 x 197 doubles.
  const json own = memory(closed, {});
  EXPECT_EQ(own.at("fit_root"), 16 * 195'030 + 56 * 10 * 197 * 197);
  EXPECT_EQ(own.at("train"), 0);
  EXPECT_THAT(muffle({"plan", "--config", closed}), HasSubstr("fit      the coordinator alone, 24.9 MB"));
  EXPECT_THAT(muffle({"plan", "--config", closed, "--set", "data.records=1000"}),
              HasSubstr("noise leaves about"));
  EXPECT_THAT(muffle({"plan", "--config", closed, "--set", "map.moments.coefficients=28"}),
              HasSubstr("with 14 x 14 coefficients (fewer than the 28 written"));
  // A thousand coefficients: 25 times the numbers.
  const double many = memory(closed, {"--set", "map.moments.fewest_coefficients=28"}).at("fit_root");
  EXPECT_GT(many, 15 * own.at("fit_root").get<double>());
  const json from = memory(start, {}), plain = memory(start, {"--set", "train.init=\"random\""});
  EXPECT_EQ(from.at("fit_root"), 0) << "it is part of the training";
  EXPECT_GT(from.at("train").get<double>() - plain.at("train").get<double>(), 64.0 * 10 * 197 * 197);
  EXPECT_EQ(memory(kMain, {}).at("fit_root"), 0);
}

TEST(PlanCommand, TextHasTheFigures) {
  const std::string text = muffle({"plan", "--config", kMain, "--ranks", "2"});
  for (const char* part : {"sigma 7.46126327", "100000 numbers", "signal-to-noise  at most 8.04", "800 kB"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(PlanCommand, PlansWhatWouldNotFitInMemory) {
  const json j = plan_json({"--set", "map.rff.count=50000000"});
  EXPECT_GT(j.at("memory_bytes").at("release").get<double>(), 7e10);
}

TEST(PlanCommand, WarnsWhenTheNoiseDominates) {
  const auto warnings = [](std::vector<std::string> more) {
    more.push_back("--set");
    more.push_back("runtime.deadline_s=60.0");
    return plan_json(more).at("warnings").dump();
  };
  EXPECT_THAT(warnings({"--set", "data.records=600"}), HasSubstr("noise dominates whatever"));
  EXPECT_THAT(warnings({"--epsilon", "0.2"}), HasSubstr("noise may dominate"));
  EXPECT_THAT(warnings({"--delta", "0.001"}), HasSubstr("delta 0.001 is not below"));
  EXPECT_THAT(warnings({"--epsilon", "20"}), HasSubstr("weak promise"));
  EXPECT_THAT(warnings({"--set", "privacy.release_counts=true", "--set", "data.records=600"}),
              HasSubstr("counts: their noise"));
}

/// docs/explanation/scaling.md: its advice on delta can be followed.
TEST(PlanCommand, ATrillionRecordsHaveADeltaThatFits) {
  const auto plan = [](const char* delta) {
    return plan_json({"--set", "data.records=1000000000000", "--set", "features.lattice_bits=22", "--set",
                      std::string("privacy.delta=") + delta});
  };
  EXPECT_THAT(plan("1e-12").at("warnings").dump(), HasSubstr("delta 1e-12 is not below"));
  const json j = plan("1e-13");
  EXPECT_EQ(j.at("warnings"), json::array());
  EXPECT_NEAR(j.at("sigma").get<double>(), 2 * 6.879976400632, 1e-10);
  EXPECT_NEAR(j.at("maps").at(0).at("noise_per_number").get<double>(), 1.376e-11, 1e-14);
}

TEST(PlanCommand, PrivateNumberOfRecordsNeedsAGuess) {
  const std::vector<std::string> secret{"--set", "privacy.adjacency=add-remove-one",
                                        "--set", "privacy.release_counts=true",
                                        "--set", "data.records=0"};
  const json j = plan_json(secret);
  EXPECT_TRUE(j.at("records").is_null());
  EXPECT_TRUE(j.at("maps").at(0).at("signal_to_noise_most").is_null());
  EXPECT_THAT(j.at("warnings").dump(), HasSubstr("--records"));
  EXPECT_NEAR(j.at("sensitivity").get<double>(), std::sqrt(2.0), 1e-15);
  std::vector<std::string> guessed = secret;
  guessed.insert(guessed.end(), {"--records", "60000"});
  EXPECT_GT(plan_json(guessed).at("maps").at(0).at("signal_to_noise_most").get<double>(), 8.0);
}

TEST(PlanCommand, AGuessOfAPrivateNumberSaysWhatToWrite) {
  const std::string closed = MUFFLE_CONFIGS + std::string("/fashion-mnist-moments.toml");
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> args{
        "plan", "--config", closed, "--set", "privacy.adjacency=add-remove-one", "--set", "data.records=0"};
    args.insert(args.end(), more.begin(), more.end());
    return muffle(args);
  };
  const auto sizes = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--format", "json"});
    return json::parse(plan(more)).at("sizes");
  };
  EXPECT_EQ(sizes({}), json::object());
  EXPECT_EQ(sizes({"--records", "1000", "--set", "privacy.epsilon=0.2"}).at("map.moments.coefficients"), "5");
  EXPECT_EQ(
      sizes({"--records", "1000", "--set", "privacy.epsilon=0.2", "--set", "map.moments.coefficients=28"})
          .at("map.moments.coefficients"),
      "5");
  EXPECT_FALSE(sizes({"--records", "60000", "--set", "map.moments.coefficients=14"})
                   .contains("map.moments.coefficients"));
  EXPECT_THAT(plan({"--records", "1000"}), HasSubstr("better: --set map.moments.coefficients="));
}

TEST(PlanCommand, AGuessThatDecidesWhatATableIsReleasedAsIsToBeWritten) {
  const auto sizes = [&](std::vector<std::string> more) {
    std::vector<std::string> args{"plan",
                                  "--config",
                                  MUFFLE_CONFIGS + std::string("/adult.toml"),
                                  "--format",
                                  "json",
                                  "--set",
                                  "privacy.adjacency=add-remove-one",
                                  "--set",
                                  "data.records=0",
                                  "--set",
                                  "evaluate.metrics=[]"};
    args.insert(args.end(), more.begin(), more.end());
    return json::parse(muffle(args)).at("sizes");
  };
  // So few of a class are counted with the label as a column, if the configuration knows.
  EXPECT_EQ(sizes({"--records", "5000"}).at("data.expected_records"), "5000");
  EXPECT_EQ(sizes({}), json::object());
  EXPECT_EQ(sizes({"--records", "5000", "--set", "data.expected_records=5000"}), json::object());
  // Nothing else follows from it: bins by hand, one round, and classes in any case.
  EXPECT_EQ(sizes({"--records", "5000", "--set", "data.label_as=class", "--set", "privacy.rounds=1"}),
            json::object());
}

/// What no thread could draw later is refused before anything is charged.
TEST(PlanCommand, RefusesRecordsThatAreTooLongToBeDrawn) {
  const std::string file = MUFFLE_CONFIGS + std::string("/fashion-mnist-moments.toml");
  const auto load = [&](const std::string& shape) {
    load_config(
        {file,
         {},
         {"data.shape=" + shape, "sample.count=1000", "map.moments.coefficients=14", "evaluate.metrics=[]"},
         {}});
  };
  load("[1, 1952, 1952]");
  expect_error(ExitCode::kConfig, {"3873024 numbers", "500 are drawn at a time in 17.4 GB", "17.2 GB"},
               [&] { load("[1, 1968, 1968]"); });
}

TEST(PlanCommand, RefusesAbsurdInput) {
  expect_error(ExitCode::kUsage, {"--ranks"}, [] { plan_json({"--ranks", "0"}); });
  expect_error(ExitCode::kUsage, {"data.records"}, [] { plan_json({"--records", "5"}); });
  expect_error(ExitCode::kConfig, {"epsilon"}, [] { plan_json({"--epsilon", "nan"}); });
  expect_error(ExitCode::kConfig, {"data.features", "data.shape"}, [] { muffle({"plan"}); });
  expect_error(ExitCode::kIo, {"none.toml"}, [] { muffle({"plan", "--config", "/nowhere/none.toml"}); });
}

// ---- audit (its verdicts are tested in tests/job/audit_stat_test.cpp)

TEST(AuditCommand, AuditsTheMainConfigurationWithoutItsData) {
  // The noise is real: the verdict is wrong with probability at most 1 - confidence = 1e-9. The bound is 0.69
  // on average with a standard deviation of 0.03.
  const json j = json::parse(muffle({"audit", "--config", kMain, "--set", "data.dir=/no/such/folder", "--set",
                                     "privacy.epsilon=none", "--set", "privacy.noise_multiplier=1.0",
                                     "--trials", "3000", "--confidence", "0.999999999", "--format", "json"}));
  EXPECT_FALSE(j.at("exceeds").get<bool>());
  EXPECT_GT(j.at("canaries").at("distance_to_sensitivity").get<double>(), 0.999);
  EXPECT_GT(j.at("mu_lower").get<double>(), 0.5);
  EXPECT_LT(j.at("mu_lower").get<double>(), 1.0);
  EXPECT_NEAR(j.at("claim").at("mu").get<double>(), 1.0, 1e-12);
  EXPECT_EQ(j.at("findings").size(), 9u);
}

TEST(AuditCommand, RefusesAbsurdInput) {
  for (const char* bad : {"0", "1", "7", "1000000"}) {
    expect_error(ExitCode::kUsage, {"--features"}, [&] {
      muffle({"audit", "--config", kMain, "--features", bad});
    });
  }
  expect_error(ExitCode::kConfig, {"trials"}, [] { muffle({"audit", "--config", kMain, "--trials", "5"}); });
  for (const char* bad : {"0", "1", "nan", "2"}) {
    expect_error(ExitCode::kConfig, {"confidence"}, [&] {
      muffle({"audit", "--config", kMain, "--trials", "100", "--confidence", bad});
    });
  }
}

}  // namespace
}  // namespace muffle::app
