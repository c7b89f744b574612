// parse_moments_model. Input: fuzz::container_file().
#include <cmath>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/model/moments_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muffle;
  const std::string bytes = fuzz::container_file(data, size);
  static_cast<void>(model::holds_moments_model(bytes));
  try {
    const model::MomentsModel m = model::parse_moments_model(bytes, "model.mfl");
    const std::size_t classes = m.info.spec.schema.classes;
    fuzz::demand(m.info.class_share.size() == classes, "a share for each class");
    fuzz::demand(m.grid ? m.grid->mass.size() == classes && m.mean.empty()
                        : m.mean.size() == classes && m.factor.size() == classes,
                 "one law for each class, of one kind");
    for (const auto& factor : m.factor) fuzz::demand(factor.allFinite(), "laws are numbers");
  } catch (const ProtocolError&) {
  }
  return 0;
}
