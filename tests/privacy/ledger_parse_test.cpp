
#include <map>
#include <random>
#include <vector>

#include "ledger_fixture.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "support/expect_error.hpp"

namespace muffle::privacy {
namespace {

using test::expect_error;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Gives every line a right hash and a right predecessor again: what a forger would do.
std::string reseal(std::vector<std::string> lines) {
  std::string previous(64, '0');
  for (std::string& line : lines) {
    const auto at = line.find(R"("prev":")");
    if (at != std::string::npos && at + 72 < line.size()) line.replace(at + 8, 64, previous);
    const auto tail = line.rfind(R"(,"sha256":")");
    if (tail != std::string::npos) {
      line.resize(tail);
      line += R"(,"sha256":")" + to_hex(sha256(PublicBytes(line))) + "\"}";
    }
    previous = to_hex(sha256(PublicBytes(line)));
  }
  return join(lines);
}

class LedgerParseTest : public LedgerFixture {
 protected:
  /// BUDGET, INTENT, PENDING, COMMIT, INTENT, INTENT, PENDING, COMMIT.
  std::string sample() const {
    Ledger ledger = open(Budget::from_epsilon(5, 1e-5));
    release(ledger, terms(0.25), 'a');
    ledger.begin(terms(0.125, "/runs/\"quoted\" \xc3\xa9 \xff/release.mfl"));
    release(ledger, terms(0.5), 'b');
    return read_file(file_);
  }
  static void expect_damaged(const std::string& text, const std::string& problem) {
    SCOPED_TRACE(problem);
    expect_error(ExitCode::kProtocol, {"the-file", "line ", problem, "backup"},
                 [&] { parse_ledger(text, "the-file"); });
  }
};

TEST_F(LedgerParseTest, ReadsBackWhatItWrites) {
  const LedgerState state = parse_ledger(sample(), "x");
  EXPECT_EQ(state.lines, 8u);
  EXPECT_EQ(state.charges.size(), 3u);
  EXPECT_EQ(state.charges[1].terms.run, "/runs/\"quoted\" \xc3\xa9 \xef\xbf\xbd/release.mfl");
  EXPECT_EQ(state.spent_squares, 0.0625 + 0.015625 + 0.25);
}

TEST_F(LedgerParseTest, RoundsOfAChargeComeInTurnAndCostNothingMore) {
  const std::string kept(64, 'a'), kWay = "masked, ranks 3";
  {
    Ledger ledger = open(std::nullopt);
    const std::string id = ledger.begin(terms(0.25));
    EXPECT_THROW(ledger.begin_round(id, 2, kWay), InvariantError) << "the first is not kept";
    EXPECT_THROW(ledger.keep_round(id, 2, kept, kWay), InvariantError);
    ledger.keep_round(id, 1, kept, kWay);
    EXPECT_TRUE(ledger.state().charges[0].between_rounds());
    EXPECT_THROW(ledger.keep_round(id, 1, kept, kWay), InvariantError) << "twice";
    EXPECT_THROW(ledger.begin_round(id, 3, kWay), InvariantError);
    ledger.begin_round(id, 2, kWay);
    EXPECT_FALSE(ledger.state().charges[0].between_rounds()) << "its noise may be drawn already";
    EXPECT_THROW(ledger.begin_round(id, 2, kWay), InvariantError) << "twice";
    ledger.bind(id, std::string(64, 'b'));
    EXPECT_THROW(ledger.keep_round(id, 2, kept, kWay), InvariantError) << "it is whole";
  }
  const std::vector<std::string> lines = split(read_file(file_));  // BUDGET, INTENT, ROUND, ROUND, PENDING
  const LedgerState state = parse_ledger(join(lines), "x");
  EXPECT_EQ(state.charges[0].rounds_drawn, 2u);
  EXPECT_EQ(state.charges[0].rounds_kept, 1u);
  EXPECT_EQ(state.charges[0].kept, std::vector<std::string>{kept});
  EXPECT_EQ(state.charges[0].summed, (std::vector{kWay, kWay}));
  EXPECT_EQ(state.spent_squares, 0.0625);
  const auto forged = [&](std::size_t line, const std::string& from, const std::string& to) {
    auto changed = lines;
    changed[line].replace(changed[line].find(from), from.size(), to);
    return reseal(changed);
  };
  expect_damaged(forged(2, R"("round":1)", R"("round":2)"), "kept out of turn");
  expect_damaged(forged(3, R"("round":2)", R"("round":3)"), "drawn out of turn");
  expect_damaged(forged(3, R"("round":2)", R"("round":101)"), "'round'");
  expect_damaged(forged(3, R"("charge":")" + state.charges[0].id, R"("charge":")" + std::string(32, '0')),
                 "without an INTENT");
}

TEST_F(LedgerParseTest, EveryWayToBreakTheChainIsNamed) {
  const std::vector<std::string> lines = split(sample());
  auto without = lines;
  without.erase(without.begin() + 2);
  expect_damaged(join(without), "the chain is broken");
  auto swapped = lines;
  std::swap(swapped[1], swapped[4]);
  expect_damaged(join(swapped), "the chain is broken");
  auto twice = lines;
  twice.insert(twice.begin() + 1, lines[1]);
  expect_damaged(join(twice), "the chain is broken");
  auto edited = lines;
  edited[1].replace(edited[1].find("\"mu\":0.25"), 9, "\"mu\":0.05");
  expect_damaged(join(edited), "it was changed");
  expect_damaged("", "no whole line");
  expect_damaged("\n" + join(lines), "too short");
  expect_damaged(join(lines) + "\n", "too short");
  expect_damaged(join(lines) + std::string(1 << 17, 'x') + "\n", "longer");
  expect_damaged(join(lines) +
                     "Some text that somebody wrote at the end of the ledger, which is long enough to be one "
                     "of its lines, but is none at all, is it?\n",
                 "does not end with its hash");
}

TEST_F(LedgerParseTest, ForgedLinesWithRightHashesMustStillMakeSense) {
  const std::vector<std::string> lines = split(sample());
  const auto forged = [&](std::size_t line, const std::string& from, const std::string& to) {
    auto changed = lines;
    const auto at = changed[line].find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed[line].replace(at, from.size(), to);
    return reseal(changed);
  };
  EXPECT_NO_THROW(parse_ledger(reseal(lines), "x")) << "the forger's tool works";
  const std::string mu = R"("mu":0.25)", hash = R"("artifact_sha256":")";
  expect_damaged(forged(1, mu, R"("mu":-0.25)"), "out of range");
  expect_damaged(forged(1, mu, R"("mu":0.250)"), "not spelt as muffle spells it");
  expect_damaged(forged(1, mu, R"("mu":1e-300)"), "out of range");
  expect_damaged(forged(1, mu, R"("mu":1e999)"), "lacks a field");
  expect_damaged(forged(1, mu, R"("mu":null)"), "wrong type or value: the field 'mu'");
  expect_damaged(forged(1, mu, mu + R"(,"mu":0.01)"), "not spelt");
  expect_damaged(forged(1, mu, mu + R"(,"more":1)"), "not spelt");
  expect_damaged(forged(1, R"("seq":1)", R"("seq":2)"), "out of sequence");
  expect_damaged(forged(1, R"("seq":1)", R"("seq":-1)"), "'seq' is not a whole number");
  expect_damaged(forged(1, R"("version":2)", R"("version":3)"), "version");
  expect_damaged(forged(1, "muffle-ledger", "muffle-lodger"), "another format");
  expect_damaged(forged(1, "INTENT", "INTEND"), "kind");
  expect_damaged(forged(1, "patients-2024", "patients-2025"), "another data set");
  expect_damaged(forged(0, "patients-2024", "..tients-2024"), "data-set id");
  expect_damaged(forged(3, hash + "aaaa", hash + "AAAA"), "64 hexadecimal");
  auto no_budget = lines;
  no_budget.erase(no_budget.begin());
  no_budget[0].replace(no_budget[0].find("\"seq\":1"), 7, "\"seq\":0");
  no_budget.resize(1);
  expect_damaged(reseal(no_budget), "no BUDGET");
  auto commit_first = lines;
  commit_first.resize(2);
  for (const std::size_t line : {2u, 3u}) {
    commit_first[1] = lines[line];
    commit_first[1].replace(commit_first[1].find("\"seq\":"), 7, "\"seq\":1");
    expect_damaged(reseal(commit_first), "without an INTENT");
  }
  auto unbound = lines;
  unbound.erase(unbound.begin() + 2);
  unbound[2].replace(unbound[2].find("\"seq\":3"), 7, "\"seq\":2");
  expect_damaged(reseal(unbound), "another artifact than");
  expect_damaged(forged(3, hash + "aaaa", hash + "bbbb"), "another artifact than");
  auto twice = lines;
  twice.emplace_back();
  for (const auto& [line, problem] : std::map<std::size_t, std::string>{
           {5, "second INTENT"}, {6, "second PENDING"}, {7, "second COMMIT"}}) {
    twice[8] = lines[line];
    twice[8].replace(twice[8].find("\"seq\":"), 7, "\"seq\":8");
    expect_damaged(reseal(twice), problem);
  }
  const auto unit = [](const std::string& adjacency, const char* records) {
    return R"("adjacency":")" + adjacency + R"(","max_records_per_person":)" + records;
  };
  const std::string ours = unit("replace-one", "1");
  expect_damaged(forged(5, ours, unit("add-remove-one", "1")), "another unit of privacy");
  expect_damaged(forged(5, ours, unit("replace-one", "2")), "another unit of privacy");
  expect_damaged(forged(1, ours, unit("replace-two", "1")), "adjacency");
  expect_damaged(forged(1, ours, unit("replace-one", "0")), "out of range");
  // What a terminal would obey.
  expect_damaged(forged(1, "/runs/a", "/runs/\\u001b[2J"), "control characters");
  expect_damaged(forged(1, "/runs/a", "/runs/\\u009b2J"), "control characters");
  expect_damaged(forged(1, "/runs/a", "/runs/\\na"), "control characters");
}

