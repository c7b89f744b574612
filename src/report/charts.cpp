#include "charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "html.hpp"
#include "muffle/core/html_text.hpp"

namespace muffle::report {
namespace {

constexpr double kWidth = 340, kHeight = 150, kLeft = 34, kBottom = 22, kTop = 8, kRight = 4;

std::string opening(double width, double height, std::string_view title, std::string_view description) {
  return fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\"><title>{}</title><desc>{}</desc>",
      width, height, html_escaped(title), html_escaped(title), html_escaped(description));
}

/// Not longer than so many characters; whole ones of UTF-8.
std::string shortened(const std::string& text, std::size_t most) {
  std::size_t characters = 0, at = 0;
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && characters++ == most) break;
  }
  return at == text.size() ? text : text.substr(0, at) + "\xE2\x80\xA6";
}

/// The end of an axis that has room for so much: a round share, 1 at most.
double round_end(double share) {
  for (const double end : {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8}) {
    if (share <= end) return end;
  }
  return 1.0;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// About how wide a name is drawn, at 10 pixels.
double width_of(const std::vector<std::string>& names, std::size_t most) {
  std::size_t longest = 1;
  for (const std::string& name : names) longest = std::max(longest, std::min(most + 1, characters(name)));
  return 6.0 * static_cast<double>(longest);
}

/// A text below the axis, and the middle of where it is to stand.
struct Tick {
  double x = 0.0;
  std::string text;
};

/// As many of them, evenly chosen, as stand beside one another.
std::string ticks_of(const std::vector<Tick>& all) {
  constexpr std::size_t kMostTicks = 6;
  constexpr double kBetween = 6.0, kLetter = 6.4;
  for (std::size_t shown = std::min(kMostTicks, all.size()); shown > 0; --shown) {
    std::string out;
    double free = 0;
    bool fits = true;
    for (std::size_t k = 0; k < shown && fits; ++k) {
      const Tick& tick = all[shown == 1 ? 0 : k * (all.size() - 1) / (shown - 1)];
      const double width = kLetter * static_cast<double>(characters(tick.text));
      const double x = std::clamp(tick.x - width / 2, 0.0, std::max(0.0, kWidth - width));
      fits = x >= free || shown == 1;
      free = x + width + kBetween;
      out += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>", x, kHeight - 8, html_escaped(tick.text));
    }
    if (fits) return out;
  }
  return {};
}

/// Which bar is cut, so that the others can be seen: one that is far higher than all of them.
std::optional<std::size_t> cut_bar(const BarChart& chart) {
  constexpr double kHigh = 0.5, kTimes = 4;
  const auto highest =
      static_cast<std::size_t>(std::max_element(chart.bars.begin(), chart.bars.end()) - chart.bars.begin());
  double others = 0;
  for (const auto* shares : {&chart.bars, &chart.real, &chart.held_out}) {
    for (std::size_t i = 0; i < shares->size(); ++i) {
      if (i != highest) others = std::max(others, (*shares)[i]);
    }
  }
  const bool far = chart.bars[highest] >= kHigh && others > 0 && chart.bars[highest] >= kTimes * others;
  return far ? std::optional(highest) : std::nullopt;
}

std::string steps(const std::vector<double>& shares, double top, const char* style) {
  if (shares.empty()) return {};
  const double each = (kWidth - kLeft - kRight) / static_cast<double>(shares.size());
  std::string path;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double y = kHeight - kBottom - std::min(shares[i] / top, 1.0) * (kHeight - kBottom - kTop);
    path += i == 0 ? fmt::format("M{:.1f} {:.1f}", kLeft, y) : fmt::format("V{:.1f}", y);
    path += fmt::format("H{:.1f}", kLeft + each * static_cast<double>(i + 1));
  }
  return fmt::format("<path class=\"{}\" d=\"{}\"/>", style, path);
}

}  // namespace

