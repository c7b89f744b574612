#pragma once

#include <string>

namespace muffle {

/// Shortest decimal text that reads back as the same double ("0.1", "1e-05"); "nan", "inf" for those.
std::string exact_text(double value);

}  // namespace muffle
