#include "config_keys.hpp"

#include <algorithm>
#include <iterator>

namespace muffle::app {
namespace {

std::vector<Key> make_keys() {
  std::vector<Key> all;
  for (auto* section : {data_keys, feature_keys, moments_keys, privacy_keys, training_keys, output_keys}) {
    std::vector<Key> some = section();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t best =
          std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b.size()];
}

const std::vector<Key>& keys() {
  static const std::vector<Key> all = make_keys();
  return all;
}

const Key* find_key(const std::string& name) {
  for (const Key& k : keys()) {
    if (k.name == name) return &k;
  }
  return nullptr;
}

std::string nearest_key(const std::string& name) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(3, name.size() / 3);
  const std::string leaf = name.substr(name.find('.') + 1);
  for (const Key& k : keys()) {
    // A right key in the wrong section is as near as a slip of one letter.
    const bool same_leaf = k.name.substr(k.name.find('.') + 1) == leaf;
    const std::size_t d = same_leaf ? 1 : edit_distance(name, k.name);
    if (d < best_distance) {
      best_distance = d;
      best = k.name;
    }
  }
  return best;
}

}  // namespace muffle::app
