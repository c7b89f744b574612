// One step of a decoder that is learned in rounds (muffle/features/decoder_step.hpp; docs/math.md, "feature
// maps"): a record's gradient, brought to norm 1 at most.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>

#include "float_environment.hpp"
#include "kernels.hpp"
#include "lift_settings.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/features/decoder_step.hpp"

namespace muffle::features {
namespace {

static_assert(std::endian::native == std::endian::little, "the state's numbers are hashed as they lie");

constexpr std::size_t kTile = 16;
constexpr std::uint64_t kMostHidden = 4096, kMostStepRounds = 100;
constexpr std::size_t kMostNumbers = std::size_t{1} << 22;
constexpr settings::Range kRates{1e-6, 1e6}, kMomenta{0, 0.999};
/// A's numbers are uniform, this wide to either side.
constexpr double kWidth = 0.875;
/// What sums of doubles may add to a norm is far below it.
constexpr double kMargin = 1.0 - 0x1p-30;

std::size_t padded(std::size_t n, std::size_t lanes) { return (n + lanes - 1) / lanes * lanes; }

struct DecoderWorkspace final : Workspace {
  DecoderWorkspace(std::size_t inputs, std::size_t hidden, std::size_t outputs, std::size_t numbers)
      : code(kTile * inputs),
        active(kTile * hidden),
        behind(kTile * hidden),
        error(kTile * outputs),
        base(outputs),
        lattice(numbers) {}
  std::vector<double> code, active, behind, error;  // of a tile: z, relu(A z), the gradient there, dec - x
  std::vector<double> base;                         // of one record: back(u)
  std::vector<std::int32_t> lattice;                // of one record: A's numbers, then V's
};

class DecoderStepBlock final : public Block {
 public:
  DecoderStepBlock(Decoder decoder, const Lattice& lattice)
      : decoder_(std::move(decoder)),
        kernels_(best_kernels()),
        inputs_(decoder_.inputs()),
        hidden_(decoder_.hidden),
        outputs_(decoder_.outputs()),
        hidden_padded_(padded(hidden_, kernels_.lanes)),
        outputs_padded_(padded(outputs_, kernels_.lanes)),
        lattice_(lattice),
        to_code_(1.0 / decoder_.unit()),
        scale_(static_cast<double>(lattice.scale()) * kMargin),
        first_(inputs_ * hidden_padded_),
        second_(outputs_padded_ * hidden_padded_),
        second_turned_(hidden_padded_ * outputs_padded_) {
    for (std::size_t j = 0; j < hidden_; ++j) {
      for (std::size_t l = 0; l < inputs_; ++l)
        first_[l * hidden_padded_ + j] = static_cast<double>(decoder_.first()[j * inputs_ + l]);
      for (std::size_t i = 0; i < outputs_; ++i) {
        const auto v = static_cast<double>(decoder_.second()[i * hidden_ + j]);
        second_[i * hidden_padded_ + j] = second_turned_[j * outputs_padded_ + i] = v;
      }
    }
  }

  std::size_t dims() const override { return outputs_; }
  std::size_t features() const override { return hidden_ * (inputs_ + outputs_); }
  std::size_t tile() const override { return kTile; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<DecoderWorkspace>(inputs_, hidden_padded_, outputs_padded_, features());
  }
  Guard guard() const override { return Guard::of(lattice_); }

  void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
             Accumulator& sums) const override {
    auto& s = dynamic_cast<DecoderWorkspace&>(workspace);
    run(x, n, s);
    for (std::size_t i = 0; i < n; ++i) {
      if (sums.is_class(y[i]) && gradient(i, s))
        sums.add({s.lattice.data(), 0, features()}, std::span(y + i, 1));
    }
  }

