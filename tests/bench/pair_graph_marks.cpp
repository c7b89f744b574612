// How near the pair graph's rows come to a table's 3-way and 4-way marginals
// (docs/explanation/pair-graph.md):
//   pair_graph_marks CODES.npy EPSILON [RELEASES] [SWEEPS] [SINGLES] [ROUNDS] [FIRST] [TIMES]
// CODES.npy holds n x d codes, uint8 or int32. Exact tables of all pairs, and of columns with weight SINGLES
// (the map's default), get noise for (EPSILON, 1e-5), replacing one record; in ROUNDS rounds (1 to 3, 0: as
// many as are best by public numbers; 1), what the later ones count is chosen as the product chooses it.
// Noise has the seeds FIRST (1), FIRST + 1, ...; TIMES (1) n rows are drawn. Prints mean total variation over
// all sets of one to four columns; with TIMES 0 the fit's seconds alone.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/features/pairs.hpp"
#include "muffle/pair_graph/pair_graph.hpp"
#include "muffle/pair_graph/pair_rounds.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/schema/table.hpp"

namespace {

using namespace muffle;

/// n x d codes, row-major.
struct Codes {
  std::size_t columns = 0;
  std::vector<std::uint32_t> values;
  std::vector<std::size_t> sizes;  ///< d

  std::size_t rows() const { return values.size() / columns; }
};

Codes read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() < 10 || bytes.compare(0, 6, "\x93NUMPY") != 0)
    throw std::runtime_error(path + " is no .npy file");
  const std::size_t length =
      static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  const std::string header = bytes.substr(10, length);
  const bool wide = header.find("'<i4'") != std::string::npos;
  if (!wide && header.find("'|u1'") == std::string::npos) throw std::runtime_error(path + ": not u1 or <i4");
  Codes out;
  const std::size_t shape = header.find('(');
  out.columns = std::strtoull(header.c_str() + header.find(',', shape) + 1, nullptr, 10);
  const std::size_t each = wide ? 4 : 1;
  for (std::size_t at = 10 + length; at + each <= bytes.size(); at += each) {
    std::uint32_t value = static_cast<unsigned char>(bytes[at]);
    if (wide) std::memcpy(&value, bytes.data() + at, 4);
    out.values.push_back(value);
  }
  out.sizes.assign(out.columns, 1);
  for (std::size_t i = 0; i < out.values.size(); ++i)
    out.sizes[i % out.columns] = std::max<std::size_t>(out.sizes[i % out.columns], out.values[i] + 1);
  return out;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The exact counts of a table, and this noise.
release::NoisyTable noisy_table(const Codes& data, const features::CountTable& wanted, double sigma,
                                const CounterStream& random, std::uint64_t& next) {
  release::NoisyTable table{wanted.columns, wanted.groups, {}, {}, sigma};
  const std::size_t d = data.columns;
  std::size_t cells = 1;
  std::vector<std::vector<std::size_t>> group;
  for (std::size_t k = 0; k < wanted.columns.size(); ++k) {
    std::vector<std::size_t>& of = group.emplace_back(data.sizes[wanted.columns[k]]);
    std::iota(of.begin(), of.end(), std::size_t{0});
    if (k < wanted.groups.size() && !wanted.groups[k].empty())
      of.assign(wanted.groups[k].begin(), wanted.groups[k].end());
    table.sizes.push_back(1 + *std::max_element(of.begin(), of.end()));
    cells *= table.sizes.back();
  }
  table.counts.assign(cells, 0.0);
  for (std::size_t r = 0; r < data.rows(); ++r) {
    std::size_t cell = 0;
    for (std::size_t k = 0; k < group.size(); ++k)
      cell = cell * table.sizes[k] + group[k][data.values[r * d + wanted.columns[k]]];
    table.counts[cell] += 1;
  }
  for (double& count : table.counts) count += sigma * random.normal(next++);
  return table;
}

/// All columns, of weight `singles`, and all pairs.
features::CountTables workload_of(const Codes& data, double singles) {
  features::CountTables out{data.sizes, {}};
  for (std::size_t i = 0; i < data.columns; ++i) {
    out.tables.push_back({{i}, {}, singles});
    for (std::size_t j = i + 1; j < data.columns; ++j) out.tables.push_back({{i, j}, {}, 1.0});
  }
  return out;
}

