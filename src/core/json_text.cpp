#include "muffle/core/json_text.hpp"

namespace muffle {

nlohmann::json parse_json(std::string_view text) {
  constexpr int kDeepest = 32;
  return nlohmann::json::parse(
      text, [](int depth, auto, auto&) { return depth <= kDeepest; }, /*allow_exceptions=*/false);
}

}  // namespace muffle
