#include "config_keys.hpp"

namespace muffle::app {
namespace {

std::vector<settings::Key> declared(Config& config) {
  settings::Keys model("model"), train("train");
  config.model.declare(model);
  config.train.declare(train);
  std::vector<settings::Key> all = model.take();
  for (settings::Key& key : train.take()) all.push_back(std::move(key));
  return all;
}

}  // namespace

std::vector<Key> training_keys() {
  std::vector<Key> keys;
  Config scratch;
  std::size_t i = 0;
  for (const settings::Key& key : declared(scratch)) {
    keys.push_back({key.name, key.stage, key.help, [i](Config& c, const Value& v) { return declared(c)[i].set(v); },
                    [i](const Config& c) { return declared(const_cast<Config&>(c))[i].get(); }});
    ++i;
  }
  return keys;
}

}  // namespace muffle::app
