#include <fmt/format.h>

#include <algorithm>

#include "charts.hpp"
#include "pictures.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr std::size_t kMostClasses = 20, kImagesAClass = 12;

using Image = std::vector<double>;

std::size_t shown_classes(const PublicMaterial& m) {
  return std::min(m.artifact().schema.classes, kMostClasses);
}

/// A line a class.
std::vector<Image> some_of_each_class(const Rows& rows, std::size_t classes) {
  std::vector<Image> out;
  const Image blank(rows.values.size(), 1.0);
  for (std::size_t c = 0; c < classes; ++c) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < rows.size() && found < kImagesAClass; ++i) {
      if (rows.labels[i] != static_cast<std::int32_t>(c)) continue;
      out.push_back(image_of(rows, i));
      ++found;
    }
    for (; found < kImagesAClass; ++found) out.push_back(blank);
  }
  return out;
}

std::vector<Image> class_means(const Rows& rows, std::size_t classes) {
  std::vector<Image> out(classes, Image(rows.values.size(), 0.0));
  std::vector<double> counts(classes, 0.0);
  for (const std::int32_t label : rows.labels) {
    if (label >= 0 && static_cast<std::size_t>(label) < classes)
      counts[static_cast<std::size_t>(label)] += 1.0;
  }
  for (std::size_t j = 0; j < rows.values.size(); ++j) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto c = static_cast<std::size_t>(rows.labels[i]);
      if (c < classes) out[c][j] += rows.values[j][i] / counts[c];
    }
  }
  return out;
}

void say_classes(const PublicMaterial& m, Page& page) {
  const schema::Schema& schema = m.artifact().schema;
  if (shown_classes(m) < schema.classes)
    page.note(fmt::format("The first {} of {} classes.", shown_classes(m), schema.classes));
  if (const auto& names = schema.class_names; !names.empty()) {
    page.note(fmt::format(
        "From the first line to the last: {}.",
        fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown_classes(m)), ", ")));
  }
}

}  // namespace

void public_images(const PublicMaterial& m, Page& page) {
  const Rows& rows = *m.samples;
  const auto& schema = m.artifact().schema;
  page.heading("Synthetic images, a line a class");
  page.figure(picture(schema, some_of_each_class(rows, shown_classes(m)), kImagesAClass,
                      "synthetic images, a line a class"),
              "The first ones of each class, not chosen.");
  say_classes(m, page);
  page.heading("Means of the classes");
  page.figure(picture(schema, class_means(rows, shown_classes(m)), shown_classes(m),
                      "means of the synthetic images of each class"),
              "Synthetic.");
}

void private_images(const PublicMaterial& m, const PrivateMaterial& real, Page& page) {
  public_images(m, page);
  const auto& schema = m.artifact().schema;
  page.figure(picture(schema, class_means(real.real, shown_classes(m)), shown_classes(m),
                      "means of the real images of each class"),
              "Real.");
  page.heading("Real images, a line a class");
  page.figure(picture(schema, some_of_each_class(real.real, shown_classes(m)), kImagesAClass,
                      "real images, a line a class"),
              "Of those that the release was made from.");
  if (!real.disclosure || real.disclosure->twins.empty()) return;
  std::vector<Image> pairs;
  for (const Disclosure::Twin& twin : real.disclosure->twins)
    pairs.push_back(image_of(*m.samples, twin.sample));
  for (const Disclosure::Twin& twin : real.disclosure->twins) pairs.push_back(image_of(real.real, twin.real));
  page.heading("The nearest pairs");
  page.figure(picture(schema, pairs, real.disclosure->twins.size(),
                      "above: synthetic images; below: the real image nearest to each"),
              "Above: the synthetic images that are nearest to a real one of the release. Below: that one.");
}

}  // namespace muffle::report
