// parse_checkpoint. Input: fuzz::container_file().
#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/train/checkpoint.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muffle;
  const std::string bytes = fuzz::container_file(data, size);
  try {
    const train::Checkpoint checkpoint = train::parse_checkpoint(bytes, "checkpoint");
    fuzz::demand(train::parse_checkpoint(serialize(checkpoint), "again") == checkpoint,
                 "what was written is what is read");
  } catch (const ProtocolError&) {
  }
  return 0;
}
