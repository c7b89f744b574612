// In muffle-site: what the joined settings ask of rooms that it does not link. It trains, samples and scores
// nothing, so these have no keys here, and load_config() passes over their sections.
#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "muffle/evaluate/metric.hpp"
#include "muffle/model/generator_kind.hpp"
#include "muffle/model/twin_kind.hpp"
#include "muffle/synth/pictures.hpp"
#include "muffle/synth/sampler.hpp"
#include "muffle/train/settings.hpp"

namespace muffle {
namespace {

[[noreturn]] void no_such_stage() {
  throw InvariantError("muffle-site has no stage after a release: this is a bug in muffle.");
}

}  // namespace

namespace model {

Settings::Settings() = default;
void Settings::declare(settings::Keys&) {}
const GeneratorSettings& Settings::chosen() const { no_such_stage(); }
std::string trainable_maps() { no_such_stage(); }

}  // namespace model

namespace train {

void Settings::declare(settings::Keys&) {}
void Settings::problems(const model::GeneratorSettings&, settings::Problems&) const { no_such_stage(); }
void Settings::release_problems(const model::GeneratorSettings&, const schema::Schema&,
                                const std::vector<features::NamedMap>&, settings::Problems&) const {
  no_such_stage();
}
std::vector<std::size_t> matched_maps(const std::vector<features::NamedMap>&, bool) { no_such_stage(); }

}  // namespace train

namespace synth {

void declare(settings::Keys&, SampleSpec&, Formats) {}
void problems(const SampleSpec&, Formats, settings::Problems&) { no_such_stage(); }
void problems(const SampleSpec&, const schema::Schema&, Formats, settings::Problems&) { no_such_stage(); }

}  // namespace synth

namespace evaluate {

Settings::Settings() = default;
bool Settings::reads_real_records() const { return false; }
void declare(settings::Keys&, Settings&) {}
void problems(const Settings&, const data::Settings&, bool, settings::Problems&) { no_such_stage(); }
void sample_problems(const Settings&, const schema::Schema&, std::uint64_t, const std::vector<std::string>&,
                     settings::Problems&) {
  no_such_stage();
}
std::string samples_file(const std::vector<std::string>&, std::uint64_t) { no_such_stage(); }

}  // namespace evaluate
}  // namespace muffle
