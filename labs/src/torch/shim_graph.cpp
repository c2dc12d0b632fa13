// CUDA graphs, and attention that suits them: the length of the cache is read on the device. The rules are those of
// shim.cpp.

#include <ATen/core/Tensor.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <dlfcn.h>

#include "shim.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

using infralab::guarded;

namespace {

// `at::cuda::CUDAGraph` through its exported symbols: its header wants the CUDA toolkit's, which a machine that only
// runs LibTorch lacks. A member function is called as a plain one with the object first, as the Itanium ABI has it;
// the enumeration cudaStreamCaptureMode is passed as its underlying integer.
struct GraphApi {
  void (*construct)(void*, bool) = nullptr;
  void (*destroy)(void*) = nullptr;
  void (*begin)(void*, std::pair<unsigned long long, unsigned long long>, unsigned) = nullptr;
  void (*end)(void*) = nullptr;
  void (*replay)(void*) = nullptr;
  std::string missing;

  GraphApi() {
    find(construct, "_ZN2at4cuda9CUDAGraphC1Eb");
    find(destroy, "_ZN2at4cuda9CUDAGraphD1Ev");
    find(begin, "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode");
    find(end, "_ZN2at4cuda9CUDAGraph11capture_endEv");
    find(replay, "_ZN2at4cuda9CUDAGraph6replayEv");
  }

  template <typename Function>
  void find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, symbol));
    if (function == nullptr) {
      missing = std::string("this LibTorch does not export ") + symbol;
    }
  }
};

const GraphApi& graph_api() {
  static const GraphApi api;
  TORCH_CHECK(api.missing.empty(), api.missing);
  return api;
}

// A captured graph and the stream that it was captured on. LibTorch 2.11's object has about 150 bytes; the worker is
// built for that version alone, and the room is several times that.
struct Graph {
  alignas(std::max_align_t) std::byte object[1024];
  c10::impl::VirtualGuardImpl device{c10::kCUDA};
  c10::Stream side;
  std::optional<c10::Stream> before;

  explicit Graph(c10::Device on) : side(device.getStreamFromGlobalPool(on)) {
    graph_api().construct(object, /*keep_graph=*/false);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    graph_api().destroy(object);
  }

  // Later work of this thread goes to the side stream, after what is queued now.
  void enter() {
    if (!before) {
      wait(side, device.getStream(side.device()));
      before = device.exchangeStream(side);
    }
  }

  void leave() {
    if (before) {
      device.exchangeStream(*before);
      wait(*before, side);
      before.reset();
    }
  }

  static void wait(const c10::Stream& later, const c10::Stream& earlier) {
    c10::Event event(c10::kCUDA);
    event.record(earlier);
    event.block(later);
  }
};

} // namespace

extern "C" {

// A graph on device `index`; fails with the reason where this LibTorch has none.
int il_graph_new(int index, void** out) {
  return guarded([&] { *out = new Graph(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index))); });
}

void il_graph_delete(void* graph) {
  guarded([&] { delete static_cast<Graph*>(graph); });
}

// From here to il_graph_leave this thread's work goes to the graph's own stream, since the default one cannot be
// captured.
int il_graph_enter(void* graph) {
  return guarded([&] { static_cast<Graph*>(graph)->enter(); });
}

int il_graph_leave(void* graph) {
  return guarded([&] { static_cast<Graph*>(graph)->leave(); });
}

// Work is recorded and not run until il_graph_end. Calls of other threads do not disturb the capture (mode 1).
int il_graph_begin(void* graph) {
  return guarded([&] {
    constexpr unsigned kThreadLocal = 1;
    graph_api().begin(static_cast<Graph*>(graph)->object, {0, 0}, kThreadLocal);
  });
}

int il_graph_end(void* graph) {
  return guarded([&] { graph_api().end(static_cast<Graph*>(graph)->object); });
}

// Runs what was recorded, on this thread's stream.
int il_graph_replay(void* graph) {
  return guarded([&] { graph_api().replay(static_cast<Graph*>(graph)->object); });
}

// Attention of one query per sequence by FlashAttention, over as many keys as `lengths` says on the device.
int il_flash_over_lengths(
    const void* q,
    const void* k,
    const void* v,
    const void* q_offsets,
    const void* k_offsets,
    const void* lengths,
    int64_t longest,
    void** out) {
  return guarded([&] {
    const auto tensor = [](const void* t) -> const at::Tensor& { return *static_cast<const at::Tensor*>(t); };
    auto result = at::_flash_attention_forward(
        tensor(q),
        tensor(k),
        tensor(v),
        tensor(q_offsets),
        tensor(k_offsets),
        /*max_q=*/1,
        longest,
        /*dropout_p=*/0.0,
        /*is_causal=*/false,
        /*return_debug_mask=*/false,
        /*scale=*/std::nullopt,
        /*window_size_left=*/std::nullopt,
        /*window_size_right=*/std::nullopt,
        /*seqused_k=*/tensor(lengths));
    *out = new at::Tensor(std::get<0>(result));
  });
}

} // extern "C"