 private:
  /// Forward and back through the decoder. Each record's numbers are chains of their own (Kernels::product).
  void run(const float* x, std::size_t n, DecoderWorkspace& s) const {
    std::array<const float*, kTile> records;
    for (std::size_t i = 0; i < n; ++i) records[i] = x + i * outputs_;
    decoder_.encode(std::span(records).first(n), s.code.data() + 1, inputs_);
    std::fill(s.error.begin(), s.error.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      double* const z = s.code.data() + i * inputs_;
      double* const error = s.error.data() + i * outputs_padded_;
      decoder_.back(z + 1, error);
      for (std::size_t j = 0; j < outputs_; ++j) error[j] -= static_cast<double>(records[i][j]);
      z[0] = 1.0;
      for (std::size_t l = 1; l < inputs_; ++l) z[l] *= to_code_;
    }
    kernels_.product(s.code.data(), n, inputs_, first_.data(), hidden_padded_, s.active.data());
    for (std::size_t j = 0; j < n * hidden_padded_; ++j) s.active[j] = s.active[j] > 0 ? s.active[j] : 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      kernels_.product(s.active.data() + i * hidden_padded_, 1, hidden_padded_, second_turned_.data(),
                       outputs_padded_, s.base.data());
      double* const error = s.error.data() + i * outputs_padded_;
      for (std::size_t j = 0; j < outputs_padded_; ++j) error[j] += s.base[j];
    }
    kernels_.product(s.error.data(), n, outputs_padded_, second_.data(), hidden_padded_, s.behind.data());
    for (std::size_t j = 0; j < n * hidden_padded_; ++j) {
      if (!(s.active[j] > 0)) s.behind[j] = 0.0;
    }
  }

  static double squares(const double* v, std::size_t n) {
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += v[i] * v[i];
    return sum;
  }

  /// The integers of record i: two outer products, whose norm is known before they are made.
  /// @returns false  its numbers are none
  bool gradient(std::size_t i, DecoderWorkspace& s) const {
    const double *const z = s.code.data() + i * inputs_, *const active = s.active.data() + i * hidden_padded_,
                        *const behind = s.behind.data() + i * hidden_padded_,
                        *const error = s.error.data() + i * outputs_padded_;
    const double norm = std::sqrt(squares(behind, hidden_) * squares(z, inputs_) +
                                  squares(error, outputs_) * squares(active, hidden_));
    if (!(norm < HUGE_VAL)) return false;  // nor NaN
    const double factor = scale_ / std::max(1.0, norm);
    std::int32_t* out = s.lattice.data();
    for (std::size_t j = 0; j < hidden_; ++j, out += inputs_) outer_row(factor * behind[j], z, inputs_, out);
    for (std::size_t j = 0; j < outputs_; ++j, out += hidden_)
      outer_row(factor * error[j], active, hidden_, out);
    return true;
  }
  /// Toward zero. By the norm every product is a lattice value, but for what no record's numbers make.
  static void outer_row(double factor, const double* v, std::size_t n, std::int32_t* out) {
    for (std::size_t i = 0; i < n; ++i)
      out[i] = static_cast<std::int32_t>(std::clamp(factor * v[i], -0x1p30, 0x1p30));
  }

  Decoder decoder_;
  const Kernels& kernels_;
  std::size_t inputs_, hidden_, outputs_, hidden_padded_, outputs_padded_;
  Lattice lattice_;
  double to_code_, scale_;
  std::vector<double> first_, second_, second_turned_;  // A^t, V, V^t, with room for whole vectors
};

class DecoderStep final : public DecoderStepMap {
 public:
  DecoderStep() = default;
  DecoderStep(const DecoderStep& other)
      : DecoderStepMap(other),
        lift_name_(other.lift_name_),
        lift_(other.lift_ ? other.lift_->clone() : nullptr),
        components_(other.components_),
        dims_(other.dims_),
        hidden_(other.hidden_),
        rounds_(other.rounds_),
        seed_(other.seed_),
        rate_(other.rate_),
        momentum_(other.momentum_),
        digest_(other.digest_),
        axes_(other.axes_),
        weights_(other.weights_) {}

  std::string_view kind() const override { return "decoder-step"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<DecoderStep>(*this); }

  void declare(settings::Keys& keys) override {
    declare_lift(keys, LiftsOf::kAffine, "what makes a record's code; auto: what is natural for the records",
                 lift_name_, lift_);
    keys.count(
        "components", components_, 0, static_cast<std::int64_t>(kMaxOrder),
        "p: a record's code lies along so many principal components of the noisy second moments, which "
        "are released in a round of their own, before; 0: the lift makes it");
    keys.count("rounds", rounds_, 2, static_cast<std::int64_t>(kMostStepRounds),
               "T: steps of the decoder, each released in a round of its own under one charge");
    keys.count("hidden", hidden_, 1, static_cast<std::int64_t>(kMostHidden), "H, units of the decoder");
    keys.number("rate", rate_, kRates, "how far a step goes along the mean of the records' gradients");
    keys.number("momentum", momentum_, kMomenta, "the share of a step that the next one keeps");
    keys.count("seed", seed_, 0, INT64_MAX, "of the weights that the decoder begins with, public");
    if (lift_) lift_->declare(keys);
  }

