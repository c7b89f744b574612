#include "nccl_double.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdlib>
#include <cstring>

namespace muffle::test {

NcclDouble& nccl_double() {
  static NcclDouble state;
  return state;
}

}  // namespace muffle::test

namespace {

auto& state() { return muffle::test::nccl_double(); }
int anything = 0;  ///< what handles point at

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error of the double"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorDouble"; }
cudaError_t cudaGetDeviceCount(int* n) { return *n = state().gpus, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  *p = {};
  p->uuid.bytes[0] = static_cast<char>(device);
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** p, size_t bytes) { return *p = std::malloc(bytes), cudaSuccess; }
cudaError_t cudaFree(void* p) { return std::free(p), cudaSuccess; }
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return std::memcpy(to, from, bytes), cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { return *s = nullptr, cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return state().work_ends ? cudaSuccess : cudaErrorNotReady; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = state().capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  ++state().events;
  return *e = reinterpret_cast<cudaEvent_t>(&anything), cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return ++state().recorded, cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  if (!state().events_happen) return cudaErrorNotReady;
  return *ms = muffle::test::kMilliseconds, cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return --state().events, cudaSuccess; }

ncclResult_t ncclGetVersion(int* version) { return *version = 22809, ncclSuccess; }
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return state().makes_ids ? ncclSuccess : ncclSystemError;
}
const char* ncclGetErrorString(ncclResult_t) { return "an error of the double"; }
const char* ncclGetLastError(ncclComm_t) { return ""; }
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int, ncclUniqueId, int rank, ncclConfig_t*) {
  *comm = reinterpret_cast<ncclComm_t>(&anything);
  if (state().in_setup) state().in_setup(rank);
  return state().finalizes ? ncclSuccess : ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* health) {
  const bool ending = !state().finalizes || state().captured > 0;
  *health = state().fails_later ? ncclRemoteError : ending ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                           cudaStream_t) {
  if (state().in_sum) state().in_sum();
  return ncclSuccess;
}
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
  return ncclSuccess;
}
// From here on NCCL would "keep polling until all graphs referencing us die" (commDestroySync in its
// init.cc).
ncclResult_t ncclCommFinalize(ncclComm_t) {
  return state().finalizes && state().captured == 0 ? ncclSuccess : ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t) {
  ++state().destroyed;
  state().graphs_at_end = state().captured.load();
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t) {
  ++state().aborted;
  state().graphs_at_end = state().captured.load();
  return ncclSuccess;
}

}  // extern "C"
