#pragma once

#include <zip.h>

#include <bit>
#include <memory>

namespace muffle::synth {

static_assert(std::endian::native == std::endian::little,
              "arrays are copied as the little-endian numbers they name");

struct CloseZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, CloseZip>;
using Member = std::unique_ptr<zip_file_t, CloseZip>;

}  // namespace muffle::synth
