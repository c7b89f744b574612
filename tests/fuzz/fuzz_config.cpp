// load_config. Input: a TOML file, then --set assignments, all separated by NULs.
#include <vector>

#include "fuzz.hpp"
#include "muffle/app/config.hpp"
#include "muffle/core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muffle;
  std::string_view rest = fuzz::Input(data, size).rest();
  std::vector<std::string> parts;
  for (bool more = true; more && parts.size() < 16;) {
    const auto end = rest.find('\0');
    parts.emplace_back(rest.substr(0, end));
    more = end != std::string_view::npos;
    if (more) rest.remove_prefix(end + 1);
  }
  const fuzz::MemoryFile file(parts[0]);
  const app::ConfigSources sources{file.path(), {}, {parts.begin() + 1, parts.end()}, {}};
  app::Config config;
  try {
    config = app::load_config(sources);
  } catch (const ConfigError&) {
    return 0;
  } catch (const UsageError&) {  // an assignment without '='
    return 0;
  } catch (const IoError&) {  // a schema's file that is not there
    return 0;
  }
  // What is written as config.resolved.toml gives the same run again.
  const fuzz::MemoryFile resolved(app::to_toml(app::flatten(config)));
  fuzz::demand(app::flatten(app::load_config({resolved.path(), {}, {}, {}})) == app::flatten(config),
               "the resolved file is the same");
  return 0;
}