std::string bar_chart(const BarChart& chart) {
  const std::optional<std::size_t> cut = cut_bar(chart);
  double top = 1e-9;
  for (const auto* shares : {&chart.bars, &chart.real, &chart.held_out}) {
    for (std::size_t i = 0; i < shares->size(); ++i) {
      if (i != cut) top = std::max(top, (*shares)[i]);
    }
  }
  const double most = top;  // a band that is far wider is cut off
  for (std::size_t i = 0; i < chart.band.size(); ++i) {
    if (chart.band[i] && i != cut) top = std::max(top, std::min(chart.band[i]->second, 1.6 * most));
  }
  top = round_end(top);
  const double plot = kHeight - kBottom - kTop,
               each = (kWidth - kLeft - kRight) / static_cast<double>(chart.bars.size());
  const auto y_of = [&](double share) {
    return kHeight - kBottom - std::clamp(share / top, 0.0, 1.0) * plot;
  };
  std::string out = opening(kWidth, kHeight, chart.title, chart.description);
  out += fmt::format("<path class=\"axis\" d=\"M{0} {1}H{2}M{0} {3}H{2}\"/>", kLeft, kHeight - kBottom,
                     kWidth - kRight, kTop);
  out += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.3g}%</text><text x=\"{}\" y=\"{}\" "
      "text-anchor=\"end\">0</text>",
      kLeft - 3, kTop + 8, 100 * top, kLeft - 3, kHeight - kBottom);
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const double x = kLeft + each * static_cast<double>(i), y = y_of(chart.bars[i]);
    std::string says = fmt::format("{}: {:.2f} %", chart.labels[i], 100 * chart.bars[i]);
    const auto* const band = i < chart.band.size() && chart.band[i] ? &*chart.band[i] : nullptr;
    if (band != nullptr)
      says += fmt::format("; the release, with its noise: {:.2f} to {:.2f} %",
                          100 * std::max(0.0, band->first), 100 * std::max(0.0, band->second));
    if (i < chart.real.size()) says += fmt::format("; real: {:.2f} %", 100 * chart.real[i]);
    out += fmt::format(
        "<g><title>{}</title><rect class=\"syn\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/>",
        html_escaped(says), x + 0.08 * each, y, 0.84 * each, kHeight - kBottom - y);
    if (band != nullptr) {
      const double high = y_of(band->second), low = y_of(band->first);
      out +=
          fmt::format("<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                      x, high, each, std::max(1.0, low - high));
    }
    out += "</g>";
  }
  out += steps(chart.real, top, "real") + steps(chart.held_out, top, "held");
  if (cut) {  // a gap across the bar, and its height beside it
    const double x = kLeft + each * static_cast<double>(*cut);
    const bool right = *cut >= chart.bars.size() / 2 && *cut > 0;
    out += fmt::format(
        "<path class=\"gap\" d=\"M{0:.1f} {2:.1f}L{1:.1f} {3:.1f}V{4:.1f}L{0:.1f} {5:.1f}z\"/><text "
        "x=\"{6:.1f}\" "
        "y=\"{7}\" text-anchor=\"{8}\">{9:.1f} %, cut</text>",
        x, x + each, kTop + 16.0, kTop + 10.0, kTop + 14.0, kTop + 20.0, right ? x - 4 : x + each + 4,
        kTop + 8, right ? "end" : "start", 100 * chart.bars[*cut]);
  }
  std::vector<Tick> ticks;
  const std::size_t numbers = chart.ticks.empty() ? 0 : chart.ticks.size() - 1;
  for (std::size_t k = 0; k < chart.ticks.size(); ++k)
    ticks.push_back({kLeft + each * static_cast<double>(k), shortened(chart.ticks[k], 13)});
  for (std::size_t i = numbers; i < chart.labels.size(); ++i)
    ticks.push_back({kLeft + each * (static_cast<double>(i) + 0.5), shortened(chart.labels[i], 13)});
  out += ticks_of(ticks);
  return out + "</svg>";
}

