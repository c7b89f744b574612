// The reference beside which tests/bench/table_rows.py measures muffle: one thread that reads a CSV without
// quotes line by line, looks every field up in its column's dictionary, which grows as it goes, and counts
// all pairs of codes. No schema, no checks, no noise.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr,
                 "usage: %s FILE CODES: how many different values a column may have; more count as one\n",
                 argv[0]);
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  std::ifstream file(argv[1]);
  const auto most = static_cast<std::uint32_t>(std::stoul(argv[2]));
  std::string line;
  std::getline(file, line);
  std::size_t columns = 1;
  for (const char c : line) columns += c == ',' ? 1 : 0;
  std::vector<std::unordered_map<std::string, std::uint32_t>> codes(columns);
  std::vector<std::vector<std::uint32_t>> pairs(columns * (columns - 1) / 2,
                                                std::vector<std::uint32_t>(std::size_t{most} * most));
  std::vector<std::uint32_t> row(columns);
  std::string field;
  std::uint64_t rows = 0;
  for (; std::getline(file, line); ++rows) {
    std::size_t from = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t end = std::min(line.find(',', from), line.size());
      field.assign(line, from, end - from);
      from = end + 1;
      auto found = codes[j].find(field);
      if (found == codes[j].end() && codes[j].size() < most)
        found = codes[j].emplace(field, static_cast<std::uint32_t>(codes[j].size())).first;
      row[j] = found == codes[j].end() ? most - 1 : found->second;
    }
    std::size_t p = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      for (std::size_t j = i + 1; j < columns; ++j) ++pairs[p++][std::size_t{row[i]} * most + row[j]];
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu rows, %.2f s, %.0f rows/s\n", static_cast<unsigned long long>(rows), seconds,
              static_cast<double>(rows) / seconds);
}
