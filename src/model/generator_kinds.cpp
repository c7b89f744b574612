#include <fmt/format.h>

#include <algorithm>

#include "muffle/model/generator_kind.hpp"

namespace muffle::model {

#define MUFFLE_KIND(kind) GeneratorKind kind##_generator();
#include "generator_kinds.inc"

std::span<const GeneratorKind> generator_kinds() {
  static const std::vector<GeneratorKind> table{
#define MUFFLE_KIND(kind) kind##_generator(),
#include "generator_kinds.inc"
  };
  return table;
}

std::unique_ptr<GeneratorSettings> make_generator_settings(std::string_view kind) {
  return find_kind(generator_kinds(), kind, "generator").make();
}

std::string networks() {
  return names_where(generator_kinds(), [](const auto& kind) { return kind.make()->network() != nullptr; });
}

Settings::Settings() {
  for (const GeneratorKind& kind : generator_kinds()) kinds_.push_back(kind.make());
}

const GeneratorSettings& Settings::chosen() const {
  const auto table = generator_kinds();
  const GeneratorKind& kind = find_kind(table, generator, "generator");
  return *kinds_[static_cast<std::size_t>(&kind - table.data())];
}

void Settings::declare(settings::Keys& keys) {
  keys.stage(settings::Stage::kTrain);
  std::string help = "what records are drawn by;";
  for (const GeneratorKind& kind : generator_kinds())
    help += fmt::format(" {}: {};", kind.name, kind.summary);
  help.pop_back();
  keys.name("generator", generator, names_of(generator_kinds()), std::move(help));

  // A key that several kinds have is one key, which sets all of them.
  std::vector<settings::Key> all;
  for (const auto& kind : kinds_) {
    settings::Keys own(keys.section(), settings::Stage::kTrain);
    kind->declare(own);
    for (settings::Key& key : own.take()) {
      const auto same =
          std::find_if(all.begin(), all.end(), [&](const auto& k) { return k.name == key.name; });
      if (same == all.end()) {
        all.push_back(std::move(key));
        continue;
      }
      same->set = [first = same->set, second = key.set](const settings::Value& value) {
        std::string problem = first(value);
        return problem.empty() ? second(value) : problem;
      };
    }
  }
  for (settings::Key& key : all) {
    key.name.erase(0, keys.section().size() + 1);  // add() puts it in front again
    keys.add(std::move(key));
  }
}

}  // namespace muffle::model
