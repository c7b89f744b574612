#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"

namespace muffle::test {

/// Damages inputs for parsers, the same way in every run: round i flips bits, sets extreme bytes, cuts,
/// repeats or inserts, one to four times; or puts a token there, of those that the parser may dislike.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed, std::vector<std::string> tokens = {})
      : stream_(seed, Stream::kTest), tokens_(std::move(tokens)) {}

  std::string operator()(std::string bytes) {
    for (std::uint64_t edits = 1 + below(4); edits > 0; --edits) edit(bytes);
    return bytes;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return stream_.below(next_++, n); }

  void edit(std::string& bytes) {
    if (!tokens_.empty() && !bytes.empty() && below(4) == 0) {
      bytes.replace(below(bytes.size()), below(24), tokens_[below(tokens_.size())]);
      return;
    }
    static constexpr unsigned char kExtremes[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
    const std::uint64_t kind = below(6);
    if (bytes.empty() || kind == 5) {
      bytes.insert(below(bytes.size() + 1), 1, static_cast<char>(below(256)));
      return;
    }
    // Headers are short beside the content: half of the edits go there.
    const std::uint64_t at =
        below(2) == 0 ? below(bytes.size()) : below(std::min<std::uint64_t>(bytes.size(), 64));
    switch (kind) {
      case 0:
        bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1u << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(kExtremes[below(std::size(kExtremes))]);
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, below(64)));
        break;
      default:
        bytes.erase(at, below(8));
        break;
    }
  }

  CounterStream stream_;
  std::vector<std::string> tokens_;
  std::uint64_t next_ = 0;
};

}  // namespace muffle::test
