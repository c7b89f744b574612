// The closed form in a model file. Input: fuzz::container_file().

#include "fuzz.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/schema/schema.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muffle;
  const std::string bytes = fuzz::container_file(data, size);
  try {
    const Container file = parse_container(bytes, "muffle-model", 3, "model.mfl");
    const JsonDocument document{"model.mfl", "a model", "Train again."};
    const JsonFields fields(file.header, document);
    const schema::Schema schema = schema::read_schema(fields.object("schema"));
    const moments::MomentsModel m = model::read_moments(schema, 0.5, fields.object("content"), file.payload);
    fuzz::demand(m.grid ? m.grid->mass.size() == schema.classes && m.mean.empty()
                        : m.mean.size() == schema.classes && m.factor.size() == schema.classes,
                 "one law for each class, of one kind");
    for (const auto& factor : m.factor) fuzz::demand(factor.allFinite(), "laws are numbers");
  } catch (const ProtocolError&) {
  }
  return 0;
}