release::NoisyTables noisy_tables(const Codes& data, double epsilon, double singles, std::size_t rounds,
                                  std::uint64_t seed) {
  release::NoisyTables out;
  out.codes = data.sizes;
  out.records = static_cast<double>(data.rows());
  const features::CountTables workload = workload_of(data, singles);
  const double sigma = privacy::noise_multiplier_for(epsilon, 1e-5) * std::sqrt(2.0);
  const std::vector<double> shares = pair_graph::round_shares(workload, 1, out.records, sigma, rounds);
  const CounterStream random(seed, Stream::kTest);
  std::uint64_t next = 0;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    const double sigma_round = sigma / std::sqrt(shares[r]);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<features::CountTable> tables =
        pair_graph::tables_of_round(workload, out, 1, r, shares.size(), sigma_round).tables;
    const double choice_s = seconds_since(start);
    double squares = 0;
    std::size_t cells = 0;
    for (const features::CountTable& table : tables) {
      squares += table.weight * table.weight;
      cells += table.cells;
    }
    std::printf("  round %zu: share %.2f, %zu tables of %zu cells, chosen in %.1f s\n", r + 1, shares[r],
                tables.size(), cells, choice_s);
    for (const features::CountTable& table : tables)
      out.tables.push_back(
          noisy_table(data, table, sigma_round * std::sqrt(squares) / table.weight, random, next));
  }
  return out;
}

/// Total variation of two tables' marginals on these columns.
double distance(const Codes& a, const Codes& b, const std::vector<std::size_t>& columns) {
  std::size_t cells = 1;
  for (const std::size_t j : columns) cells *= a.sizes[j];
  static std::vector<float> difference;
  difference.assign(cells, 0.0f);
  const auto count = [&](const Codes& codes, float weight) {
    for (std::size_t r = 0; r < codes.rows(); ++r) {
      std::size_t cell = 0;
      for (const std::size_t j : columns) cell = cell * a.sizes[j] + codes.values[r * codes.columns + j];
      difference[cell] += weight;
    }
  };
  // Counts are whole numbers as long as one table has a multiple of the other's rows.
  count(a, static_cast<float>(b.rows()) / static_cast<float>(a.rows()));
  count(b, -1.0f);
  double sum = 0;
  for (const float v : difference) sum += std::fabs(static_cast<double>(v));
  return sum / 2 / static_cast<double>(b.rows());
}

double mean_distance(const Codes& a, const Codes& b, std::size_t ways) {
  std::vector<std::size_t> set(ways);
  for (std::size_t i = 0; i < ways; ++i) set[i] = i;
  double sum = 0;
  std::size_t sets = 0;
  for (;;) {
    sum += distance(a, b, set);
    ++sets;
    std::size_t i = ways;
    while (i > 0 && set[i - 1] == a.columns - ways + i - 1) --i;
    if (i == 0) return sum / static_cast<double>(sets);
    ++set[i - 1];
    for (; i < ways; ++i) set[i] = set[i - 1] + 1;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3)
    throw std::runtime_error(
        "usage: pair_graph_marks CODES.npy EPSILON [RELEASES] [SWEEPS] [SINGLES] [ROUNDS] [FIRST] [TIMES]");
  const Codes data = read_npy(argv[1]);
  const double epsilon = std::strtod(argv[2], nullptr);
  const std::uint64_t releases = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const std::size_t sweeps = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : pair_graph::kPairSweeps;
  const double singles = argc > 5 ? std::strtod(argv[5], nullptr) : 0.7;
  const std::size_t rounds = argc > 6 ? std::strtoull(argv[6], nullptr, 10) : 1;
  const std::uint64_t first = argc > 7 ? std::strtoull(argv[7], nullptr, 10) : 1;
  const std::size_t times = argc > 8 ? std::strtoull(argv[8], nullptr, 10) : 1;
  double three = 0, four = 0;
  for (std::uint64_t release = first; release < first + releases; ++release) {
    const release::NoisyTables tables = noisy_tables(data, epsilon, singles, rounds, release);
    const auto start = std::chrono::steady_clock::now();
    const pair_graph::PairGraphModel fitted = pair_graph::fit_pair_graph(tables, sweeps);
    const double fit_s = seconds_since(start);
    if (times == 0) {
      std::printf("release %llu: pairs %zu, fit %.1f s\n", static_cast<unsigned long long>(release),
                  fitted.laws.front().pairs.size(), fit_s);
      continue;
    }
    const auto sampled = std::chrono::steady_clock::now();
    std::vector<float> rows(times * data.values.size());
    make_sampler(fitted)->draw(release, 0, std::vector<std::int64_t>(times * data.rows(), 0), rows);
    const double draw_s = seconds_since(sampled);
    Codes made{data.columns, {}, data.sizes};
    for (std::size_t i = 0; i < rows.size(); ++i)
      made.values.push_back(schema::cell_at(rows[i], data.sizes[i % data.columns]).code);
    const double t3 = mean_distance(data, made, 3), t4 = mean_distance(data, made, 4);
    std::printf(
        "release %llu: pairs %zu, 1-way %.4f, 2-way %.4f, 3-way %.4f, 4-way %.4f, fit %.1f s, draw %.1f s\n",
        static_cast<unsigned long long>(release), fitted.laws.front().pairs.size(),
        mean_distance(data, made, 1), mean_distance(data, made, 2), t3, t4, fit_s, draw_s);
    three += t3 / static_cast<double>(releases);
    four += t4 / static_cast<double>(releases);
  }
  if (times == 0) return 0;
  std::printf("mean of %llu: 3-way %.4f, 4-way %.4f\n", static_cast<unsigned long long>(releases), three,
              four);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
