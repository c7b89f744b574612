#include "muffle/train/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include "muffle/features/gaussian_features.hpp"
#include "muffle/model/network.hpp"
#include "muffle/model/twin_kind.hpp"
#include "muffle/moments/moments_model.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::train {
namespace {

void declare_ranks(settings::Keys& keys, comm::RankWish& ranks) {
  using Kind = comm::RankWish::Kind;
  settings::Key key;
  key.name = "ranks";
  key.help =
      "which ranks train (\"all\", \"with-gpu\": those with a GPU of their own, or a number: the first so "
      "many); the others wait";
  key.set = [&ranks](const settings::Value& v) {
    const bool text = v.kind == settings::Value::Kind::kString;
    if (text && v.text == "all") {
      ranks = {Kind::kAll, 0};
    } else if (text && v.text == "with-gpu") {
      ranks = {Kind::kWithGpu, 0};
    } else if (v.kind == settings::Value::Kind::kInteger && v.integer >= 1) {
      ranks = {Kind::kFirst, v.integer};
    } else {
      return settings::wanted("\"all\", \"with-gpu\" or a whole number of ranks from 1", v);
    }
    return std::string();
  };
  key.get = [&ranks] {
    if (ranks.kind == Kind::kFirst) return std::to_string(ranks.count);
    return settings::toml_string(ranks.kind == Kind::kAll ? "all" : "with-gpu");
  };
  keys.add(std::move(key));
}

/// All pairs of a step's records are in memory, some times over.
constexpr std::size_t kMostRecordsOfAStep = 16384;

constexpr settings::Range kLossWeights{1e-9, 1e9};

/// "NAME=FACTOR" -> NAME, FACTOR; a factor below 0 where it is none.
std::pair<std::string_view, double> split_loss_weight(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {text, -1.0};
  double factor = -1.0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + equals + 1, end, factor);
  if (read.ec != std::errc{} || read.ptr != end || !kLossWeights.has(factor)) factor = -1.0;
  return {text.substr(0, equals), factor};
}

std::string wrong_loss_weight(const std::string& text) {
  const auto [name, factor] = split_loss_weight(text);
  if (features::is_map_name(name) && factor > 0.0) return {};
  return fmt::format("is no map's name, = and a factor that is {}", kLossWeights.text());
}

bool is_proxy(const features::NamedMap& map) { return map.role == features::MapRole::kProxy; }

bool asks_proxy(const TrainSpec& spec) { return spec.from_moments || spec.choose_every > 0; }

/// What a choice of checkpoints adds on every rank: the nearest model, its copy in a checkpoint, the maps
/// that judge it, and of their mean embeddings target, sums and a batch's in float and two differences in
/// double. Without a proxy: the numbers that are held out, too.
std::uint64_t choice_memory(const release::ReleasePlan& plan, const model::NetworkSize& size) {
  const auto proxy = plan.proxy();
  const std::vector<std::size_t> judges =
      proxy ? std::vector<std::size_t>{*proxy} : matched_maps(plan.maps, /*from_moments=*/false);
  std::uint64_t bytes = 2 * 4 * (size.parameters + 2 * size.normed_features) + (proxy ? 0 : 8 * plan.size());
  for (const std::size_t b : judges) {
    const features::FeatureMap& map = *plan.maps[b].map;
    bytes += 4 * static_cast<std::uint64_t>(map.numbers_in_map()) +
             (3 * 4 + 2 * 8) * plan.rows(b) * model::twin_columns(map) / plan.maps[b].minibatches.parts();
    if (plan.maps[b].minibatches) bytes += 4 * plan.rows(b) * model::twin_columns(map);
  }
  return bytes;
}

