#include "report/html.hpp"

#include <gtest/gtest.h>

#include "report/charts.hpp"
#include "report/pictures.hpp"

namespace muffle::report {
namespace {

constexpr const char* kHostile = "</title><script>alert('1')</script>\" onload=\"x\n\x1b[31m";

void expect_harmless(const std::string& html) {
  EXPECT_EQ(html.find("<script"), std::string::npos) << html;
  EXPECT_EQ(html.find("\" onload"), std::string::npos);
  EXPECT_EQ(html.find('\x1b'), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
}

TEST(Html, WhatFilesSayIsText) {
  Page page;
  page.heading(kHostile);
  page.paragraph(kHostile);
  page.note(kHostile);
  page.list({kHostile});
  page.table({{kHostile}, {{kHostile}}});
  page.lines(kHostile);
  page.folded(kHostile, kHostile);
  page.figure("", kHostile);
  expect_harmless(page.html());
  expect_harmless(document(kHostile, "public", kHostile, {{"a", kHostile, ""}}));
}

TEST(Html, ChartsSayTheirNamesAsText) {
  BarChart bars;
  bars.title = bars.description = kHostile;
  bars.labels = {kHostile, "b"};
  bars.bars = {0.5, 0.5};
  bars.band = {std::pair(0.4, 0.6), std::nullopt};
  bars.real = bars.held_out = {0.3, 0.7};
  const std::string chart = bar_chart(bars);
  expect_harmless(chart);
  EXPECT_NE(chart.find("role=\"img\" aria-label="), std::string::npos);
  EXPECT_NE(chart.find("class=\"band\""), std::string::npos);
  EXPECT_NE(chart.find("class=\"held\""), std::string::npos);
  expect_harmless(heat_map({kHostile, kHostile, {kHostile, "b"}, {0, 1, 1, 0}, {0, 1, 1, 0}}));
}

TEST(Html, CommandsAreCode) {
  Page page;
  page.paragraph("`muffle <verify>` says, and a ` alone stays");
  EXPECT_EQ(page.html(), "<p><code>muffle &lt;verify&gt;</code> says, and a ` alone stays</p>\n");
}

TEST(Html, AxesEndAtARoundShareAndNeverBeyondAll) {
  BarChart chart;
  chart.labels = {"a", "b"};
  const auto end_of = [&](double bar, double high) {
    chart.bars = {bar, 1 - bar};
    chart.band = {std::pair(bar, high), std::nullopt};
    chart.real = {0, 0.4};  // no bar is far higher than all others
    const std::string svg = bar_chart(chart);
    const auto at = svg.find("%</text>");
    return std::stod(svg.substr(svg.rfind('>', at) + 1));
  };
  EXPECT_EQ(end_of(0.97, 1.2), 100);
  EXPECT_EQ(end_of(0.5, 0.56), 60);
}

TEST(Html, OneBarThatIsFarHigherIsCut) {
  BarChart chart;
  chart.labels = {"a", "b", "c"};
  chart.bars = {0.92, 0.05, 0.03};
  const std::string cut = bar_chart(chart);
  EXPECT_NE(cut.find("class=\"gap\""), std::string::npos);
  EXPECT_NE(cut.find("92.0 %, cut"), std::string::npos);
  EXPECT_NE(cut.find(">5%</text>"), std::string::npos);  // where the axis ends
  chart.bars = {0.55, 0.25, 0.2};
  EXPECT_EQ(bar_chart(chart).find("gap"), std::string::npos);
  chart.bars = {0.92, 0.05, 0.03};
  chart.real = {0.4, 0.55, 0.05};  // what differs is not hidden
  EXPECT_EQ(bar_chart(chart).find("gap"), std::string::npos);
}

TEST(Html, TextsBelowAnAxisStandBesideOneAnother) {
  BarChart chart;
  for (int i = 0; i < 24; ++i) {
    chart.labels.push_back("a-name-of-a-bar");
    chart.bars.push_back(1.0 / 24);
  }
  const auto lefts = [&] {
    const std::string svg = bar_chart(chart);
    std::vector<std::pair<double, std::size_t>> out;  // where each begins, and its letters
    for (std::size_t at = svg.find("y=\"142\">"); at != std::string::npos;
         at = svg.find("y=\"142\">", at + 1)) {
      const std::size_t x = svg.rfind("x=\"", at) + 3, text = at + 8;
      out.emplace_back(std::stod(svg.substr(x)), svg.find('<', text) - text);
    }
    return out;
  };
  for (const bool numbers : {false, true}) {
    if (numbers) {
      for (int i = 0; i < 24; ++i) chart.ticks.push_back("2024-01-01");
    }
    const auto at = lefts();
    ASSERT_GE(at.size(), 3u);
    for (std::size_t k = 0; k < at.size(); ++k)
      EXPECT_LE(at[k].first + 5.0 * static_cast<double>(std::min<std::size_t>(at[k].second, 14)),
                k + 1 < at.size() ? at[k + 1].first : 341.0);
  }
}

TEST(Html, ColumnsOfNumbersStandRightWhateverTheirFirstRowHas) {
  Page page;
  page.table({{"name", "number"}, {{"7 days", "-"}, {"b", "1.5"}}});
  EXPECT_NE(page.html().find("<th scope=\"col\" class=\"n\">number</th>"), std::string::npos);
  EXPECT_NE(page.html().find("<td class=\"n\">-</td>"), std::string::npos);
  Page names;
  names.table({{"sets", "distance"}, {{"columns", "0.1"}, {"2-way", "0.2"}}});
  EXPECT_NE(names.html().find("<td>2-way</td><td class=\"n\">0.2</td>"), std::string::npos) << names.html();
  Page facts;
  facts.table({{}, {{"released on", "2026-11-27"}}});
  EXPECT_NE(facts.html().find("<td>2026-11-27</td>"), std::string::npos);
}

TEST(Html, WordsThatAreTooLongForAColumnAreBroken) {
  Page page;
  page.table({{}, {{"short words of a long text, which is not broken", std::string(64, 'f')}}});
  EXPECT_NE(page.html().find("<td>short"), std::string::npos);
  EXPECT_NE(page.html().find("<td class=\"l\">fff"), std::string::npos);
}

TEST(Html, CurvesLieInsideOfTheirChart) {
  LineChart chart{
      "<title>", "", {10, 10.5, 20}, {"10", "10.5", "20"}, {{"made", {0, 0.5, 1}}, {"real", {0, 0.25, 1}}}};
  const std::string svg = line_chart(chart);
  EXPECT_NE(svg.find("&lt;title&gt;"), std::string::npos);
  EXPECT_NE(svg.find("class=\"made\" d=\"M34.0 128.0L49.1 68.0L336.0 8.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("class=\"real\" d=\"M34.0 128.0L49.1 98.0L336.0 8.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find(">20</text>"), std::string::npos);
  chart.at = {5, 5, 5};  // one place
  chart.lines.resize(1);
  chart.lines[0].values = {-2, 3, 3};
  const std::string flat = line_chart(chart);
  EXPECT_EQ(flat.find("nan"), std::string::npos);
  EXPECT_NE(flat.find(">-2</text>"), std::string::npos);
}

TEST(Html, NamesOfAMapLieInsideOfIt) {
  HeatMap map;
  map.names = {"a", "a-column-with-a-name"};
  map.lower = map.upper = {0, 0.5, 0.5, 0};
  const std::string svg = heat_map(map);
  const auto after = [&](const char* text, std::size_t from = 0) {
    return std::stod(svg.substr(svg.find(text, from) + std::string(text).size()));
  };
  const double width = after("viewBox=\"0 0 "), at = after("translate(", svg.rfind("translate("));
  EXPECT_GE(width, at + 0.5 * 6.0 * 20);  // slanted by 60 degrees, at 6 units a letter
  EXPECT_LT(after("width=\""), 450);
}

TEST(Html, AMarkStandsOnEverySectionAndPage) {
  const std::string html = document("t", "private", "PRIVATE: x", {{"a", "A", ""}, {"b", "B", ""}});
  std::size_t marks = 0;
  for (std::size_t at = html.find("class=\"mark\">PRIVATE"); at != std::string::npos;
       at = html.find("class=\"mark\">PRIVATE", at + 1))
    ++marks;
  EXPECT_EQ(marks, 2u);  // at the top, right above the first section, and of each other section
  EXPECT_NE(html.find("<div class=\"every\">PRIVATE</div>"), std::string::npos);
  EXPECT_NE(html.find("<meta name=\"muffle-report\" content=\"private\">"), std::string::npos);
}

TEST(Html, ThePrintedMarkIsTheMarksHead) {
  const std::string html = document("t", "not-private", "NOT PRIVATE: x", {{"a", "A", ""}});
  EXPECT_NE(html.find("<div class=\"every\">NOT PRIVATE</div>"), std::string::npos);
  EXPECT_EQ(html.find("\"public\""), std::string::npos);
}

TEST(Html, AsksForNothing) {
  Page page;
  BarChart bars;
  bars.title = bars.description = "t";
  bars.labels = {"a", "b"};
  bars.bars = bars.real = bars.held_out = {0.5, 0.5};
  bars.band = {std::pair(0.4, 0.6), std::pair(0.4, 0.6)};
  page.figure(bar_chart(bars), "c");
  page.figure(heat_map({"t", "d", {"a", "b"}, {0, 1, 1, 0}, {0, 1, 1, 0}}), "c");
  page.figure(colour_key(true, true, true), "");
  schema::Schema images;
  images.shape = {1, 4, 4};
  const std::vector<std::vector<double>> some{std::vector<double>(16, 0.5)};
  page.figure(picture(images, some, 1, "p"), "c");
  std::string html = document("t", "public", "", {{"a", "A", page.html()}});
  const std::string inlined = "src=\"data:image/png;base64,";  // the one source that is in the file itself
  const std::size_t at = html.find(inlined);
  ASSERT_NE(at, std::string::npos);
  html.erase(at, inlined.size());
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const char* asks : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_EQ(html.find(asks), std::string::npos) << asks;
  EXPECT_NE(html.find("prefers-color-scheme:dark"), std::string::npos);
}

}  // namespace
}  // namespace muffle::report