std::string line_chart(const LineChart& chart) {
  const bool logarithmic = chart.axis == LineChart::Axis::kLogarithmic;
  double low = logarithmic ? chart.lines.front().values.front() : 0, high = low;
  for (const LineChart::Line& line : chart.lines) {
    for (const double value : line.values) low = std::min(low, value), high = std::max(high, value);
  }
  if (chart.axis == LineChart::Axis::kShares && low == 0 && high <= 1) high = 1;
  const double from = chart.at.front(), width = std::max(chart.at.back() - from, 1e-300);
  const auto x_of = [&](double at) { return kLeft + (at - from) / width * (kWidth - kLeft - kRight); };
  const auto along = [logarithmic](double value) { return logarithmic ? std::log(value) : value; };
  const auto y_of = [&](double value) {
    const double share = (along(value) - along(low)) / std::max(along(high) - along(low), 1e-300);
    return kHeight - kBottom - share * (kHeight - kBottom - kTop);
  };
  std::string out = opening(kWidth, kHeight, chart.title, chart.description);
  out += fmt::format("<path class=\"axis\" d=\"M{0} {1}H{2}M{0} {3}H{2}\"/>", kLeft, kHeight - kBottom,
                     kWidth - kRight, kTop);
  constexpr std::size_t kBesideAxis = 5;  // letters; a longer number begins at the picture's edge
  for (const auto& [value, y] : {std::pair(high, kTop + 8), std::pair(low, kHeight - kBottom)}) {
    const std::string text = fmt::format("{:.3g}", value);
    out += text.size() > kBesideAxis
               ? fmt::format("<text x=\"0\" y=\"{}\">{}</text>", y, text)
               : fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", kLeft - 3, y, text);
  }
  for (const LineChart::Line& line : chart.lines) {
    std::string path;
    for (std::size_t i = 0; i < chart.at.size(); ++i)
      path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x_of(chart.at[i]), y_of(line.values[i]));
    out += fmt::format("<path class=\"{}\" d=\"{}\"/>", line.style, path);
  }
  // Two points may share a place: each text stands where the first of its own does.
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < chart.ticks.size(); ++i) {
    const double x = x_of(chart.at[i]);
    if (ticks.empty() || x > ticks.back().x + 1) ticks.push_back({x, shortened(chart.ticks[i], 13)});
  }
  return out + ticks_of(ticks) + "</svg>";
}

std::string heat_map(const HeatMap& map) {
  constexpr std::size_t kMostLetters = 19;
  constexpr double kLarger = 1.4;  // on a page that is wide enough
  const std::size_t n = map.names.size();
  const double name_width = width_of(map.names, kMostLetters), left = name_width + 8,
               above = 0.87 * name_width + 12;  // names at the top are slanted by 60 degrees
  const double cell = n <= 12 ? 26 : n <= 24 ? 18 : 14, side = cell * static_cast<double>(n);
  const double width = left + side + 0.5 * name_width;
  std::string out = opening(width, above + side, map.title, map.description);
  out.insert(4, fmt::format(" width=\"{:.0f}\"", kLarger * width));
  for (std::size_t i = 0; i < n; ++i) {
    const double across = cell * (static_cast<double>(i) + 0.7);
    const std::string name = html_escaped(shortened(map.names[i], kMostLetters));
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 4,
                       above + across, name);
    out += fmt::format("<text transform=\"translate({:.1f},{:.1f}) rotate(-60)\">{}</text>", left + across,
                       above - 4, name);
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const bool below = j < i;
      const double value = std::clamp((below ? map.lower : map.upper)[i * n + j], 0.0, 1.0);
      out += fmt::format(
          "<rect class=\"{}\" fill-opacity=\"{:.2f}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
          "height=\"{:.0f}\">"
          "<title>{}, {}: {:.2f}</title></rect>",
          below ? "heat" : "heat2", value, left + cell * static_cast<double>(j),
          above + cell * static_cast<double>(i), cell - 1, cell - 1, html_escaped(map.names[i]),
          html_escaped(map.names[j]), value);
    }
  }
  return out + "</svg>";
}

std::string colour_key(bool band, bool real, bool held_out) {
  std::string out = "<p class=\"key\"><span><i style=\"background:var(--syn)\"></i>synthetic</span>";
  if (band)
    out += "<span><i style=\"background:var(--band)\"></i>what the release says, 95 % of its noise</span>";
  if (real) out += "<span><i style=\"background:var(--real)\"></i>real rows</span>";
  if (held_out) out += "<span><i style=\"background:var(--held)\"></i>held-out rows</span>";
  return out + "</p>\n";
}

}  // namespace muffle::report
