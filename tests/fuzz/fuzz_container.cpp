// parse_container, as the model's reader calls it. Input: 'R' and a file; any other byte: the file's last 32
// bytes are replaced by the right checksum.
#include <algorithm>

#include "fuzz.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muffle;
  fuzz::Input input(data, size);
  const bool mend = input.byte() != 'R';
  std::string bytes(input.rest());
  if (mend && bytes.size() >= 32) {
    const Sha256Digest digest = sha256(PublicBytes(std::string_view(bytes).substr(0, bytes.size() - 32)));
    std::copy(digest.begin(), digest.end(), bytes.end() - 32);
  }
  try {
    const Container container = parse_container(bytes, "muffle-model", 1, "model.mfl");
    const std::string again = serialize(container);
    const Container same = parse_container(again, "muffle-model", 1, "again");
    fuzz::demand(same.header == container.header && same.payload == container.payload,
                 "what was written is what is read");
  } catch (const ProtocolError&) {
  }
  return 0;
}
