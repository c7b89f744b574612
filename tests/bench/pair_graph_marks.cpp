// How near the pair graph's rows come to a table's 3-way and 4-way marginals
// (docs/explanation/pair-graph.md):
//   pair_graph_marks CODES.npy EPSILON [RELEASES] [SWEEPS] [SINGLES]
// CODES.npy holds n x d codes, uint8 or int32. Exact tables of all pairs, and of columns with weight SINGLES
// (the map's default), get noise for (EPSILON, 1e-5), replacing one record. Prints mean total variation over
// all sets of three and of four columns.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/model/pair_graph.hpp"
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

release::NoisyTables noisy_tables(const Codes& data, double epsilon, double singles, std::uint64_t seed) {
  release::NoisyTables out;
  out.codes = data.sizes;
  out.records = static_cast<double>(data.rows());
  const std::size_t d = data.columns;
  const double squares = static_cast<double>(d * (d - 1) / 2) + singles * singles * static_cast<double>(d);
  const double pair_sigma = privacy::noise_multiplier_for(epsilon, 1e-5) * std::sqrt(2.0 * squares);
  const CounterStream random(seed, Stream::kTest);
  std::uint64_t next = 0;
  const auto add = [&](std::vector<std::size_t> columns) {
    release::NoisyTable table;
    table.columns = columns;
    const double sigma = columns.size() == 1 ? pair_sigma / singles : pair_sigma;
    std::size_t cells = 1;
    for (const std::size_t j : columns) cells *= data.sizes[j], table.sizes.push_back(data.sizes[j]);
    table.counts.assign(cells, 0.0);
    for (std::size_t r = 0; r < data.rows(); ++r) {
      std::size_t cell = 0;
      for (const std::size_t j : columns) cell = cell * data.sizes[j] + data.values[r * d + j];
      table.counts[cell] += 1;
    }
    for (double& count : table.counts) count += sigma * random.normal(next++);
    table.sigma = sigma;
    out.tables.push_back(std::move(table));
  };
  for (std::size_t i = 0; i < d; ++i) {
    add({i});
    for (std::size_t j = i + 1; j < d; ++j) add({i, j});
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
  // Counts are whole numbers as long as both tables have as many rows.
  count(a, 1.0f);
  count(b, -1.0f);
  double sum = 0;
  for (const float v : difference) sum += std::fabs(static_cast<double>(v));
  return sum / 2 / static_cast<double>(a.rows());
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

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3)
    throw std::runtime_error("usage: pair_graph_marks CODES.npy EPSILON [RELEASES] [SWEEPS] [SINGLES]");
  const Codes data = read_npy(argv[1]);
  const double epsilon = std::strtod(argv[2], nullptr);
  const std::uint64_t releases = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const std::size_t sweeps = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : model::kPairSweeps;
  const double singles = argc > 5 ? std::strtod(argv[5], nullptr) : 0.7;
  double three = 0, four = 0;
  for (std::uint64_t release = 1; release <= releases; ++release) {
    const release::NoisyTables tables = noisy_tables(data, epsilon, singles, release);
    const auto start = std::chrono::steady_clock::now();
    const model::PairGraphModel fitted = model::fit_pair_graph(tables, sweeps);
    const double fit_s = seconds_since(start);
    const auto sampled = std::chrono::steady_clock::now();
    std::vector<float> rows(data.values.size());
    make_sampler(fitted)->draw(release, 0, std::vector<std::int64_t>(data.rows(), 0), rows);
    const double draw_s = seconds_since(sampled);
    Codes made{data.columns, {}, data.sizes};
    for (std::size_t i = 0; i < rows.size(); ++i)
      made.values.push_back(schema::cell_at(rows[i], data.sizes[i % data.columns]).code);
    const double t3 = mean_distance(data, made, 3), t4 = mean_distance(data, made, 4);
    std::printf("release %llu: pairs %zu, 3-way %.4f, 4-way %.4f, fit %.1f s, draw %.1f s\n",
                static_cast<unsigned long long>(release), fitted.laws.front().pairs.size(), t3, t4, fit_s,
                draw_s);
    three += t3 / static_cast<double>(releases);
    four += t4 / static_cast<double>(releases);
  }
  std::printf("mean of %llu: 3-way %.4f, 4-way %.4f\n", static_cast<unsigned long long>(releases), three,
              four);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
