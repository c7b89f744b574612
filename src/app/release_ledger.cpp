#include "release_ledger.hpp"

#include <fmt/format.h>

#include <chrono>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"

namespace muffle::app {
namespace {

std::filesystem::path plain(const std::filesystem::path& path) {
  try {
    const std::filesystem::path full = watched::canonical(path);
    return full.has_filename() ? full : full.parent_path();
  } catch (const std::filesystem::filesystem_error& e) {
    throw IoError(
        fmt::format("the path '{}' leads nowhere: {}. Check it and your permissions. Nothing was "
                    "charged or drawn.",
                    path.string(), e.code().message()));
  }
}

std::string name_of_data(const Config& config) {
  if (!config.data.generate.empty()) return "generated-" + config.data.generate;
  Sha256 hash;
  for (const std::string& file : {config.data.features, config.data.labels}) {
    if (file.empty()) continue;  // unlabelled records, or labels beside them
    hash.update(plain(data::resolve_path(config.data, file, 0)).string() + "\n");
  }
  return "unnamed-" + to_hex(hash.digest()).substr(0, 16);
}

}  // namespace

release::ReleaseOrder release_order(const Context& context) {
  const auto& settings = context.config.ledger;
  const std::filesystem::path out = plain(context.out);
  release::ReleaseOrder order;
  order.file = plain(out / kReleaseFile);
  order.statement_json = out / kPrivacyJson;
  order.statement_text = out / kPrivacyText;
  order.config_hash = stage_hash(context.config, Stage::kRelease);
  order.data_id = settings.data_id.empty() ? name_of_data(context.config) : settings.data_id;
  order.ledger = settings.file.empty() ? out.parent_path() / ("ledger-" + order.data_id + ".jsonl")
                                       : std::filesystem::path(settings.file);
  if (settings.budget_epsilon)
    order.budget = privacy::Budget::from_epsilon(*settings.budget_epsilon, settings.budget_delta);
  // Half of what the other ranks wait for root.
  order.lock_deadline =
      std::chrono::milliseconds(static_cast<long long>(context.config.runtime.deadline_s * 500));
  order.signing_key = context.config.signing_key;
  order.secure_noise = !context.insecure_seed;
  return order;
}

}  // namespace muffle::app
