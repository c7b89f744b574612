#pragma once

#include "html.hpp"
#include "rows.hpp"

namespace muffle::report {

/// Mean, standard deviation and quantiles of every number, without missing values: of the samples, and below
/// each of them of the real rows. @param real  null: there are none. Then it is public, as the samples are.
TextTable number_table(const Rows& samples, const Rows* real);

}  // namespace muffle::report
