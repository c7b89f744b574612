#include "csv_format.hpp"

namespace muffle::data {

const Format& csv_gz_format() {
  static const CsvFormat format(/*compressed=*/true);
  return format;
}

}  // namespace muffle::data
