#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <utility>

#include "draft_answers.hpp"
#include "draft_keys.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::schema {
namespace {

/// The person goes a question back; the answer is gone already.
struct Back {};
/// The person leaves, or the input ends.
struct Leave {};

constexpr std::string_view kHelp =
    "  Lists have commas between: a, b, c. A text with a comma is put in quotes, and so is an empty one: "
    "\"\".\n"
    "  A list that ends with a comma goes on in the next line.\n"
    "  What a column is, in a few words: its type (integer, decimal, category, ordinal, boolean, date, "
    "datetime,\n"
    "  time, key, ignore), its role where it has one (label: the class; person: whose a row is), `missing` "
    "if a "
    "value\n"
    "  can be absent. Such as: category label. Dates may say their format: date %d.%m.%Y.\n"
    "  back: the question before; quit: stop here, and go on another day; help: this.\n";

/// Questions and answers.
class Interview {
 public:
  Interview(std::istream& in, std::ostream& out, Answers known, const KeepAnswers& keep)
      : in_(in), out_(out), answers_(std::move(known)), keep_(keep) {}

  bool run(std::span<DraftColumn> columns) {
    const std::vector<DraftColumn> drafts(columns.begin(), columns.end());
    const bool file =
        std::any_of(drafts.begin(), drafts.end(), [](const DraftColumn& c) { return !c.missing; });
    try {
      for (std::size_t step = file ? 0 : 1; step <= drafts.size();) {
        try {
          if (step == 0) {
            begin("", "The whole file");
            whole_file();
          } else {
            columns[step - 1] = drafts[step - 1];
            begin(drafts[step - 1].name,
                  fmt::format("Column {} of {}: {}", step, drafts.size(), printable(drafts[step - 1].name)));
            column(columns[step - 1], columns.first(step - 1));
          }
          ++step;
        } catch (const Back&) {
          if (step > (file ? 0U : 1U) && at_ == 0)
            take_back(--step == 0 ? std::string() : drafts[step - 1].name);
        }
      }
      return true;
    } catch (const Leave&) {
      for (std::size_t j = 0; j < drafts.size(); ++j) {
        if (drafts[j].name == name_) columns[j] = drafts[j];
      }
      return false;
    }
  }

 private:
  void begin(const std::string& name, std::string title) {
    name_ = name;
    title_ = std::move(title);
    at_ = 0;
  }
  void take_back(const std::string& name) {
    std::vector<std::string>& answers = answers_[name];
    if (!answers.empty()) {
      taken_back_[name][answers.size() - 1] = answers.back();
      answers.pop_back();
    }
    if (keep_) keep_(name, answers);
  }

  /// The next answer that `accept` takes: it returns what is wrong, or nothing.
  /// @param offered  what an empty answer means; of an answer that was taken back it is that one
  template <class Accept>  // (std::string) -> std::string
  void ask(const std::string& question, const std::string& offered, const Accept& accept) {
    std::vector<std::string>& answers = answers_[name_];
    if (at_ < answers.size()) {
      if (accept(answers[at_]).empty()) {
        ++at_;
        return;
      }
      answers.resize(at_);  // of a file that has changed
    }
    if (!title_.empty()) out_ << "\n" << std::exchange(title_, "") << "\n";
    std::map<std::size_t, std::string>& taken_back = taken_back_[name_];
    for (;;) {
      const auto earlier = taken_back.find(at_);
      const bool again = earlier != taken_back.end() && !earlier->second.empty();
      const std::string& shown = again ? earlier->second : offered;
      out_ << "  " << question << (shown.empty() ? "" : " [" + printable(shown) + "]") << ": " << std::flush;
      std::string line;
      do {
        std::string more;
        if (!std::getline(in_, more)) throw Leave();
        line += trimmed(more);
        if (trimmed(more).empty() && line.ends_with(',')) line.pop_back();
      } while (line.ends_with(','));
      if (line == "quit") throw Leave();
      if (line == "back") {
        at_ = answers.size();
        if (!answers.empty()) take_back(name_);
        throw Back();
      }
      if (line == "help") {
        out_ << kHelp;
        continue;
      }
      if (line.empty() && again) line = earlier->second;
      if (const std::string wrong = accept(line); !wrong.empty()) {
        out_ << "  " << wrong << "\n";
        if (again && line == earlier->second) taken_back.erase(earlier);
        continue;
      }
      // The questions behind another answer may be others.
      if (earlier == taken_back.end() || earlier->second != line)
        taken_back.erase(taken_back.lower_bound(at_), taken_back.end());
      answers.push_back(std::move(line));
      ++at_;
      if (keep_) keep_(name_, answers);
      return;
    }
  }

