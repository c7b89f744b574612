#include "html.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/html_text.hpp"
#include "muffle/core/text.hpp"

namespace muffle::report {
namespace {

// --syn: synthetic, --real: real rows, --held: held-out rows, --band: what the release's noise allows.
constexpr char kStyle[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1c1f26;--muted:#5c6370;--line:#d5d9e0;--soft:#f4f5f8;"
    "--syn:#2f6fb3;--real:#b3471d;--held:#3f8a4f;--band:#e0a030;--mark:#a3162a;--shade:#9aa1ad}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#15171c;--ink:#e6e8ec;--muted:#a0a7b4;--line:#363b46;"
    "--soft:#1e2128;--syn:#6aa9ec;--real:#f0935f;--held:#7cc98c;--band:#c9952f;--mark:#ff7b8a;--shade:#"
    "79818f}}\n"
    "*{box-sizing:border-box}body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:72rem;"
    "padding:1rem;background:var(--paper);color:var(--ink)}\n"
    "h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.25rem;margin:0 0 .5rem}h3{font-size:1.05rem;"
    "margin:1.2rem 0 .4rem}p{margin:.5rem 0;max-width:48rem}li{max-width:46rem}\n"
    "nav{margin:.8rem 0}nav a{margin-right:1rem;white-space:nowrap}a{color:inherit}\n"
    "section{border-top:1px solid var(--line);margin-top:1.6rem;padding-top:1rem}\n"
    ".note{color:var(--muted);font-size:.9rem}.mark{color:var(--mark);font-weight:700}\n"
    // Where a table goes on to the right, or the left, its edge is shaded until that is in view.
    ".table{overflow-x:auto;margin:.6rem 0;background:linear-gradient(to right,var(--paper) 40%,transparent) "
    "0 0/3rem 100% local,linear-gradient(to left,var(--paper) 40%,transparent) 100% 0/3rem 100% local,"
    "linear-gradient(to right,var(--shade),transparent) 2px 0/1rem 100% scroll,linear-gradient(to left,"
    "var(--shade),transparent) calc(100% - 2px) 0/1rem 100% "
    "scroll;background-repeat:no-repeat}table{border-collapse:collapse;font-size:.92rem}\n"
    "th,td{text-align:left;vertical-align:top;padding:.25rem .9rem .25rem 0;border-bottom:1px solid "
    "var(--line);overflow-wrap:break-word;min-width:4rem}td.n,th.n{text-align:right;font-variant-numeric:"
    "tabular-nums}\n"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem;background:var(--soft);padding:.8rem}"
    "summary{cursor:pointer;font-weight:600}\n"
    ".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(20rem,100%),1fr));gap:1rem}\n"
    "figure{margin:.5rem 0;break-inside:avoid}figcaption{font-size:.88rem;color:var(--muted)}"
    "svg,img{max-width:100%;height:auto;display:block}svg:not([width]){max-width:min(100%,34rem)}img{image-"
    "rendering:pixelated}\n"
    "svg text{font:10px system-ui,sans-serif;fill:var(--muted)}.axis{stroke:var(--line)}\n"
    "td.l{overflow-wrap:anywhere;min-width:9rem}@media(max-width:40rem){table{font-size:.84rem}th,td{"
    "min-width:0;padding-right:.6rem}td.l{min-width:8rem}}\n"
    ".syn{fill:var(--syn)}.gap{fill:var(--paper)}.made{stroke:var(--syn);fill:none;stroke-width:1.6}\n"
    ".real{stroke:var(--real);fill:none;stroke-width:1.6}.held{stroke:var(--held);fill:none;"
    "stroke-width:1.3;stroke-dasharray:4 2}\n"
    ".band{fill:var(--band);fill-opacity:.38}.heat{fill:var(--syn)}.heat2{fill:var(--real)}\n"
    ".key span{display:inline-block;margin-right:1.2rem}.key i{display:inline-block;width:.9rem;height:.7rem;"
    "margin-right:.35rem}\n"
    ".every{display:none}@media print{.every{display:block;position:fixed;top:0;right:0;background:#fff;"
    "color:#a3162a;font-weight:700;padding:0 "
    ".4rem}html{font-size:11px}body{font-size:11px;max-width:none}nav{display:none}.table{background:none;"
    "overflow:visible}"
    "section,h3{break-after:avoid}section{break-after:auto}.table,figure{break-inside:avoid}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

/// Escaped, with what stands between backticks as code.
std::string prose(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('`', at),
                      close = open == std::string_view::npos ? open : text.find('`', open + 1);
    if (close == std::string_view::npos) return out + html_escaped(text.substr(at));
    out += html_escaped(text.substr(at, open - at)) + "<code>" +
           html_escaped(text.substr(open + 1, close - open - 1)) + "</code>";
    at = close + 1;
  }
  return out;
}

bool is_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with("\xC2\xB1"))
    text.remove_prefix(text.starts_with('-') ? 1 : 2);
  return !text.empty() && (is_digit(text.front()) || text.front() == '.') && text.size() < 24;
}