/// What a training from the closed form adds on root; the other ranks lack the closed form's own 8 C q^2.
/// @param order  q of the second moments
std::uint64_t start_memory(const release::ReleasePlan& plan, std::uint64_t order, const TrainSpec& spec,
                           std::uint64_t ranks) {
  const std::uint64_t classes = plan.classes(), d = plan.schema.dims(), all = classes * order * order;
  // While targets are drawn towards the closed form (moments_start.cpp, credible_target): the closed form and
  // the moments in double; the factors under the network, the noisy target and the closed form's own in
  // float; four differences in double and their result in float.
  const std::uint64_t setup = all * (8 + 8 + 3 * 4 + 4 * 8 + 4);
  // In a step (objective.cpp): the closed form in double; the factors under both networks, target, sums,
  // message and mean in float; the difference in float and, for the loss, three times in double.
  const std::uint64_t step = all * (8 + 6 * 4 + 4 + 3 * 8);
  // The proxy's mean embeddings, of 20 batches and two models, and its map (proxy.hpp).
  std::uint64_t proxy = 0;
  if (const auto b = plan.proxy())
    proxy = 4 * plan.features(*b) * 2 * 20 * classes +
            4 * static_cast<std::uint64_t>(plan.maps[*b].map->numbers_in_map());
  // Records in the closed form's and the moments' tensors (closed_form_tensors.cpp, moments_twin.cpp),
  // most of them when the running statistics are taken (trainer.hpp).
  const std::uint64_t batch = std::max<std::uint64_t>(spec.batch, kStatisticsBatch) / ranks + 1;
  return std::max(setup, step) + proxy + 4 * batch * (8 * d + 6 * order);
}

}  // namespace

void Settings::declare(settings::Keys& keys) {
  using enum settings::Stage;
  constexpr std::int64_t kMostSteps = kMeasuringSubstream - 1;
  keys.stage(kTrain);
  keys.choice<bool>(
      "init", from_moments, {{"random", false}, {"moments", true}},
      "where training starts; moments: at the closed form, which is kept unless the proxy says better");
  keys.choice<bool>(
      "keep", keep_trained, {{"proxy", false}, {"trained", true}},
      "with train.init = \"moments\": the model that is written; trained: whatever the proxy says");
  keys.count(
      "choose_every", choose_every, 0, kMostSteps,
      "after every so many steps the model is compared with the proxy or, of a release that has none, with "
      "what is held out of it, and the nearest is kept; 0: the last one");
  keys.count("steps", steps, 1, kMostSteps, "optimizer steps");
  keys.count("batch", batch, 2, 1 << 24, "global batch, over all ranks");
  keys.number("learning_rate", learning_rate, {0, 1e3, false}, "Adam's learning rate");
  keys.number("decay", decay, {0, 1, false}, "learning rate x decay every decay_every steps");
  keys.count("decay_every", decay_every, 1, kMostSteps, "steps");
  keys.number("beta1", beta1, {0, 0.9999}, "Adam's first beta (0.5 as DP-MEPF has it)");
  keys.number(
      "average_rate", average_rate, {0, 1e3},
      "maps are matched by moving averages of their residuals, which Adam moves by this rate; 0: by the "
      "batch's own residuals");
  keys.flag(
      "credible", credible,
      "a class is matched as far as its distance is more than the noise of the release and sampling make");
  keys.flag("unbiased", unbiased, "unbiased form of the objective");
  keys.choice<bool>("labels", stratified, {{"stratified", true}, {"independent", false}},
                    "how a batch's labels are drawn");
  keys.count("seed", seed, 0, INT64_MAX, "seed of parameters and latent codes");
  keys.texts("loss_weights", loss_weights, "[\"product=0.1\"]",
             "what maps count in the objective; others: the square of their weight in the release",
             wrong_loss_weight);
  keys.choice<bool>(
      "match", match_records, {{"sums", false}, {"records", true}},
      "what the network is compared with; records: with the records themselves by the maps' exact kernels, "
      "NOT PRIVATE, of a release by --insecure-no-noise alone");
  keys.stage(kRuntime);
  keys.count("checkpoint_every", checkpoint_every, 0, kMostSteps,
             "a checkpoint after every so many steps; 0: by time alone");
  keys.number("checkpoint_every_s", checkpoint_every_s, {0, 1e6},
              "a checkpoint when the last is so many seconds old; 0: by steps alone");
  using comm::DeviceWish;
  keys.choice<DeviceWish>(
      "device", device, {{"auto", DeviceWish::kAuto}, {"cpu", DeviceWish::kCpu}, {"cuda", DeviceWish::kCuda}},
      "where the generator is trained");
  declare_ranks(keys, ranks);
  keys.flag("cuda_graph", cuda_graph, "on GPUs: replay a step as one CUDA graph, where it can be captured");
}