  void whole_file() {
    ask("how is a missing value spelt, where one can be absent?", "\"\", NA", [&](const std::string& line) {
      if (line.empty()) return std::string();
      const auto list = split_list(line);
      if (!list) return std::string("Write the spellings with commas between; an empty field is \"\".");
      missing_ = *list;
      return std::string();
    });
  }

  void column(DraftColumn& c, std::span<const DraftColumn> before) {
    if (!c.note.empty()) title_ += "\n  " + c.note;
    if (!c.choices.empty()) choose(c);
    ask("what is it?", known_text(c), [&](const std::string& line) {
      DraftColumn changed = c;
      std::string wrong = take_words(line, changed, before, missing_);
      if (wrong.empty()) c = std::move(changed);
      return wrong;
    });
    c.guessed = false;
    if (has_bounds(c) && (!c.lo || !c.hi)) {
      ask(fmt::format("the least and the largest value that there can be, such as {}", bounds_example(c)), "",
          [&](const std::string& line) { return line.empty() ? std::string() : take_bounds(line, c); });
      if (c.lo && c.type == ColumnType::kDecimal && !c.decimals)
        ask("places after the point, 0 to 15", "", [&](const std::string& line) {
          const auto value = parse_number(ColumnType::kInteger, line);
          if (line.empty()) return std::string();
          if (!value || *value < 0 || *value > 15) return std::string("A whole number from 0 to 15.");
          c.decimals = static_cast<int>(*value);
          return std::string();
        });
    }
    if (has_values(c) && !c.values) {
      ask(fmt::format("all of its categories, with commas{}",
                      c.type == ColumnType::kOrdinal   ? ", in their order"
                      : c.type == ColumnType::kBoolean ? ", the false one first"
                                                       : ""),
          "",
          [&](const std::string& line) { return line.empty() ? std::string() : take_categories(line, c); });
    }
  }

  void choose(DraftColumn& c) {
    std::string all;
    for (std::size_t k = 0; k < c.choices.size(); ++k) {
      const std::string notation = notation_text(c.choices[k]);
      all += fmt::format("{}{}: {}{}{}", k == 0 ? "" : "; ", k + 1, type_name(c.choices[k].type),
                         notation.empty() ? "" : ", ", notation);
    }
    ask(fmt::format("nothing in the file tells which it is. {}. Number", all), "",
        [&](const std::string& line) {
          const auto k = parse_number(ColumnType::kInteger, line);
          if (!k || *k < 1 || *k > static_cast<double>(c.choices.size()))
            return std::string("Answer with one of the numbers.");
          DraftColumn chosen = c.choices[static_cast<std::size_t>(*k) - 1];
          c = std::move(chosen);
          return std::string();
        });
  }

  std::istream& in_;
  std::ostream& out_;
  Answers answers_;
  const KeepAnswers& keep_;
  std::string name_, title_;  ///< of the column; the title until it is shown
  std::size_t at_ = 0;        ///< answers about it that are used
  std::map<std::string, std::map<std::size_t, std::string>>
      taken_back_;  ///< of each column, by question: an empty answer gives them again
  std::vector<std::string> missing_{"", "NA"};
};

}  // namespace

bool ask_for_columns(std::span<DraftColumn> columns, std::istream& in, std::ostream& out, Answers known,
                     const KeepAnswers& keep) {
  return Interview(in, out, std::move(known), keep).run(columns);
}

}  // namespace muffle::schema
