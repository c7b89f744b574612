#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../core/cuda_check.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/features/cuda_block.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {
namespace {

using Wide = unsigned long long;

#define MUFFLE_DEVICE __device__ __forceinline__
#define MUFFLE_KERNEL __global__ __launch_bounds__(256)
#define MUFFLE_SHARED __shared__
#define MUFFLE_UNROLL _Pragma("unroll")
#include "rff_cuda_kernels.cuh"

/// Records at a time: enough blocks to fill a GPU, and few enough that a tile's records and features fit, in
/// device memory and, as pinned memory holds the records too, on the host.
constexpr std::size_t kMostRecords = 4096, kFeatureBytes = std::size_t{256} << 20,
                      kRecordBytes = std::size_t{128} << 20;
/// While one thread's tile is computed, the others' are read and copied.
constexpr int kThreadsOfUse = 4;

std::size_t tile_of(const RffSpec& spec) {
  const std::size_t fit =
      std::min(kFeatureBytes / (std::max<std::size_t>(1, spec.features) * sizeof(std::int32_t)),
               kRecordBytes / (std::max<std::size_t>(1, spec.dims) * sizeof(float)));
  return std::clamp<std::size_t>(fit, 1, kMostRecords);
}

const std::filesystem::path kKernels = "the embedding's kernels";  ///< for the watchdog

std::size_t padded(std::size_t n) { return (n + kTileSide - 1) / kTileSide * kTileSide; }

int blocks_for(std::size_t n, int per_block) {
  return static_cast<int>((n + static_cast<std::size_t>(per_block) - 1) /
                          static_cast<std::size_t>(per_block));
}

/// Device memory, zero at first, that is overwritten with zeros before it is given back. The device must be
/// current at both ends.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()),
               "cudaMalloc of " + std::to_string(bytes()) + " bytes");
    cudaError_t code = cudaMemset(data_, 0, bytes());
    // On the default stream, for which streams of our own do not wait: or it could come after their writes.
    if (code == cudaSuccess) code = cudaDeviceSynchronize();
    if (code != cudaSuccess) {
      static_cast<void>(cudaFree(data_));
      check_cuda(code, "clearing memory");
    }
  }
  ~DeviceArray() {
    // After an error of the device these fail; the driver clears memory before another process gets it.
    static_cast<void>(cudaMemset(data_, 0, bytes()));
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaFree(data_));
  }
  DeviceArray& operator=(DeviceArray&&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return size_ * sizeof(T) + (size_ == 0 ? 1 : 0); }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// Pinned host memory, likewise.
template <typename T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t size) : size_(size) {
    check_cuda(cudaMallocHost(reinterpret_cast<void**>(&data_), bytes()),
               "cudaMallocHost of " + std::to_string(bytes()) + " bytes");
  }
  ~PinnedArray() {
    explicit_bzero(data_, bytes());
    static_cast<void>(cudaFreeHost(data_));
  }
  PinnedArray& operator=(PinnedArray&&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return size_ * sizeof(T) + (size_ == 0 ? 1 : 0); }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// A stream that ends with the workspace.