void Settings::problems(const model::GeneratorSettings& generator, settings::Problems& p) const {
  p.unless(!from_moments || generator.network() != nullptr,
           fmt::format("train.init = \"moments\" trains a network from the closed form on, so "
                       "model.generator must be {}; the closed form itself needs no training",
                       model::networks()));
  p.unless(
      !from_moments || !credible,
      "train.credible is said of a training with train.init = \"random\": one from the closed form draws "
      "its targets towards that by the same factor already");
  p.unless(
      from_moments || !keep_trained,
      "train.keep = \"trained\" is said of a training with train.init = \"moments\": others have no choice");
  if (!match_records) return;
  p.unless(generator.network() != nullptr,
           fmt::format("train.match = \"records\" trains a network, so model.generator must be {}",
                       model::networks()));
  p.unless(!from_moments && average_rate == 0 && !credible && !cuda_graph,
           "train.match = \"records\" compares records without noise, step by step: leave train.init, "
           "train.average_rate, train.credible and train.cuda_graph at their defaults");
  p.unless(
      batch <= kMostRecordsOfAStep,
      fmt::format("train.match = \"records\" compares all pairs of a batch: train.batch may be {} at most",
                  kMostRecordsOfAStep));
}

void relaxed_problems(const model::NetworkSettings& network, const std::vector<features::NamedMap>& maps,
                      const TrainSpec& spec, settings::Problems& p) {
  std::vector<std::size_t> used = matched_maps(maps, spec.from_moments);
  for (std::size_t b = 0; b < maps.size(); ++b) {
    if (asks_proxy(spec) && is_proxy(maps[b]) && model::twin_columns(*maps[b].map) > 0) used.push_back(b);
  }
  for (const std::size_t b : used) {
    const features::NamedMap& map = maps[b];
    const bool relaxed = model::takes_relaxed(*map.map);
    if (relaxed == network.makes_relaxed()) continue;
    p.add(relaxed ? fmt::format("the map \"{}\" (kind \"{}\") compares probabilities of categories, which "
                                "model.generator = \"{}\" does not make: use model.generator = \"tabular\"",
                                map.name, map.map->kind(), network.kind())
                  : fmt::format(
                        "the map \"{}\" (kind \"{}\") compares plain numbers, and model.generator = \"{}\" "
                        "makes probabilities of categories: use maps of kind \"table-rff\" or "
                        "\"table-hermite\", and \"one-hot\"",
                        map.name, map.map->kind(), network.kind()));
  }
}

void Settings::release_problems(const model::GeneratorSettings& generator, const schema::Schema& schema,
                                const std::vector<features::NamedMap>& maps, settings::Problems& p) const {
  if (const auto* closed = generator.closed_form()) return closed->release_problems(schema, maps, p);
  const model::NetworkSettings& network = *generator.network();
  relaxed_problems(network, maps, *this, p);
  choice_problems(*this, maps, p);
  loss_weight_problems(*this, maps, p);
  kernel_problems(*this, maps, p);
  minibatch_problems(*this, maps, p);
  if (!from_moments) return network.problems(&schema, p);
  const features::SecondMoments* const moments = start_of(maps, p);
  if (moments == nullptr) return;
  moments::check_model_size(*moments, schema.classes, p);
  network.beside(moments->order() - 1)->problems(&schema, p);
}

