#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

/// How a room or a kind says which keys of a configuration it has: by a function that declares its keys on a
/// struct of its own (`declare(Keys&)`). The application joins them into one. Public values only.
namespace muffle::settings {

/// Which stage's output a key changes. A stage is done again when a key of it or of one before it changed.
enum class Stage { kRelease, kTrain, kSample, kEvaluate, kRuntime };

/// A configuration value as it was written: a TOML scalar or an array of them.
struct Value {
  enum class Kind { kBool, kInteger, kFloat, kString, kArray } kind = Kind::kString;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0.0;
  std::string text = {};
  std::vector<Value> items = {};
  std::string shown;  ///< for error messages
};

/// One key, bound to the field that it sets: the field must outlive it.
struct Key {
  std::string name;  ///< "section.key"
  Stage stage = Stage::kRuntime;
  std::string help;
  std::function<std::string(const Value&)> set;  ///< @returns empty, or what is wrong with the value
  std::function<std::string()> get;              ///< the field as a TOML literal
  std::optional<Stage> also{};                   ///< another stage whose output it decides on

  bool decides(Stage output) const { return stage == output || also == output; }
};

/// What a number may be. NaN is in no range.
struct Range {
  double low, high;
  bool low_itself = true;  ///< false: above `low`

  bool has(double x) const { return x <= high && (low_itself ? x >= low : x > low); }
  std::string text() const;
};

/// Quoted and escaped, for TOML and for JSON; what is not UTF-8 is replaced, so that no text is refused.
std::string toml_string(const std::string& text);
/// "needs WHAT, not VALUE".
std::string wanted(const std::string& what, const Value& v);

/// The keys of one section, in the order in which they are declared. Every method binds one key to a field.
class Keys {
 public:
  /// @param section  "privacy", "map.coarse"  @param stage  of keys that name none
  explicit Keys(std::string section, Stage stage = Stage::kRuntime)
      : section_(std::move(section)), stage_(stage) {}

  /// The stage of the keys that follow.
  Keys& stage(Stage stage) {
    stage_ = stage;
    return *this;
  }
  /// The key that was declared last decides on this stage's output, too.
  void also(Stage stage) { keys_.back().also = stage; }
  const std::string& section() const { return section_; }

  void number(const char* key, double& field, Range range, std::string help);
  /// "none": not set. @param range  none: whoever reads the field says what it may be
  void optional_number(const char* key, std::optional<double>& field, std::string help,
                       std::optional<Range> range = std::nullopt);
  template <class Integer>
  void count(const char* key, Integer& field, std::int64_t least, std::int64_t most, std::string help) {
    integer(
        key, least, most, std::move(help), [&field](std::int64_t v) { field = static_cast<Integer>(v); },
        [&field] { return std::to_string(field); });
  }
  void flag(const char* key, bool& field, std::string help);
  void text(const char* key, std::string& field, std::string help);
  /// An array of whole numbers from 1 to 2^24.
  void sizes(const char* key, std::vector<std::size_t>& field, std::string help);
  /// An array of different names out of `known`.
  void names(const char* key, std::vector<std::string>& field, std::vector<std::string> known,
             std::string help);
  /// An array of different texts, none empty. @param example  as it would be written
  /// @param wrong  empty, or what is wrong with an item; null: nothing ever is
  void texts(const char* key, std::vector<std::string>& field, std::string example, std::string help,
             std::function<std::string(const std::string&)> wrong = nullptr);
  /// A value out of a list of names.
  template <class T>
  void choice(const char* key, T& field, std::vector<std::pair<std::string, T>> options, std::string help) {
    std::vector<std::string> words;
    for (const auto& option : options) words.push_back(option.first);
    word(
        key, words, std::move(help),
        [&field, options](const std::string& chosen) {
          for (const auto& [known, value] : options) {
            if (known == chosen) field = value;
          }
        },
        [&field, options] {
          for (const auto& [known, value] : options) {
            if (value == field) return known;
          }
          return std::string("?");
        });
  }
  /// A name out of `known`, as it is: the names of a family's table.
  void name(const char* key, std::string& field, const std::vector<std::string>& known, std::string help) {
    word(
        key, known, std::move(help), [&field](const std::string& v) { field = v; },
        [&field] { return field; });
  }
  /// A name out of `words`, for what is more than a field.
  void word(const char* key, const std::vector<std::string>& words, std::string help,
            std::function<void(const std::string&)> set, std::function<std::string()> get);
  /// Anything else. key.name is the key alone, key.stage is set here.
  void add(Key key);

  std::vector<Key> take() { return std::move(keys_); }

 private:
  void integer(const char* key, std::int64_t least, std::int64_t most, std::string help,
               std::function<void(std::int64_t)> set, std::function<std::string()> get);

  std::string section_;
  Stage stage_;
  std::vector<Key> keys_;
};

/// The nearest of `names` to a misspelt one; empty if none is near. A right key in the wrong section is near.
std::string nearest(const std::string& name, const std::vector<std::string>& names);

/// Collects what is wrong with settings that were read, so that all of it is said at once.
class Problems {
 public:
  void unless(bool good, std::string problem) {
    if (!good) list_.push_back(std::move(problem));
  }
  void add(std::string problem) { list_.push_back(std::move(problem)); }
  void unless_in(const Range& range, const std::string& what, double value);
  /// Runs `check`; the message of its ConfigError or DataError, without its full stop, becomes a problem
  /// behind `before`. @returns whether there was none.
  bool check(const std::string& before, const std::function<void()>& check);
  /// @throws ConfigError  all in one message: "WHAT: PROBLEM; PROBLEM" and `after`, unless there is none.
  void throw_if_any(const std::string& what, const std::string& after = ".",
                    std::source_location where = std::source_location::current());
  /// An end of that message.
  static constexpr const char* kNotReleased = ". Correct the configuration; nothing was released.";
  bool empty() const { return list_.empty(); }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

}  // namespace muffle::settings
