#include "muffle/evaluate/evaluate.hpp"

namespace muffle::evaluate {

std::vector<std::string> classifier_names() {
  return {
#define MUFFLE_KIND(kind) #kind,
#include "classifier_kinds.inc"
  };
}

std::vector<std::string> default_classifiers() {
  return {
#define MUFFLE_KIND(kind) #kind,
#define MUFFLE_COSTLY_KIND(kind)
#include "classifier_kinds.inc"
  };
}

}  // namespace muffle::evaluate