const features::SecondMoments* start_of(const std::vector<features::NamedMap>& maps, settings::Problems& p) {
  const features::SecondMoments* const moments = moments::moments_of(maps);
  const bool trained = !matched_maps(maps, /*from_moments=*/false).empty();
  const bool proxy = std::any_of(maps.begin(), maps.end(), is_proxy);
  p.unless(
      moments != nullptr && trained && proxy,
      fmt::format("train.init = \"moments\" needs three feature maps: one with kind = {}, what it starts "
                  "from; one with kind = {}, that it is trained on; and one with role = \"proxy\", which "
                  "decides which of the two models is kept",
                  features::second_moments_maps(), model::trainable_maps()));
  if (moments == nullptr || moments->lift->affine() != nullptr) return moments;
  p.add(fmt::format(
      "train.init = \"moments\" starts from moments whose lift is {}: the others have no closed form that a "
      "network could be added to; train with train.init = \"random\", or release other moments",
      features::affine_lifts()));
  return nullptr;
}

void choice_problems(const TrainSpec& spec, const std::vector<features::NamedMap>& maps,
                     settings::Problems& p) {
  if (spec.choose_every == 0) return;
  const auto proxy = std::find_if(maps.begin(), maps.end(), is_proxy);
  if (proxy == maps.end()) {
    p.unless(
        !spec.match_records,
        "train.match = \"records\" compares records with no released numbers, of which some could be held "
        "out: train.choose_every needs a map with role = \"proxy\" then");
    return;
  }
  p.unless(model::twin_columns(*proxy->map) > 0,
           fmt::format("train.choose_every compares generated records in the features of the proxy, and the "
                       "map \"{}\" (kind \"{}\") has none of them: use one with kind = {}",
                       proxy->name, proxy->map->kind(), model::trainable_maps()));
}

void minibatch_problems(const TrainSpec& spec, const std::vector<features::NamedMap>& maps,
                        settings::Problems& p) {
  for (const std::size_t b : matched_maps(maps, spec.from_moments)) {
    if (!maps[b].minibatches) continue;
    p.unless(
        !spec.from_moments && !spec.match_records,
        fmt::format("the map \"{}\" is released a minibatch at a time, and a step is compared with one of "
                    "them: leave train.init and train.match at their defaults",
                    maps[b].name));
  }
}

void kernel_problems(const TrainSpec& spec, const std::vector<features::NamedMap>& maps,
                     settings::Problems& p) {
  if (!spec.match_records) return;
  for (const std::size_t b : matched_maps(maps, spec.from_moments))
    p.unless(
        features::gaussian_features(*maps[b].map) != nullptr,
        fmt::format("train.match = \"records\" compares records by Gaussian kernels, which the map \"{}\" "
                    "(kind \"{}\") does not stand for: use maps with kind = {}",
                    maps[b].name, maps[b].map->kind(), features::gaussian_maps()));
}

std::vector<std::size_t> matched_maps(const std::vector<features::NamedMap>& maps, bool from_moments) {
  std::vector<std::size_t> out;
  for (std::size_t b = 0; b < maps.size(); ++b) {
    const features::FeatureMap& map = *maps[b].map;
    const bool wanted = maps[b].role == features::MapRole::kMatch && (from_moments || !map.second_moments());
    if (wanted && model::twin_columns(map) > 0) out.push_back(b);
  }
  std::stable_partition(out.begin(), out.end(), [&](std::size_t b) { return maps[b].map->second_moments(); });
  return out;
}

double loss_weight(const TrainSpec& spec, const features::NamedMap& map) {
  for (const std::string& text : spec.loss_weights) {
    const auto [name, factor] = split_loss_weight(text);
    if (name == map.name) return factor;
  }
  return map.weight * map.weight;
}

void loss_weight_problems(const TrainSpec& spec, const std::vector<features::NamedMap>& maps,
                          settings::Problems& p) {
  const std::vector<std::size_t> matched = matched_maps(maps, spec.from_moments);
  std::set<std::string_view> named;
  for (const std::string& text : spec.loss_weights) {
    const std::string_view name = split_loss_weight(text).first;
    p.unless(std::ranges::any_of(matched, [&](std::size_t b) { return maps[b].name == name; }),
             fmt::format("train.loss_weights: \"{}\" names no map that the network is trained on", text));
    p.unless(named.insert(name).second,
             fmt::format("train.loss_weights: the map \"{}\" is there twice", name));
  }
}

