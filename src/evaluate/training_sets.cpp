#include <torch/torch.h>

#include <memory>
#include <utility>

#include "labelled_records.hpp"
#include "muffle/evaluate/classifiers.hpp"

namespace muffle::evaluate {
namespace {

/// A tensor of these numbers, which it owns from now on.
template <class T>
torch::Tensor tensor_of(std::vector<T> numbers, std::vector<std::int64_t> sizes, torch::ScalarType type) {
  const auto owner = std::make_shared<std::vector<T>>(std::move(numbers));
  return torch::from_blob(
      owner->data(), sizes, [owner](void*) {}, type);
}

TrainingSet as_tensors(LabelledRecords records, std::size_t dims) {
  const auto n = static_cast<std::int64_t>(records.size());
  return {tensor_of(std::move(records.x), {n, static_cast<std::int64_t>(dims)}, torch::kFloat32),
          tensor_of(std::move(records.y), {n}, torch::kInt64)};
}

}  // namespace

TrainingSet read_synthetic(const std::filesystem::path& path, const schema::Schema& schema,
                           std::uint64_t limit, const Heartbeat& heartbeat) {
  return as_tensors(read_samples(path, schema, limit, heartbeat), schema.dims());
}

TrainingSet read_real(const data::DataSpec& spec, std::uint64_t limit, const Heartbeat& heartbeat) {
  return as_tensors(read_real_records(spec, limit, heartbeat), spec.schema.dims());
}

}  // namespace muffle::evaluate
