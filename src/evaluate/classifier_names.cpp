#include "muffle/evaluate/evaluate.hpp"

namespace muffle::evaluate {

std::vector<std::string> classifier_names() {
  return {
#define MUFFLE_KIND(kind) #kind,
#include "classifier_kinds.inc"
  };
}

}  // namespace muffle::evaluate