class Stream {
 public:
  Stream() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() {
    static_cast<void>(cudaStreamSynchronize(stream_));
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  Stream& operator=(Stream&&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What the device holds of one tile. The stream is declared last, so that it ends first.
struct Buffers {
  Buffers(std::size_t tile, std::size_t dims, std::size_t features, std::size_t sums)
      : records(tile * dims * sizeof(float)),
        unit(std::tuple_size_v<schema::ByteScale>),
        lattice(tile * features),
        labels(tile),
        order(tile),
        norms(tile),
        refused(tile),
        sums(sums),
        host_records(tile * dims * sizeof(float)),
        host_labels(2 * tile),
        host_refused(tile),
        host_sums(sums) {}
  DeviceArray<std::uint8_t> records;  ///< float32, or bytes
  DeviceArray<float> unit;            ///< what the bytes stand for
  DeviceArray<std::int32_t> lattice, labels, order;
  DeviceArray<Wide> norms;
  DeviceArray<std::uint32_t> refused;
  DeviceArray<Wide> sums;
  PinnedArray<std::uint8_t> host_records;
  PinnedArray<std::int32_t> host_labels;  ///< labels, then the order
  PinnedArray<std::uint32_t> host_refused;
  PinnedArray<Wide> host_sums;
  Stream stream;
};

struct CudaWorkspace final : Workspace {
  explicit CudaWorkspace(int device_number) : device(device_number) {}
  ~CudaWorkspace() override {
    static_cast<void>(cudaSetDevice(device));
    buffers.reset();
  }
  int device;
  std::size_t sums = 0;
  std::unique_ptr<Buffers> buffers;  ///< made at the first tile, which tells how many classes there are
};

class RffCudaBlock final : public Block {
 public:
  RffCudaBlock(const RffSpec& spec, const Lattice& lattice, int device)
      : spec_(spec),
        lattice_(lattice),
        device_(device),
        half_(spec.features / 2),
        stride_(padded(half_)),
        tile_(tile_of(spec)),
        scale_(rff_lattice_scale(spec.features, lattice)) {
    const std::vector<float> omega = rff_frequencies(spec);
    std::vector<float> columns(spec.dims * stride_, 0.0f);
    for (std::size_t j = 0; j < half_; ++j) {
      for (std::size_t c = 0; c < spec.dims; ++c) columns[c * stride_ + j] = 4.0f * omega[j * spec.dims + c];
    }
    use_device(device_);
    frequencies_ = std::make_unique<DeviceArray<float>>(columns.size());
    check_cuda(cudaMemcpy(frequencies_->data(), columns.data(), columns.size() * sizeof(float),
                          cudaMemcpyHostToDevice),
               "copying the frequencies");
    check_cuda(cudaDeviceSynchronize(), "copying the frequencies");  // it may return before its last stretch
  }
  ~RffCudaBlock() override {
    static_cast<void>(cudaSetDevice(device_));
    frequencies_.reset();
  }

  std::size_t dims() const override { return spec_.dims; }
  std::size_t features() const override { return spec_.features; }
  std::size_t tile() const override { return tile_; }
  int useful_threads() const override { return kThreadsOfUse; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<CudaWorkspace>(device_);
  }

  Guard guard() const override { return Guard::of(lattice_); }
  bool takes_bytes() const override { return true; }
  void embed(const float* x, const std::int32_t* y, std::size_t n, Workspace& workspace,
             Accumulator& sums) const override {
    embed(x, nullptr, y, n, workspace, sums);
  }
  void embed_bytes(const std::uint8_t* x, const schema::ByteScale& scale, const std::int32_t* y,
                   std::size_t n, Workspace& workspace, Accumulator& sums) const override {
    embed(x, &scale, y, n, workspace, sums);
  }

 private:
  /// @param x  n x dims numbers: float32, or bytes that `unit` scales
  void embed(const void* x, const schema::ByteScale* unit, const std::int32_t* y, std::size_t n,
             Workspace& workspace, Accumulator& out) const {
    const std::size_t numbers = out.classes() * spec_.features;
    if (n == 0) return;
    auto& scratch = dynamic_cast<CudaWorkspace&>(workspace);
    use_device(device_);
    if (!scratch.buffers || scratch.sums != numbers) {
      scratch.buffers.reset();
      scratch.buffers = std::make_unique<Buffers>(tile_, spec_.dims, spec_.features, numbers);
      scratch.sums = numbers;
    }
    Buffers& b = *scratch.buffers;
    std::memcpy(b.host_records.data(), x, n * spec_.dims * (unit != nullptr ? 1 : sizeof(float)));
    const std::size_t count = sort_by_label(y, n, out.classes(), b);
    enqueue(n, count, unit, b);
    check_cuda(cudaGetLastError(), "starting the kernels");
    {
      const WatchedStep step("waiting for", kKernels);
      check_cuda(cudaStreamSynchronize(b.stream.get()), "the kernels");
    }

    std::uint64_t added = 0;
    for (std::size_t k = 0; k < count; ++k)
      added += b.host_refused.data()[b.host_labels.data()[tile_ + k]] == 0 ? 1 : 0;
    out.add_from_device({b.host_sums.data(), numbers}, added);
  }

  /// Fills host_labels; @returns how many records have a class.
  std::size_t sort_by_label(const std::int32_t* y, std::size_t n, std::size_t classes, Buffers& b) const {
    std::int32_t* const labels = b.host_labels.data();
    std::int32_t* const order = labels + tile_;
    std::copy_n(y, n, labels);
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (y[i] >= 0 && static_cast<std::size_t>(y[i]) < classes)
        order[count++] = static_cast<std::int32_t>(i);
    }
    std::stable_sort(order, order + count, [&](std::int32_t a, std::int32_t c) { return y[a] < y[c]; });
    return count;
  }

  void enqueue(std::size_t n, std::size_t count, const schema::ByteScale* unit, Buffers& b) const {
    const cudaStream_t stream = b.stream.get();
    const auto send = [&](auto& to, const auto* from, std::size_t numbers) {
      check_cuda(cudaMemcpyAsync(to.data(), from, numbers * sizeof *from, cudaMemcpyHostToDevice, stream),
                 "copying a tile to the GPU");
    };
    send(b.records, b.host_records.data(), n * spec_.dims * (unit != nullptr ? 1 : sizeof(float)));
    if (unit != nullptr) send(b.unit, unit->data(), unit->size());
    send(b.labels, b.host_labels.data(), n);
    send(b.order, b.host_labels.data() + tile_, count);
    for (const auto& [data, bytes] : {std::pair<void*, std::size_t>{b.norms.data(), b.norms.bytes()},
                                      {b.refused.data(), b.refused.bytes()},
                                      {b.sums.data(), b.sums.bytes()}}) {
      check_cuda(cudaMemsetAsync(data, 0, bytes, stream), "cudaMemsetAsync");
    }
    rff_features<<<dim3(static_cast<unsigned>(stride_ / kTileSide),
                        static_cast<unsigned>(blocks_for(n, kTileSide))),
                   kThreads, 0, stream>>>(
        frequencies_->data(), static_cast<int>(stride_), static_cast<int>(half_),
        reinterpret_cast<const float*>(b.records.data()), unit != nullptr ? b.records.data() : nullptr,
        b.unit.data(), static_cast<int>(n), static_cast<int>(spec_.dims), scale_, lattice_.bits,
        lattice_.max_squared_norm(), b.lattice.data(), b.norms.data(), b.refused.data());
    if (count > 0)
      add_rows<<<dim3(static_cast<unsigned>(blocks_for(spec_.features, kThreads)),
                      static_cast<unsigned>(blocks_for(count, kRowsOfSum))),
                 kThreads, 0, stream>>>(b.order.data(), static_cast<int>(count), b.labels.data(),
                                        b.refused.data(), b.lattice.data(), static_cast<int>(spec_.features),
                                        b.sums.data());
    check_cuda(cudaMemcpyAsync(b.host_refused.data(), b.refused.data(), n * sizeof(std::uint32_t),
                               cudaMemcpyDeviceToHost, stream),
               "copying flags from the GPU");
    check_cuda(
        cudaMemcpyAsync(b.host_sums.data(), b.sums.data(), b.sums.bytes(), cudaMemcpyDeviceToHost, stream),
        "copying sums from the GPU");
  }

  RffSpec spec_;
  Lattice lattice_;
  int device_;
  std::size_t half_;    ///< frequencies
  std::size_t stride_;  ///< the same, filled up to whole tiles
  std::size_t tile_;
  float scale_;
  std::unique_ptr<DeviceArray<float>> frequencies_;  ///< dims x stride, quarter turns; public
};

}  // namespace

CudaKind rff_cuda_block() {
  return {"rff", [](const FeatureMap& map, const Lattice& lattice, int device) {
            require_no_overflow(0, lattice);
            const RffSpec& spec = dynamic_cast<const RffMap&>(map).spec();
            return std::unique_ptr<Block>(std::make_unique<RffCudaBlock>(spec, lattice, device));
          }};
}

}  // namespace muffle::features