TEST_F(LedgerParseTest, ATornLastLineIsMendedAtEveryLength) {
  const std::string whole = sample();
  const std::vector<std::string> lines = split(whole);
  const std::size_t end = whole.size() - lines[7].size() - lines[6].size() - 2,
                    begin = end - lines[5].size() - 1;
  const auto mu_ends = begin + lines[5].find("\"mu\":0.5,") + 9;
  for (std::size_t cut = begin + 1; cut < end; cut += cut < mu_ends + 3 ? 1 : 7) {
    SCOPED_TRACE(cut);
    write_file_atomically(file_, whole.substr(0, cut));
    const LedgerState torn = read_ledger(file_);
    EXPECT_EQ(torn.lines, 5u);
    EXPECT_EQ(torn.torn, whole.substr(begin, cut - begin));
    const Ledger mended = open();
    EXPECT_EQ(mended.state().repairs, 1u);
    EXPECT_EQ(mended.state().lines, 6u);
    EXPECT_TRUE(mended.state().torn.empty());
    // A torn INTENT that still shows its mu counts as spent.
    EXPECT_EQ(mended.state().spent_squares, 0.0625 + 0.015625 + (cut >= mu_ends ? 0.25 : 0.0));
    EXPECT_EQ(read_file(file_).substr(0, begin), whole.substr(0, begin))
        << "nothing before the tear is touched";
  }
}

