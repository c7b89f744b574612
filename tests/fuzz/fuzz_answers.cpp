// What the client makes of a server's answers. Input: 'L' and a body that is to be a list, or 'R' and a
// Content-Range.
#include "fuzz.hpp"
#include "http/answers.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/message_name.hpp"

using namespace muffle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const bool list = input.byte() == 'L';
  const std::string text(input.rest());
  if (!list) {
    const auto total = http::total_of(text);
    const std::size_t slash = text.find('/');
    fuzz::demand(!total || (slash != std::string::npos && slash + 1 < text.size() &&
                            text.find_first_not_of("0123456789", slash + 1) == std::string::npos),
                 "a total is a number to the end");
    return 0;
  }
  try {
    const auto listed = http::parse_list(text, "https://x");
    for (std::size_t i = 0; i < listed.size(); ++i) {
      fuzz::demand(is_message_name(listed[i].name), "a list holds messages alone");
      fuzz::demand(i == 0 || listed[i - 1].name <= listed[i].name, "a list is sorted");
    }
  } catch (const CommError&) {
  } catch (const ConfigError&) {
  } catch (const ProtocolError&) {
  }
  return 0;
}