/// How a cell is set: numbers stand right, and so does what is in place of one; what has a word that no
/// column is wide enough for is broken.
const char* style_of(std::string_view cell, bool of_numbers) {
  constexpr std::size_t kLongWord = 24;
  if (of_numbers && (is_number(cell) || cell == "-")) return " class=\"n\"";
  std::size_t word = 0;
  for (const char c : cell) {
    word = c == ' ' ? 0 : word + 1;
    if (word > kLongWord) return " class=\"l\"";
  }
  return "";
}

}  // namespace

void Page::heading(std::string_view text) { html_ += fmt::format("<h3>{}</h3>\n", html_escaped(text)); }
void Page::paragraph(std::string_view text) { html_ += fmt::format("<p>{}</p>\n", prose(text)); }
void Page::note(std::string_view text) { html_ += fmt::format("<p class=\"note\">{}</p>\n", prose(text)); }

void Page::list(const std::vector<std::string>& items) {
  html_ += "<ul>\n";
  for (const std::string& item : items) html_ += fmt::format("<li>{}</li>\n", prose(item));
  html_ += "</ul>\n";
}

void Page::table(const TextTable& table) {
  // Without a header rows are facts of their own, no columns of numbers.
  std::vector<bool> numbers(table.header.size(), false);
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < std::min(row.size(), numbers.size()); ++c)
      numbers[c] = numbers[c] || is_number(row[c]);
  }
  // Names, of which one may begin as a number does.
  if (!numbers.empty())
    numbers[0] = std::all_of(table.rows.begin(), table.rows.end(),
                             [](const auto& row) { return row.empty() || is_number(row[0]); });
  html_ += "<div class=\"table\" tabindex=\"0\"><table>\n";  // keys move it, too
  if (!table.header.empty()) {
    html_ += "<tr>";
    for (std::size_t c = 0; c < table.header.size(); ++c)
      html_ += fmt::format("<th scope=\"col\"{}>{}</th>", numbers[c] ? " class=\"n\"" : "",
                           html_escaped(table.header[c]));
    html_ += "</tr>\n";
  }
  for (const auto& row : table.rows) {
    html_ += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      html_ += fmt::format("<td{}>{}</td>", style_of(row[c], c < numbers.size() && numbers[c]),
                           html_escaped(row[c]));
    html_ += "</tr>\n";
  }
  html_ += "</table></div>\n";
}

void Page::lines(std::string_view text) {
  html_ += "<pre>";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    html_ += html_escaped(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  html_ += "</pre>\n";
}

void Page::folded(std::string_view title, std::string_view text) {
  html_ += fmt::format("<details open><summary>{}</summary>\n", html_escaped(title));
  lines(text);
  html_ += "</details>\n";
}

void Page::figure(std::string_view markup, std::string_view caption) {
  html_ += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", markup, html_escaped(caption));
}

void Page::begin_grid() { html_ += "<div class=\"grid\">\n"; }
void Page::end_grid() { html_ += "</div>\n"; }

std::string document(std::string_view title, std::string_view kind, std::string_view mark,
                     const std::vector<Part>& parts) {
  const std::string marked =
      mark.empty() ? "" : fmt::format("<p class=\"mark\">{}</p>\n", html_escaped(mark));
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"muffle-report\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>{}</title>\n"
      "<style>\n{}</style>\n</head>\n<body>\n",
      html_escaped(kind), html_escaped(title), kStyle);
  if (!mark.empty())
    out += fmt::format("<div class=\"every\">{}</div>\n", html_escaped(mark.substr(0, mark.find(':'))));
  out += fmt::format("<h1>{}</h1>\n{}<nav>", html_escaped(title), marked);
  for (const Part& part : parts)
    out += fmt::format("<a href=\"#{}\">{}</a> ", part.id, html_escaped(part.title));
  out += "</nav>\n";
  for (const Part& part : parts)  // the first one stands right below the mark at the top
    out += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}{}</section>\n", part.id,
                       html_escaped(part.title), &part == parts.data() ? "" : marked, part.html);
  return out + "</body>\n</html>\n";
}

}  // namespace muffle::report
