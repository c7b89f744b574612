// A round's status for people, as text and as a page.
#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/html_text.hpp"
#include "muffle/core/text.hpp"
#include "muffle/round/draft.hpp"
#include "muffle/round/status.hpp"

namespace muffle::round {
namespace {

std::string stand_ins_in_words(const RoundStatus& s) {
  return s.stand_in_until == 0 ? "" : ", stand-ins until " + date_in_words(s.stand_in_until);
}

/// Empty where the release has one round.
std::string of_rounds(const RoundStatus& s) {
  return s.rounds > 1 ? fmt::format(" (round {} of {})", s.number, s.rounds) : "";
}

std::string rows(const char* role, const std::vector<RoundStatus::Party>& parties) {
  std::string out;
  for (const RoundStatus::Party& p : parties)
    out += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>\n", html_escaped(p.name),
                       role, p.answered ? "done" : "open", html_escaped(p.state));
  return out;
}

std::string aside_list(const std::vector<SetAside>& aside) {
  if (aside.empty()) return {};
  std::string out = "<p>Kept aside:</p>\n<ul>\n";
  for (const SetAside& a : aside)
    out += fmt::format("<li><code>{}</code>: {}</li>\n", html_escaped(a.name), html_escaped(a.why));
  return out + "</ul>\n";
}

constexpr char kStyle[] =
    ":root{color-scheme:light dark;--line:#ccd;--done:#17693a;--open:#8a5a00}\n"
    "@media(prefers-color-scheme:dark){:root{--line:#445;--done:#7ddba3;--open:#f0c060}}\n"
    "body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1rem}\n"
    "h1{font-size:1.4rem}h2{font-size:1.15rem;margin-top:2rem;overflow-wrap:anywhere}\n"
    "table{border-collapse:collapse;width:100%;table-layout:fixed}\n"
    "th:nth-child(1){width:42%}th:nth-child(2){width:20%}\n"
    "th,td{text-align:left;vertical-align:top;padding:.35rem .6rem .35rem 0;border-bottom:1px solid "
    "var(--line);overflow-wrap:anywhere}\n"
    ".done{color:var(--done)}.open{color:var(--open)}code{font-size:.95em;overflow-wrap:anywhere}\n";

}  // namespace

std::string status_text(const RoundStatus& s) {
  std::string out = fmt::format("round {}: {}{}\n  {}\n", s.id, s.title, of_rounds(s), s.stage);
  out += fmt::format("  contributions until {}; openings until {}{}; now {}\n",
                     date_in_words(s.contribute_until), date_in_words(s.open_until), stand_ins_in_words(s),
                     date_in_words(s.now));
  std::size_t widest = 20;
  for (const auto* parties : {&s.sites, &s.holders}) {
    for (const RoundStatus::Party& party : *parties) widest = std::max(widest, party.name.size());
  }
  for (const RoundStatus::Party& site : s.sites)
    out += fmt::format("  site        {:{}} {}\n", site.name, widest, site.state);
  for (const RoundStatus::Party& holder : s.holders)
    out += fmt::format("  key holder  {:{}} {}\n", holder.name, widest, holder.state);
  for (const SetAside& aside : s.set_aside)
    out += fmt::format("  kept aside  {}: {}\n", printable(aside.name), printable(aside.why));
  return out;
}

std::string status_html(const std::vector<RoundStatus>& rounds, const std::vector<SetAside>& aside) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Rounds</title>\n"
      "<style>\n{}</style>\n</head>\n<body>\n<h1>Rounds</h1>\n",
      kStyle);
  if (rounds.empty()) out += "<p>There is no proposal yet.</p>\n";
  for (const RoundStatus& s : rounds) {
    out += fmt::format(
        "<h2>{} <code>{}</code></h2>\n<p><strong>{}</strong></p>\n<p>Contributions until {}, openings until "
        "{}{}. As of {}. Fewer than {} contributions make no release.</p>\n"
        "<table>\n<tr><th>Party</th><th>Role</th><th>State</th></tr>\n{}{}</table>\n",
        html_escaped(s.title + of_rounds(s)), s.id, html_escaped(s.stage), date_in_words(s.contribute_until),
        date_in_words(s.open_until), stand_ins_in_words(s), date_in_words(s.now), s.least,
        rows("site", s.sites), rows("key holder", s.holders));
    out += aside_list(s.set_aside);
  }
  if (!aside.empty()) out += "<h2>Of no round</h2>\n" + aside_list(aside);
  return out + "</body>\n</html>\n";
}

}  // namespace muffle::round