std::uint64_t statistics_batch(const model::GeneratorSettings& network, const schema::Schema& schema,
                               const TrainSpec& spec) {
  constexpr double kMostNumbers = 1u << 29;  // 2 GB in float; norms need the double of it for a layer
  const double affordable = kMostNumbers / network.numbers_at_once(schema);
  return std::max<std::uint64_t>(
      spec.batch, static_cast<std::uint64_t>(std::min(static_cast<double>(kStatisticsBatch), affordable)));
}

Cost cost(const release::ReleasePlan& plan, const model::GeneratorSettings& generator, const TrainSpec& spec,
          std::uint64_t ranks) {
  Cost out;
  if (const auto* closed = generator.closed_form()) {
    out.fit_root = closed->fit_bytes(plan);
    return out;
  }
  const std::vector<std::size_t> maps = matched_maps(plan.maps, spec.from_moments);
  const auto moments = plan.second_moments();
  if (maps.empty() || (spec.from_moments && !moments)) return out;
  const model::NetworkSettings& architecture = *generator.network();
  std::shared_ptr<const model::NetworkSettings> beside;
  std::uint64_t order = 0;
  if (spec.from_moments) {
    order = plan.maps[*moments].map->second_moments()->moments().order();
    beside = architecture.beside(order - 1);
  }
  const model::NetworkSize size = (beside ? *beside : architecture).size(plan.schema);
  const std::uint64_t classes = plan.classes(), d = plan.schema.dims(),
                      batch = (spec.batch + ranks - 1) / ranks;
  std::uint64_t features = 0, numbers_in_maps = 0, columns = 0;
  for (const std::size_t b : maps) {
    const features::FeatureMap& map = *plan.maps[b].map;
    const std::uint64_t numbers = plan.rows(b) * model::twin_columns(map);
    columns += numbers / plan.maps[b].minibatches.parts();
    if (plan.maps[b].minibatches) out.memory += 4 * numbers;
    if (map.second_moments()) continue;  // start_memory() has them
    features += map.features();
    numbers_in_maps += static_cast<std::uint64_t>(map.numbers_in_map());
    // Phases, and their gradient.
    out.step_flops += 2 * static_cast<double>(spec.batch) * map.cost().flops_per_record;
  }
  out.parameters = size.parameters;
  // The artifact and its bytes; target, sums, message and gradient of a step; phases and their gradient;
  // parameters, gradients and Adam's two moments.
  out.memory += 2 * 4 * numbers_in_maps + 16 * plan.size() + 4 * 4 * features * classes +
                4 * batch * (features + 4 * d) + 16 * size.parameters;
  if (spec.average_rate > 0) out.memory += 3 * 4 * columns;
  if (spec.from_moments) out.memory += start_memory(plan, order, spec, ranks);
  if (spec.choose_every > 0) out.memory += choice_memory(plan, size);
  out.step_embedding = 4 * (columns + classes);
  if (spec.match_records) {
    // The records as they are read and in a tensor; their step's, with the generated ones of all ranks; of
    // each kernel a rank's pairs with both, and what the gradient needs of them.
    out.memory += 2 * 4 * plan.records * d + 4 * spec.batch * (2 * d + batch * (3 + 4 * maps.size()));
    out.step_flops = 3.0 * 2 * 2 * static_cast<double>(spec.batch) * static_cast<double>(spec.batch) *
                     static_cast<double>(d);
    out.step_embedding = 4 * spec.batch * (d + 1);
  }
  out.step_batch_norm = 8 * (4 * size.normed_features + size.norms);
  out.step_gradients = 4 * size.parameters;
  out.step_wire = out.step_embedding + out.step_batch_norm + out.step_gradients;
  out.step_flops_each = out.step_flops / static_cast<double>(ranks);
  // A ring all-reduce sends and receives 2 (K-1)/K of the payload on every rank.
  out.step_sent =
      static_cast<double>(out.step_wire) * 2 * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  out.training_sent = out.step_sent * static_cast<double>(spec.steps);
  return out;
}

}  // namespace muffle::train