  void tell_further_keys(
      const std::function<void(const std::string&, const std::vector<settings::Key>&)>& tell) const override {
    tell_lift_keys(LiftsOf::kAffine, tell);
  }

  void prepare(const schema::Schema& schema) override {
    if (!lift_ && components_ == 0) lift_ = natural_lift(LiftsOf::kAffine, schema);
  }

  void resolve(const schema::Schema& schema) override {
    prepare(schema);
    settings::Problems problems;
    dims_ = 0;
    if (components_ > 0) {
      if (lift_) throw ConfigError("a decoder's components lie along axes of their own: leave out lift");
      dims_ = LiftProblems().dims_of(schema);
    } else {
      if (!lift_ || lift_->affine() == nullptr)
        throw ConfigError("a decoder goes back from codes: name a lift that has a way back, such as " +
                          affine_lifts());
      lift_->resolve(schema);
      lift_name_ = lift_->kind();
    }
    const std::uint64_t most = kMostStepRounds + 1 - first_round();
    problems.unless(rounds_ >= 2 && rounds_ <= most,
                    fmt::format("the rounds are {}, not 2 to {}", rounds_, most));
    problems.unless(hidden_ >= 1 && hidden_ <= kMostHidden,
                    fmt::format("the hidden units are {}, not 1 to {}", hidden_, kMostHidden));
    problems.unless_in(kRates, "the rate", rate_);
    problems.unless_in(kMomenta, "the momentum", momentum_);
    problems.unless(dims() <= kMostNumbers && codes() <= kMaxOrder && features() <= kMostNumbers &&
                        components_ * dims() <= kMostNumbers,
                    fmt::format("its decoder has more than {} numbers: use fewer hidden units or {}",
                                kMostNumbers, components_ > 0 ? "components" : "coefficients"));
    problems.unless(codes() < dims(),
                    fmt::format("its codes have all numbers of a record, so that there is nothing to be "
                                "learned: use fewer {}",
                                components_ > 0 ? "components" : "coefficients, of images"));
    problems.throw_if_any("a decoder cannot be made");
    if (digest_.empty()) set(beginning(), axes_at_first());
  }

  nlohmann::json to_json() const override {
    nlohmann::json out{{"rounds", rounds_},     {"hidden", hidden_}, {"rate", rate_},
                       {"momentum", momentum_}, {"seed", seed_},     {kState, digest_}};
    if (components_ > 0) {
      out["components"] = components_;
    } else {
      out["lift"] = lift_->kind();
      out["lift_settings"] = lift_->to_json();
    }
    return out;
  }
  void read_json(const JsonFields& f) override {
    lift_.reset();
    components_ = 0;
    if (f.has("components")) {
      f.only({"components", "rounds", "hidden", "rate", "momentum", "seed", kState});
      components_ = f.integer("components", 1, kMaxOrder);
    } else {
      f.only({"lift", "lift_settings", "rounds", "hidden", "rate", "momentum", "seed", kState});
      lift_ = read_lift(f);
      lift_name_ = lift_->kind();
    }
    rounds_ = f.integer("rounds", 2, kMostStepRounds);
    hidden_ = f.integer("hidden", 1, kMostHidden);
    rate_ = f.number("rate");
    momentum_ = f.number("momentum");
    seed_ = f.integer("seed", 0, INT64_MAX);
    digest_ = f.hex(kState, 64);
    weights_.reset();
    axes_.reset();
  }

  std::size_t dims() const override { return lift_ ? lift_->dims() : dims_; }
  std::size_t features() const override { return hidden_ * (codes() + 1 + dims()); }
  BlockBound bound() const override {
    return {.norm = 1.0,
            .nonnegative_kernel = false,
            .theorem =
                "A record's gradient is divided by its norm where that is above 1, so that its norm is at "
                "most 1 whatever the decoder is; enforced per record in integers: squared norm at most "
                "2^(2k)."};
  }
  PlainFacts plain_facts(const Lattice& lattice) const override {
    const long double codes = lift_ ? lift_->plain_coefficients() : static_cast<long double>(components_);
    const long double count =
        static_cast<long double>(hidden_) * (codes + 1 + static_cast<long double>(dims()));
    return {1, false, {{count, std::pow(2.0L, lattice.bits)}}};
  }
  std::string outlook(double noise, double) const override {
    return fmt::format(
        "{} rounds, charged together. The noise in each one's mean gradient has norm {:.2g}; records that "
        "all agreed would make 1, and they agree ever less: far above 1 nothing is learned",
        rounds_, noise * std::sqrt(static_cast<double>(features())));
  }

