// The decoders of pictures. Input: options (channels, resize), and the file (tests/fuzz/make_format_seeds.py
// writes seeds).
#include <array>
#include <span>
#include <vector>

#include "data/picture.hpp"
#include "fuzz.hpp"

using namespace muffle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint8_t options = input.byte();
  const std::array<std::size_t, 3> shape{1 + (options & 3u) % 3, 4, 6};
  const auto resize = static_cast<data::Resize>((options >> 2) % 3);
  std::vector<std::uint8_t> out;
  try {
    const std::size_t pixels =
        data::decode_picture(std::as_bytes(std::span(input.rest())), shape, resize, out);
    fuzz::demand(out.size() == shape[0] * shape[1] * shape[2], "a whole record");
    fuzz::demand(pixels >= 1 && (resize != data::Resize::kNone || pixels == shape[1] * shape[2]),
                 "of the size that was asked for");
  } catch (const data::PictureProblem&) {
  }
  return 0;
}
