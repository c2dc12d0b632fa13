// What LibTorch has and its Rust binding lacks, as plain C. Built from LibTorch's device-neutral headers alone: no
// CUDA toolkit is needed, and the same object runs where CUDA was never loaded.
//
// Every function catches every exception. Those that can fail return 0 or an IL_* code, and the message waits in
// il_last_error() of the same thread.

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include "shim.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

using infralab::guarded;
using infralab::kOk;
using infralab::last_error;

thread_local std::string infralab::last_error;

namespace {

c10::DeviceAllocator* cuda_allocator() {
  return c10::getDeviceAllocator(c10::kCUDA);
}

// Keeps what LibTorch would have printed: why a backend was passed over is said in warnings alone.
struct Warnings final : c10::WarningHandler {
  std::string text;
  void process(const c10::Warning& warning) override {
    text += warning.msg();
    text += '\n';
  }
};

// Counts the bytes that tensors on the CPU hold, as the CUDA allocator does for its device. A block is one header
// with its size, then the data; the header keeps the data as aligned as LibTorch wants it.
struct CountingAllocator final : c10::Allocator {
  static constexpr size_t kHeader = 64;
  static std::atomic<int64_t> current;
  static std::atomic<int64_t> peak;
  static c10::Allocator* inner;

  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(c10::kCPU);
    if (bytes == 0) {
      return {nullptr, nullptr, &release, device};
    }
    auto* block = static_cast<char*>(inner->raw_allocate(bytes + kHeader));
    *reinterpret_cast<size_t*>(block) = bytes;
    const int64_t now = current.fetch_add(static_cast<int64_t>(bytes)) + static_cast<int64_t>(bytes);
    int64_t seen = peak.load();
    while (now > seen && !peak.compare_exchange_weak(seen, now)) {
    }
    char* data = block + kHeader;
    return {data, data, &release, device};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return &release;
  }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  static void release(void* data) {
    if (data == nullptr) {
      return;
    }
    char* block = static_cast<char*>(data) - kHeader;
    current.fetch_sub(static_cast<int64_t>(*reinterpret_cast<size_t*>(block)));
    inner->raw_deallocate(block);
  }
};

std::atomic<int64_t> CountingAllocator::current{0};
std::atomic<int64_t> CountingAllocator::peak{0};
c10::Allocator* CountingAllocator::inner = nullptr;

} // namespace

extern "C" {

struct il_memory {
  int64_t allocated;
  int64_t allocated_peak;
  int64_t reserved;
  int64_t reserved_peak;
};

const char* il_last_error() {
  return last_error.c_str();
}

const char* il_libtorch_version() {
  return TORCH_VERSION;
}

// 0 where CUDA is not loaded or has no cuDNN.
int64_t il_cudnn_version() {
  int64_t version = 0;
  guarded([&] {
    const auto& hooks = at::detail::getCUDAHooks();
    version = hooks.hasCuDNN() ? hooks.versionRuntimeCuDNN() : 0;
  });
  return version;
}

// CUDA version that LibTorch was built for, 13000 for 13.0; 0 where CUDA is not loaded.
int64_t il_cudart_version() {
  int64_t version = 0;
  guarded([&] {
    const auto& hooks = at::detail::getCUDAHooks();
    version = hooks.hasCUDART() ? hooks.versionCUDART() : 0;
  });
  return version;
}

int il_cuda_device_count() {
  int count = 0;
  guarded([&] { count = at::detail::getCUDAHooks().getNumGPUs(); });
  return count;
}

// Starts CUDA and makes `index` the device of the calling thread.
int il_cuda_use(int index) {
  return guarded([&] {
    at::globalContext().lazyInitDevice(c10::kCUDA);
    const c10::impl::VirtualGuardImpl device(c10::kCUDA);
    device.setDevice(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index)));
  });
}

int il_cuda_memory_info(int index, uint64_t* free_bytes, uint64_t* total_bytes) {
  return guarded([&] {
    const auto info = cuda_allocator()->getMemoryInfo(static_cast<c10::DeviceIndex>(index));
    *free_bytes = info.first;
    *total_bytes = info.second;
  });
}

int il_cuda_memory(int index, il_memory* out) {
  return guarded([&] {
    const auto stats = cuda_allocator()->getDeviceStats(static_cast<c10::DeviceIndex>(index));
    const auto total = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    out->allocated = stats.allocated_bytes[total].current;
    out->allocated_peak = stats.allocated_bytes[total].peak;
    out->reserved = stats.reserved_bytes[total].current;
    out->reserved_peak = stats.reserved_bytes[total].peak;
  });
}

// Bytes that were asked for: what is allocated beyond them is the allocator's rounding.
int il_cuda_requested(int index, int64_t* current, int64_t* peak) {
  return guarded([&] {
    const auto stats = cuda_allocator()->getDeviceStats(static_cast<c10::DeviceIndex>(index));
    const auto total = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    *current = stats.requested_bytes[total].current;
    *peak = stats.requested_bytes[total].peak;
  });
}

int il_cuda_reset_peak(int index) {
  return guarded([&] { cuda_allocator()->resetPeakStats(static_cast<c10::DeviceIndex>(index)); });
}

int il_cuda_empty_cache() {
  return guarded([&] { cuda_allocator()->emptyCache(); });
}

int il_cuda_synchronize(int index) {
  return guarded([&] {
    const c10::impl::VirtualGuardImpl device(c10::kCUDA);
    device.synchronizeDevice(static_cast<c10::DeviceIndex>(index));
  });
}

// Once, before the first tensor.
int il_cpu_count_bytes() {
  return guarded([&] {
    static CountingAllocator counting;
    if (CountingAllocator::inner == nullptr) {
      CountingAllocator::inner = c10::GetCPUAllocator();
      c10::SetCPUAllocator(&counting, /*priority=*/255);
    }
  });
}

