#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "muffle/schema/schema.hpp"
#include "rows.hpp"

namespace muffle::report {

/// Images side by side in lines, as one picture within the page (PNG in base64). Of 1 or 3 channels.
/// @param images  each of the schema's numbers, 0 .. 1  @param columns  images a line
/// @param title  for screen readers
std::string picture(const schema::Schema& schema, std::span<const std::vector<double>> images,
                    std::size_t columns, const std::string& title);
/// Whether records can be shown so.
bool is_picture(const schema::Schema& schema);
/// One row as an image.
std::vector<double> image_of(const Rows& rows, std::size_t row);

}  // namespace muffle::report
