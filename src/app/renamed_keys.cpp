#include "renamed_keys.hpp"

#include <fmt/format.h>

#include <map>

namespace muffle::app {

std::string renamed_key(const std::string& key) {
  const auto now = [](const char* map, const char* rest, const std::string& name) {
    return fmt::format(
        "is {} of a feature map now, which has a section of its own: write [map.{}] with {}, and there {}",
        name, map, rest, name);
  };
  static const std::map<std::string, std::string> kMoved{{"features.count", "count"},
                                                         {"features.length_scale", "length_scale"},
                                                         {"features.frequencies", "frequencies"},
                                                         {"features.seed", "seed"}};
  if (key == "features.blocks")
    return "is gone: every feature map has a section of its own, such as [map.rff] with kind = \"rff\" and "
           "count = 10000, "
           "[map.moments] with kind = \"moments\", [map.proxy] with kind = \"rff\" and role = \"proxy\"";
  if (const auto moved = kMoved.find(key); moved != kMoved.end())
    return now("rff", "kind = \"rff\"", moved->second);
  if (key.starts_with("moments.")) {
    const std::string leaf = key.substr(key.find('.') + 1);
    return now("moments", "kind = \"moments\"", leaf == "kind" ? "lift" : leaf);
  }
  if (key.starts_with("proxy.")) {
    return now("proxy", "kind = \"rff\" and role = \"proxy\"", key.substr(key.find('.') + 1));
  }
  return {};
}

}  // namespace muffle::app
