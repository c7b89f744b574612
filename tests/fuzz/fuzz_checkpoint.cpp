// parse_checkpoint. Input: 'R' and a file; or 'H', a piece that is the header, and the payload: then the
// checksum is right.
#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/train/checkpoint.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muffle;
  fuzz::Input input(data, size);
  std::string bytes;
  if (input.byte() == 'R') {
    bytes = input.rest();
  } else {
    const std::string_view header = input.piece();
    bytes = fuzz::wrap(header, input.rest());
  }
  try {
    const train::Checkpoint checkpoint = train::parse_checkpoint(bytes, "checkpoint");
    fuzz::demand(train::parse_checkpoint(serialize(checkpoint), "again") == checkpoint,
                 "what was written is what is read");
  } catch (const ProtocolError&) {
  }
  return 0;
}