  MapCost cost() const override {
    const auto all = static_cast<double>(features()), second = static_cast<double>(hidden_ * dims());
    const double encoding = lift_ ? lift_->flops_per_record() : 2.0 * numbers_in_map();
    return {2.0 * all + 2.0 * second + all + encoding,
            16 * features() + 8 * static_cast<std::uint64_t>(numbers_in_map()),
            4 * features() + 8 * kTile * (2 * hidden_ + 2 * dims() + codes())};
  }
  double numbers_in_map() const override {
    return lift_ ? lift_->numbers_in_map() : static_cast<double>(dims_ * (components_ + 1));
  }
  std::string hash() const override {
    Sha256 hash;
    hash.update(PublicBytes(to_json().dump() + "\n"));
    const std::vector<double> lift = lift_ ? built()->numbers() : std::vector<double>();
    hash.update(PublicBytes(std::as_bytes(std::span(lift))));
    return to_hex(hash.digest());
  }

  std::unique_ptr<FeatureMap> shrunk(std::size_t features) const override {
    auto out = std::make_unique<DecoderStep>(*this);
    const std::size_t each = this->features() / hidden_;
    out->hidden_ = std::clamp<std::uint64_t>(features / each, 1, hidden_);
    if (out->hidden_ != hidden_) out->set(out->beginning(), out->axes_at_first());
    return out;
  }

  const SteppedFeatures* steps() const override { return this; }
  std::size_t rounds() const override { return rounds_; }
  std::size_t axes() const override { return components_; }
  std::shared_ptr<const PrincipalAxes> known_axes() const override {
    const bool found = axes_ && std::ranges::any_of(axes_->numbers(), [](float v) { return v != 0.0f; });
    return found ? axes_ : nullptr;  // not those before anything is released
  }
  std::shared_ptr<const FeatureMap> after(const Before& before) const override {
    require((before.axes ? before.axes->count() : 0) == components_ &&
                (!before.axes || before.axes->dims() == dims()),
            "a decoder's step goes by other axes than it needs");
    // Sums, products and roundings of IEEE numbers alone, one after the other.
    const DefaultFloatEnvironment environment;
    const std::vector<float> begun = beginning();
    std::vector<double> weights(begun.begin(), begun.end()), speed(begun.size(), 0.0);
    for (const std::vector<double>& mean : before.means) {
      require(mean.size() == weights.size(), "a decoder's step has another number of numbers than it");
      for (std::size_t i = 0; i < mean.size(); ++i) {
        speed[i] = momentum_ * speed[i] + mean[i];
        weights[i] -= rate_ * speed[i];
      }
    }
    auto out = std::make_shared<DecoderStep>(*this);
    out->set(std::vector<float>(weights.begin(), weights.end()), before.axes);
    return out;
  }
  std::string state() const override {
    const State at = known();
    return state_of(*at.weights, at.axes.get());
  }
  std::shared_ptr<const FeatureMap> with_state(const std::string& bytes) const override {
    const std::size_t of_axes = components_ > 0 ? (components_ + 1) * dims() : 0;
    if (bytes.size() != (of_axes + features()) * sizeof(float) || digest_of(bytes) != digest_)
      throw ConfigError("its state is another than the one that is stated");
    std::vector<float> axes(of_axes), weights(features());
    if (of_axes > 0) std::memcpy(axes.data(), bytes.data(), of_axes * sizeof(float));
    std::memcpy(weights.data(), bytes.data() + of_axes * sizeof(float), weights.size() * sizeof(float));
    auto out = std::make_shared<DecoderStep>(*this);
    out->set(std::move(weights),
             of_axes > 0 ? std::make_shared<const PrincipalAxes>(dims(), std::move(axes)) : nullptr);
    return out;
  }
  Decoder decoder() const override {
    const State at = known();
    return {lift_ ? built() : nullptr, at.axes, hidden_, *at.weights};
  }

  std::unique_ptr<Block> make_block(const Lattice& lattice) const override {
    features::require_no_overflow(0, lattice);
    return std::make_unique<DecoderStepBlock>(decoder(), lattice);
  }