TEST_F(LedgerParseTest, ALedgerOfVersion1IsRefusedInWordsOfItsOwn) {
  std::string old = sample();
  for (std::size_t at = 0; (at = old.find("\"version\":2", at)) != std::string::npos;) old[at + 10] = '1';
  expect_error(ExitCode::kProtocol, {"the-file", "version 1", "new ledger", "Nothing was charged"},
               [&] { parse_ledger(old, "the-file"); });
}

TEST_F(LedgerParseTest, PathsWithControlCharactersAreWrittenWithoutThem) {
  { open().begin(terms(0.25, "/runs/\x1b]0;x\x07\n\xc2\x9b/release.mfl")); }
  EXPECT_EQ(read_ledger(file_).charges[0].terms.run, "/runs/?]0;x?\?\?/release.mfl");
}

TEST_F(LedgerParseTest, ATornCommitCostsNothingMore) {
  const std::string whole = sample();
  write_file_atomically(file_, whole.substr(0, whole.size() - 10));
  const Ledger mended = open();
  EXPECT_EQ(mended.state().spent_squares, 0.0625 + 0.015625 + 0.25);
  EXPECT_FALSE(mended.state().charges[2].artifact);
}

TEST_F(LedgerParseTest, AHoleInTheLastLineIsATearAndAnywhereElseItIsDamage) {
  const std::string whole = sample();
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (const std::size_t from : {last, last + 100, whole.size() - 30}) {
    std::string holed = whole;
    for (std::size_t i = from; i + 1 < holed.size(); ++i) holed[i] = '\0';
    EXPECT_EQ(parse_ledger(holed, "x").good_bytes, last);
    holed.back() = '\0';
    EXPECT_EQ(parse_ledger(holed, "x").good_bytes, last);
  }
  std::string damaged = whole;
  damaged[last - 20] = '\0';
  expect_damaged(damaged, "it was changed");
  damaged = whole;
  damaged[last + 20] ^= 1;
  expect_damaged(damaged, "it was changed");
}

// Whatever happens to the bytes: a ProtocolError, or nothing but a part of the truth. Never another
// exception, never an invented or a changed line.
TEST_F(LedgerParseTest, MutationsAreRefusedOrLeaveAPrefixOfTheTruth) {
  const std::string whole = sample();
  std::mt19937_64 random(20240601);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
#ifdef MUFFLE_SANITIZED
  const int rounds = 4000;
#else
  const int rounds = 40000;
#endif
  int refused = 0, torn = 0;
  for (int i = 0; i < rounds; ++i) {
    std::string text = whole;
    for (std::size_t k = 1 + below(3); k > 0 && !text.empty(); --k) {
      const std::size_t at = below(text.size()),
                        length = 1 + below(std::min<std::size_t>(text.size() - at, 200));
      const std::size_t way = below(7);
      if (way == 0) text[at] = static_cast<char>(random());
      if (way == 1) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
      if (way == 2) text.erase(at, length);
      if (way == 3) text.insert(at, whole.substr(below(whole.size()), length));
      if (way == 4) text.resize(at);
      if (way == 5) text.replace(at, length, length, '\0');
      if (way == 6) text.insert(at, 1, '\n');
    }
    if (below(4) == 0 && !text.empty() && text.back() == '\n') text = reseal(split(text));
    try {
      const LedgerState state = parse_ledger(text, "x");
      ASSERT_LE(state.good_bytes, text.size());
      const bool resealed = text.substr(0, state.good_bytes) != whole.substr(0, state.good_bytes);
      if (resealed) {
        ASSERT_EQ(reseal(split(text.substr(0, state.good_bytes))), text.substr(0, state.good_bytes));
      }
      ++torn;
    } catch (const ProtocolError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, rounds / 2);
  EXPECT_GT(torn, rounds / 100);
}

}  // namespace
}  // namespace muffle::privacy
