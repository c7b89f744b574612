#pragma once

#include <string>

#include "muffle/data/source.hpp"

namespace muffle::test {

/// FashionMNIST as Debian ships it (dataset-fashion-mnist). Needs the CMake target muffle_fashion_mnist.
/// @param part  "train" (60,000 records) or "t10k" (10,000)
inline data::DataSpec fashion_mnist(const std::string& part = "train") {
  return {.dir = MUFFLE_FASHION_MNIST_DIR,
          .features = part + "-images-idx3-ubyte.gz",
          .labels = part + "-labels-idx1-ubyte.gz",
          .records = part == "train" ? 60000u : 10000u,
          .schema = {{1, 28, 28}, 10}};
}

/// The first n training records.
inline data::Batch fashion_mnist_records(std::size_t n) {
  const auto source = data::open_shard(fashion_mnist(), 0, 1);
  data::Batch batch;
  source->next(n, batch);
  return batch;
}

}  // namespace muffle::test