 private:
  static std::string digest_of(std::string_view bytes) {
    return to_hex(sha256(PublicBytes(std::as_bytes(std::span(bytes)))));
  }
  /// What a round goes by.
  struct State {
    std::shared_ptr<const std::vector<float>> weights;
    std::shared_ptr<const PrincipalAxes> axes;  ///< null: the lift makes codes
  };
  /// As bytes: the axes, if it has any, then the weights.
  static std::string state_of(std::span<const float> weights, const PrincipalAxes* axes) {
    std::string out;
    const auto append = [&](std::span<const float> numbers) {
      out.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
    };
    if (axes != nullptr) append(axes->numbers());
    append(weights);
    return out;
  }
  std::size_t codes() const { return lift_ ? lift_->coefficients() : components_; }
  void set(std::vector<float> weights, std::shared_ptr<const PrincipalAxes> axes) {
    digest_ = digest_of(state_of(weights, axes.get()));
    weights_ = std::make_shared<const std::vector<float>>(std::move(weights));
    axes_ = std::move(axes);
  }
  /// A is drawn by the seed, V is 0: at first the decoder is the codes' own way back.
  std::vector<float> beginning() const {
    std::vector<float> out(features(), 0.0f);
    const CounterStream stream(seed_, Stream::kParameters);
    for (std::size_t i = 0; i < hidden_ * (codes() + 1); ++i)
      out[i] = static_cast<float>(kWidth * (2.0 * stream.uniform(i) - 1.0));
    return out;
  }
  /// Before anything is released: zeros.
  std::shared_ptr<const PrincipalAxes> axes_at_first() const {
    if (components_ == 0) return nullptr;
    return std::make_shared<const PrincipalAxes>(dims(), std::vector<float>((components_ + 1) * dims()));
  }
  /// A release's map knows its state only where that is the one it begins with.
  State known() const {
    if (weights_) return {weights_, axes_};
    DecoderStep begun(*this);
    begun.set(beginning(), axes_at_first());
    require(begun.digest_ == digest_, "a decoder's step was to be taken at weights that nobody knows");
    return {begun.weights_, begun.axes_};
  }
  std::shared_ptr<const Lift> built() const {
    std::shared_ptr<Lift> lift = lift_->clone();
    lift->build();
    return lift;
  }

  std::string lift_name_ = kLiftLeftOpen;
  std::unique_ptr<Lift> lift_;    ///< null: left open, or there are components
  std::uint64_t components_ = 0;  ///< p; 0: the lift makes codes
  std::size_t dims_ = 0;          ///< d, where the lift does not say it
  std::uint64_t hidden_ = 64, rounds_ = 20, seed_ = 1;
  double rate_ = 1.0, momentum_ = 0.8;
  std::string digest_;                                 ///< SHA-256 of the state; empty: not resolved yet
  std::shared_ptr<const PrincipalAxes> axes_;          ///< null: not known, or the lift makes codes
  std::shared_ptr<const std::vector<float>> weights_;  ///< null: not known
};

}  // namespace

double Decoder::unit() const { return lift ? lift->default_offset() : default_offset_of(outputs()); }

void Decoder::encode(std::span<const float* const> records, double* u, std::size_t stride) const {
  lift ? lift->forward_all(records, u, stride) : axes->forward_all(records, u, stride);
}

void Decoder::back(const double* u, double* x) const { lift ? lift->affine()->back(u, x) : axes->back(u, x); }

void Decoder::redraw(const float* x, float* out) const {
  const std::size_t q = inputs(), d = outputs();
  const double to_code = 1.0 / unit();
  std::vector<double> u(q - 1), record(d), active(hidden);
  encode(std::span(&x, 1), u.data(), u.size());
  back(u.data(), record.data());
  for (std::size_t j = 0; j < hidden; ++j) {
    const float* const a = first() + j * q;
    double sum = static_cast<double>(a[0]);
    for (std::size_t l = 0; l < u.size(); ++l) sum += static_cast<double>(a[l + 1]) * (to_code * u[l]);
    active[j] = std::max(sum, 0.0);
  }
  for (std::size_t i = 0; i < d; ++i) {
    const float* const v = second() + i * hidden;
    for (std::size_t j = 0; j < hidden; ++j) record[i] += static_cast<double>(v[j]) * active[j];
    out[i] = static_cast<float>(record[i]);
  }
}

MapKind decoder_step_map() {
  return {"decoder-step",
          "rounds of gradients, by which a decoder of codes is learned (DP-MERF's autoencoder)",
          [] { return std::unique_ptr<FeatureMap>(std::make_unique<DecoderStep>()); }};
}

}  // namespace muffle::features