void il_cpu_memory(il_memory* out) {
  out->allocated = CountingAllocator::current.load();
  out->allocated_peak = CountingAllocator::peak.load();
  out->reserved = out->allocated;
  out->reserved_peak = out->allocated_peak;
}

void il_cpu_reset_peak() {
  CountingAllocator::peak.store(CountingAllocator::current.load());
}

int il_event_new(void** out) {
  return guarded([&] { *out = new c10::Event(c10::kCUDA, c10::EventFlag::BACKEND_DEFAULT); });
}

void il_event_delete(void* event) {
  delete static_cast<c10::Event*>(event);
}

// On the stream that the calling thread uses on device `index`.
int il_event_record(void* event, int index) {
  return guarded([&] {
    const c10::impl::VirtualGuardImpl device(c10::kCUDA);
    const auto stream = device.getStream(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index)));
    static_cast<c10::Event*>(event)->record(stream);
  });
}

int il_event_synchronize(void* event) {
  return guarded([&] { static_cast<c10::Event*>(event)->synchronize(); });
}

int il_event_elapsed_ms(void* start, void* end, double* ms) {
  return guarded([&] { *ms = static_cast<c10::Event*>(start)->elapsedTime(*static_cast<c10::Event*>(end)); });
}

// Autocast to bf16 for the calling thread, with its cache of cast weights.
int il_autocast_enter(bool cuda) {
  return guarded([&] {
    const auto device = cuda ? at::kCUDA : at::kCPU;
    at::autocast::set_autocast_dtype(device, at::kBFloat16);
    at::autocast::set_autocast_cache_enabled(true);
    at::autocast::set_autocast_enabled(device, true);
    at::autocast::increment_nesting();
  });
}

int il_autocast_leave(bool cuda) {
  return guarded([&] {
    if (at::autocast::decrement_nesting() == 0) {
      at::autocast::clear_cache();
    }
    at::autocast::set_autocast_enabled(cuda ? at::kCUDA : at::kCPU, false);
  });
}

struct il_adamw {
  double lr;
  double beta1;
  double beta2;
  double weight_decay;
  double eps;
};

// One AdamW update of `count` parameters in one fused call. `step` counts updates, this one included.
int il_fused_adamw(
    const void* const* parameters,
    const void* const* gradients,
    const void* const* first_moments,
    const void* const* second_moments,
    int64_t count,
    const void* step,
    const il_adamw* rule) {
  return guarded([&] {
    const auto list = [&](const void* const* from) {
      std::vector<at::Tensor> tensors;
      tensors.reserve(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) {
        tensors.push_back(*static_cast<const at::Tensor*>(from[i]));
      }
      return tensors;
    };
    const at::NoGradGuard no_grad;
    // The kernel reads the step of each parameter and writes none, so that one tensor serves all.
    const std::vector<at::Tensor> steps(static_cast<size_t>(count), *static_cast<const at::Tensor*>(step));
    at::_fused_adamw_(
        list(parameters),
        list(gradients),
        list(first_moments),
        list(second_moments),
        /*max_exp_avg_sqs=*/{},
        steps,
        rule->lr,
        rule->beta1,
        rule->beta2,
        rule->weight_decay,
        rule->eps,
        /*amsgrad=*/false,
        /*maximize=*/false);
  });
}

// Bits of a set of SDPA backends: 1 << at::SDPBackend.
int il_sdpa_enabled() {
  const auto& context = at::globalContext();
  return (context.userEnabledMathSDP() ? 1 : 0) | (context.userEnabledFlashSDP() ? 2 : 0) |
      (context.userEnabledMemEfficientSDP() ? 4 : 0) | (context.userEnabledCuDNNSDP() ? 8 : 0) |
      (context.userEnabledOverrideableSDP() ? 16 : 0);
}

int il_sdpa_enable(int set) {
  return guarded([&] {
    auto& context = at::globalContext();
    context.setSDPUseMath((set & 1) != 0);
    context.setSDPUseFlash((set & 2) != 0);
    context.setSDPUseMemEfficient((set & 4) != 0);
    context.setSDPUseCuDNN((set & 8) != 0);
    context.setSDPUseOverrideable((set & 16) != 0);
  });
}

// The backend that scaled_dot_product_attention would run, as at::SDPBackend; -1 where none would. On failure and on
// -1 the error holds what LibTorch says against the backends that were allowed.
int il_sdpa_choice(const void* q, const void* k, const void* v, bool causal, int64_t* choice) {
  Warnings warnings;
  const int code = guarded([&] {
    const c10::WarningUtils::WarningHandlerGuard listen(&warnings);
    *choice = at::_fused_sdp_choice(
        *static_cast<const at::Tensor*>(q),
        *static_cast<const at::Tensor*>(k),
        *static_cast<const at::Tensor*>(v),
        /*attn_mask=*/std::nullopt,
        /*dropout_p=*/0.0,
        causal);
  });
  if (!warnings.text.empty()) {
    last_error = warnings.text;
  } else if (code == kOk) {
    last_error.clear();
  }
  return code;
}

// `output.backward(gradient)`.
int il_backward(const void* output, const void* gradient) {
  return guarded([&] {
    static_cast<const at::Tensor*>(output)->backward(*static_cast<const at::Tensor*>(gradient));
  });
}

// `leaf.grad = None`: the memory goes back to the allocator, which zeroing would keep.
int il_clear_grad(const void* leaf) {
  return guarded([&] { static_cast<const at::Tensor*>(leaf)->mutable_grad().reset(); });
}

} // extern "C"
