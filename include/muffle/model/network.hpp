#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "muffle/model/generator_kind.hpp"

namespace muffle::model {

class Generator;
class TensorCollective;

/// Trainable numbers of a network, and the features that its batch norms average, at most 2^64 - 1 each.
struct NetworkSize {
  std::uint64_t parameters = 0;
  std::uint64_t normed_features = 0, norms = 0;
};

/// What all networks have in common: code + one-hot label -> hidden layers (linear, batch norm, ReLU) ->
/// records. A kind says what follows the hidden layers. This is described without LibTorch; build() and
/// open() need it (generator.hpp), and so does the kind's line in network_kinds.inc.
class NetworkSettings : public GeneratorSettings {
 public:
  std::size_t code = 5;                  ///< length of the latent code z ~ N(0, I)
  std::vector<std::size_t> hidden{200};  ///< hidden widths (fully connected part)
  /// A network beside the closed form of an affine lift (moments_model.hpp): records are clip(closed form +
  /// network), and the network starts at 0. `code` is then n, the closed form's own normal numbers.
  bool residual = false;
  double plain_share = 0.5;  ///< of the closed form beside it

  const NetworkSettings* network() const final { return this; }
  /// In training it makes relaxed records of a table (features::MixedLayout), which maps with such twins
  /// take.
  virtual bool makes_relaxed() const { return false; }
  /// Of the codes, the first so many are normal numbers, which samples that lie farther away stretch
  /// (Departure::spread).
  virtual std::size_t normal_codes() const { return code; }
  /// The same network beside a closed form of so many coefficients.
  std::shared_ptr<const NetworkSettings> beside(std::size_t coefficients) const;

  void declare(settings::Keys& keys) override;
  void problems(const schema::Schema* schema, settings::Problems& problems) const final;
  nlohmann::json to_json() const override;
  void read_json(const JsonFields& fields) override;
  double numbers_at_once(const schema::Schema& schema) const override;
  std::unique_ptr<Sampler> open(const ModelInfo& info, const JsonFields& description,
                                std::span<const std::byte> payload) const override;
  std::vector<NamedArray> arrays(const ModelInfo& info, const JsonFields& description,
                                 std::span<const std::byte> payload) const final;

  /// @throws ConfigError  problems() has some.
  NetworkSize size(const schema::Schema& schema) const;
  /// With parameters that are a pure function of (settings, schema, seed) (Philox; not torch's generator).
  /// Batch norms average over all ranks of `collective` (so that K ranks of batch b equal one of K b); null:
  /// this process alone.
  /// @throws ConfigError  problems() has some.
  std::shared_ptr<Generator> build(const schema::Schema& schema, std::uint64_t seed,
                                   std::shared_ptr<TensorCollective> collective) const;

 protected:
  /// Counts layers. In floating point: the product of the sizes in a lying file may pass 64 bits.
  struct Count {
    double width = 0, parameters = 0, normed_features = 0, norms = 0;
    /// A linear layer (without a bias: the norm subtracts it again) and its batch norm.
    void add_normed(double features);
  };
  /// Whether there must be a hidden layer.
  virtual bool needs_hidden() const { return true; }
  /// What is wrong with the kind's own settings.
  virtual void own_problems(const schema::Schema*, settings::Problems&) const {}
  /// What follows the hidden layers, of width count.width.
  virtual void add_last(const schema::Schema& schema, Count& count) const = 0;
  /// Numbers of images and channels on the way, beside those of the hidden layers.
  virtual double last_numbers_at_once(const schema::Schema&) const { return 0; }

 private:
  NetworkSize counted(const schema::Schema& schema) const;
};

}  // namespace muffle::model
