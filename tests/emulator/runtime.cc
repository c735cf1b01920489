/*
  The runtime of the emulator: stands in for the functions of libcudart that this library, its tests
  and PETSc call, before which it is loaded (LD_PRELOAD). Its devices are like an H200, their memory
  is the host's. Every stream executes what it is given at once: what does not wait for another
  stream as it should goes unnoticed.

  What cannot be done on a device is an error here, too: too much shared memory, a block larger than
  the kernel was compiled for, an allocation or a wait in a capture, a copy from pageable memory
  there, one that ends behind an allocation. Fresh memory is full of NaN and lies between guards,
  which are looked at when it is freed.

  Environment:
    BCR_EMULATOR_DEVICES  devices of a process (1)
    BCR_EMULATOR_MEMORY   bytes of memory (4 GiB)
    BCR_EMULATOR_PTX      a file with the PTX of all modules (cuobjdump -ptx), instead of what the programs have
    BCR_EMULATOR_TRACE    1: prints every launch

  One thread at a time may call these functions.
*/
#include "emulator.h"
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

/* A device: compute capability 9.0. A cluster of blocks lies in one of the groups of multiprocessors */
static const int ARCHITECTURE = 90, GROUPS = 8, GROUP_SMS[GROUPS] = {16, 16, 16, 16, 16, 16, 18, 18}, SMS = 132;
static const int THREADS_SM = 2048, THREADS_BLOCK = 1024, BLOCKS_SM = 32, REGISTERS = 65536, CLUSTER_PORTABLE = 8,
                 CLUSTER_MOST = 16;
static const int SHARED_DEFAULT = 48 << 10, SHARED_OPTIN = 227 << 10, SHARED_SM = 228 << 10, SHARED_RESERVED = 1 << 10;
static const int GRID_X = INT_MAX, GRID_YZ = 65535, L2 = 60 << 20, CONSTANT = 64 << 10;
static const size_t GUARD = 512;       /* bytes before and behind an allocation; its alignment, too */
static const size_t MAPPED = 16 << 20; /* from so many bytes on, by mmap() */
static const size_t SHARED = 2 << 20;  /* allocations of multiples of these, below MAPPED, can be mapped by others */

struct Allocation {
  size_t bytes;
  cudaMemoryType type;
  int device;
  unsigned long number; /* this many came before */
  int file;             /* that others can map, or -1 */
};

struct Module {
  const char *fatbinary;
  bool loaded;
};

struct CUkern_st {
  const void *host; /* the function that stands for it in the program */
  Module *module;
  std::string name;
  EmuKernel *kernel;  /* NULL: not looked for yet */
  int dynamic_shared; /* most bytes that a launch may ask for */
  bool large_clusters;
};

/* What a stream does, a node of a graph where it is captured */
struct CUgraphNode_st {
  cudaGraphNodeType type;
  /* kernel; of another library: work, and no kernel */
  std::function<std::string()> work;
  cudaKernel_t kernel;
  unsigned grid[3], block[3], cluster[3];
  size_t shared;
  std::vector<std::vector<char>> arguments;
  /* memset (value), memcpy: `height` rows of `width` bytes */
  char *to;
  const char *from;
  int value;
  size_t width, height, topitch, frompitch;
  cudaMemcpyKind kind;
};
struct CUgraph_st {
  std::vector<CUgraphNode_st> nodes;
};
struct CUgraphExec_st {
  std::vector<CUgraphNode_st> nodes;
};

/* A capture ends with an error where a stream that joined it has nodes that its first stream does
   not wait for. Of each stream is known the last node, and of which nodes of other streams it knows
   that they have ended (as of an event, when it is recorded) */
typedef std::map<const CUstream_st *, size_t> Nodes;
struct Capture {
  cudaStream_t origin;
  std::unique_ptr<CUgraph_st> graph;
  Nodes last;
  bool active = true, invalid = false;
};
struct CUstream_st {
  unsigned flags;
  int priority;
  std::shared_ptr<Capture> capture; /* NULL: none */
  Nodes ended;
};
struct CUevent_st {
  unsigned flags;
  std::chrono::steady_clock::time_point time;
  bool recorded;
  std::shared_ptr<Capture> capture; /* that it was recorded in */
  Nodes ended;
};

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};

/* Made when first used and never destroyed: programs and libraries register their kernels before,
   and free memory after, static objects live here */
struct State {
  std::map<uintptr_t, Allocation> memory;
  std::map<const void *, cudaKernel_t> kernels; /* by the host's function, and by themselves */
  std::vector<std::weak_ptr<Capture>> captures;
  std::vector<Configuration> configurations; /* of <<< >>> */
  CUstream_st legacy{};
  size_t used = 0, total = (size_t)4 << 30;
  unsigned long allocations = 0;
  int devices = 1, device = 0;
  bool trace = false, given = false; /* given: PTX by BCR_EMULATOR_PTX, read */
  cudaError_t last = cudaSuccess, pending = cudaSuccess, sticky = cudaSuccess;

  State()
  {
    const char *value;

    if ((value = getenv("BCR_EMULATOR_DEVICES"))) devices = atoi(value);
    if ((value = getenv("BCR_EMULATOR_MEMORY"))) total = strtoull(value, NULL, 10);
    if ((value = getenv("BCR_EMULATOR_TRACE"))) trace = atoi(value) != 0;
  }
};
static unsigned allocations_freed = 0;
static State &state()
{
  static State *s = new State;

  return *s;
}

/* The error that cudaGetLastError() gives. One that stays comes from every function from then on */
static cudaError_t done(cudaError_t e)
{
  State &s = state();

  if (s.sticky != cudaSuccess) e = s.sticky;
  if (e != cudaSuccess) s.last = e;
  return e;
}
/* As on a device, the host learns of it by the next function that waits; until then, streams do
   nothing and say nothing */
static void broken(cudaError_t e, const std::string &why)
{
  fprintf(stderr, "bcr_emulator: %s\n", why.c_str());
  state().pending = e;
}
static cudaError_t waited()
{
  if (state().pending != cudaSuccess) state().sticky = state().pending;
  return done(cudaSuccess);
}
#define RETURN_IF_BROKEN() \
  do { \
    if (state().sticky != cudaSuccess) return done(cudaSuccess); \
  } while (0)

/* Allocations and waits are no part of a graph, and end a capture */
static cudaError_t not_in_capture()
{
  cudaError_t e = cudaSuccess;

  for (auto &c : state().captures)
    if (auto capture = c.lock())
      if (capture->active) {
        capture->invalid = true;
        e = cudaErrorStreamCaptureUnsupported;
      }
  return e;
}
#define RETURN_IF_CAPTURING() \
  do { \
    if (waited() != cudaSuccess) return waited(); \
    const cudaError_t error_ = not_in_capture(); \
    if (error_ != cudaSuccess) return done(error_); \
  } while (0)

/* ---- Kernels ---- */

static std::string decompressed(const char *data, size_t bytes, size_t text, bool zstd)
{
  std::string out(text, '\0');
  void *library = dlopen(zstd ? "libzstd.so.1" : "liblz4.so.1", RTLD_NOW);
  void *f = library ? dlsym(library, zstd ? "ZSTD_decompress" : "LZ4_decompress_safe") : NULL;
  size_t got = 0;

  if (!f)
    fprintf(stderr, "bcr_emulator: PTX is compressed, and there is no %s: compile with nvcc --compress-mode=none\n",
            zstd ? "libzstd.so.1" : "liblz4.so.1");
  else if (zstd) got = ((size_t(*)(void *, size_t, const void *, size_t))f)(&out[0], text, data, bytes);
  else got = (size_t)((int (*)(const char *, char *, int, int))f)(data, &out[0], (int)bytes, (int)text);
  return got == text ? out : "";
}

/* A fat binary: a header, and entries of a header and data each (kind 1: PTX, 2: machine code). Of
   PTX, that of the newest architecture that the device can run */
static void module_load(Module *m)
{
  struct Header {
    uint32_t magic;
    uint16_t version, bytes;
    uint64_t data;
  } header;
  struct Entry {
    uint16_t kind, version;
    uint32_t bytes;
    uint64_t data;
    uint32_t compressed, options;
    uint16_t minor, major;
    uint32_t architecture, name, namebytes;
    uint64_t flags, zero, decompressed;
  } entry, best = {};
  const char *text = NULL;

  m->loaded = true;
  memcpy(&header, m->fatbinary, sizeof(header));
  if (header.magic != 0xBA55ED50u) return;
  for (const char *p = m->fatbinary + header.bytes, *end = p + header.data; p + 64 <= end;
       p += entry.bytes + entry.data) {
    entry = {};
    memcpy(&entry, p, 64); /* what is behind, if the entry says that there is more, is not needed */
    if (entry.kind != 1 || entry.architecture > ARCHITECTURE || entry.architecture <= best.architecture) continue;
    best = entry;
    text = p + entry.bytes;
  }
  if (!text) return;
  if (best.flags & 0xa000) {
    const std::string ptx = decompressed(text, best.compressed, best.decompressed, best.flags & 0x8000);

    if (!ptx.empty()) emu_module_add(ptx.c_str(), strnlen(ptx.c_str(), ptx.size()));
  } else emu_module_add(text, strnlen(text, best.data));
}

/* The output of cuobjdump -ptx */
static void modules_given(const char *file)
{
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::string begin = "\n.version ", end = "\nFatbin ";

  if (!in) fprintf(stderr, "bcr_emulator: cannot read BCR_EMULATOR_PTX=%s\n", file);
  for (size_t at = text.find(begin); at != std::string::npos;) {
    const size_t next = text.find(begin, at + 1), bytes = std::min(text.find(end, at), next) - at;
    const std::string ptx = text.substr(at + 1, bytes);

    emu_module_add(ptx.c_str(), ptx.size());
    at = next;
  }
}

/* NULL, with a message: there is no PTX of it */
static EmuKernel *kernel_of(cudaKernel_t k)
{
  const char *file = getenv("BCR_EMULATOR_PTX");

  if (k->kernel) return k->kernel;
  if (file && !state().given) {
    state().given = true;
    modules_given(file);
  }
  if (!file && !k->module->loaded) module_load(k->module);
  k->kernel = emu_kernel_find(k->name);
  if (!k->kernel) {
    Dl_info where;

    fprintf(stderr, "bcr_emulator: no PTX of kernel %s (of %s)\n", k->name.c_str(),
            dladdr(k->host, &where) && where.dli_fname ? where.dli_fname : "an unknown file");
  }
  return k->kernel;
}

static cudaKernel_t kernel_find(const void *f)
{
  const auto k = state().kernels.find(f);

  return k == state().kernels.end() ? NULL : k->second;
}

API void **__cudaRegisterFatBinary(void *wrapper)
{
  struct Wrapper {
    int magic, version;
    const char *data;
    void *name;
  };

  return (void **)new Module{((Wrapper *)wrapper)->data, false};
}
API void __cudaRegisterFatBinaryEnd(void **)
{
}
API void __cudaUnregisterFatBinary(void **) /* when programs end */
{
}
API void __cudaRegisterFunction(void **module, const char *host, char *, const char *name, int, uint3 *, uint3 *,
                                dim3 *, dim3 *, int *)
{
  cudaKernel_t k = new CUkern_st{host, (Module *)module, name, NULL, -1, false};

  state().kernels[host] = state().kernels[k] = k;
}
/* no function that is here reaches one by its name */
API void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int)
{
}

API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
  *kernel = kernel_find(host);
  return done(*kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}
API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
  state().configurations.push_back({grid, block, shared, stream});
  return 0;
}
API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
  auto &c = state().configurations;

  if (c.empty()) return done(cudaErrorMissingConfiguration);
  *grid = c.back().grid;
  *block = c.back().block;
  *shared = c.back().shared;
  *(cudaStream_t *)stream = c.back().stream;
  c.pop_back();
  return cudaSuccess;
}

/* ---- Streams: what they are given is done now, or becomes a part of a graph ---- */

static cudaStream_t stream_of(cudaStream_t s)
{
  return !s || s == cudaStreamLegacy || s == cudaStreamPerThread ? &state().legacy : s;
}

static void run(const CUgraphNode_st &n)
{
  if (state().pending != cudaSuccess) return;
  if (n.work) {
    const std::string why = n.work();

    if (!why.empty()) broken(cudaErrorLaunchFailure, why);
  } else if (n.type == cudaGraphNodeTypeKernel) {
    std::vector<void *> arguments;
    const auto start = std::chrono::steady_clock::now();

    for (auto &a : n.arguments) arguments.push_back((void *)a.data());
    if (state().trace)
      fprintf(stderr, "bcr_emulator: %s grid (%u %u %u) block (%u %u %u) cluster %u, %zu bytes", n.kernel->name.c_str(),
              n.grid[0], n.grid[1], n.grid[2], n.block[0], n.block[1], n.block[2],
              n.cluster[0] * n.cluster[1] * n.cluster[2], n.shared);
    const std::string why = emu_launch(n.kernel->kernel, n.grid, n.block, n.cluster, n.shared, arguments.data());
    if (state().trace)
      fprintf(stderr, ", %.4f s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (!why.empty()) broken(cudaErrorLaunchFailure, why);
  } else if (n.type == cudaGraphNodeTypeMemset) {
    for (size_t i = 0; i < n.height; i++) memset(n.to + i * n.topitch, n.value, n.width);
  } else if (n.type == cudaGraphNodeTypeMemcpy) {
    for (size_t i = 0; i < n.height; i++) memmove(n.to + i * n.topitch, n.from + i * n.frompitch, n.width);
  }
}

static cudaError_t add(cudaStream_t stream, CUgraphNode_st &&n)
{
  cudaStream_t s = stream_of(stream);

  RETURN_IF_BROKEN();
  if (!s->capture) {
    if (s == &state().legacy)
      for (auto &c : state().captures) /* it waits for all blocking streams */
        if (auto capture = c.lock())
          if (capture->active && !(capture->origin->flags & cudaStreamNonBlocking)) {
            capture->invalid = true;
            return done(cudaErrorStreamCaptureImplicit);
          }
    run(n);
    return done(cudaSuccess);
  }
  if (s->capture->invalid) return done(cudaErrorStreamCaptureInvalidated);
  s->capture->graph->nodes.push_back(std::move(n));
  s->capture->last[s] = s->ended[s] = s->capture->graph->nodes.size();
  return done(cudaSuccess);
}

cudaError_t emu_stream_add(cudaStream_t stream, std::function<std::string()> work)
{
  CUgraphNode_st n = {};

  n.type = cudaGraphNodeTypeKernel;
  n.work = std::move(work);
  return add(stream, std::move(n));
}

/* Kernels of thrust, which PETSc's library has for the device alone: vectors made with a value in each element, and rows
   of a matrix that are scaled. The first argument is the number of elements, the second what is done with each */
static bool thrust_knows(const std::string &name)
{
  return name.find("EmptyKernel") != std::string::npos || name.find("uninitialized_fill") != std::string::npos ||
         name.find("DiagonalScaleLeft_CSR_Functor") != std::string::npos;
}
static std::function<std::string()> thrust_scale(void **args)
{
  struct Functor {
    int first; /* of the iterator over rows */
    const int *start;
    double *value;
    const double *scale;
    const int *rows; /* NULL: all */
  };
  const size_t n = *(const size_t *)args[0];
  const Functor f = *(const Functor *)args[1];

  return [=]() -> std::string {
    for (size_t i = 0; i < n; i++)
      for (int p = f.start[i]; p < f.start[i + 1]; p++) f.value[p] *= f.scale[f.rows ? f.rows[i] : (int)i];
    return "";
  };
}
template <typename T>
static std::function<std::string()> thrust_fill(void **args)
{
  struct Functor {
    T *first, value;
  };
  const size_t n = *(const size_t *)args[0];
  const Functor f = *(const Functor *)args[1];

  return [=]() -> std::string {
    char *begin, *end;

    if (n && !emu_memory_holds(f.first, n * sizeof(T), &begin, &end)) return "thrust fills beyond an allocation";
    std::fill(f.first, f.first + n, f.value);
    return "";
  };
}
static cudaError_t thrust_launch(const std::string &name, void **args, cudaStream_t stream)
{
  if (name.find("EmptyKernel") != std::string::npos) return done(cudaSuccess);
  if (name.find("DiagonalScaleLeft") != std::string::npos) return emu_stream_add(stream, thrust_scale(args));
  return emu_stream_add(stream, name.find("device_ptrIiE") != std::string::npos ? thrust_fill<int>(args)
                                                                                : thrust_fill<double>(args));
}

static cudaError_t launch(cudaKernel_t k, dim3 grid, dim3 block, dim3 cluster, void **args, size_t shared,
                          cudaStream_t stream)
{
  CUgraphNode_st n = {};
  EmuKernel *e;
  const unsigned clusters = cluster.x * cluster.y * cluster.z;

  RETURN_IF_BROKEN();
  if (!k) return done(cudaErrorInvalidDeviceFunction);
  if (thrust_knows(k->name)) return thrust_launch(k->name, args, stream);
  if (!(e = kernel_of(k))) return done(cudaErrorNoKernelImageForDevice);
  if (!grid.x || !grid.y || !grid.z || grid.x > (unsigned)GRID_X || grid.y > (unsigned)GRID_YZ ||
      grid.z > (unsigned)GRID_YZ)
    return done(cudaErrorInvalidConfiguration);
  if (!block.x || !block.y || !block.z || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      block.x * block.y * block.z > (unsigned)THREADS_BLOCK)
    return done(cudaErrorInvalidConfiguration);
  if (block.x * block.y * block.z > (unsigned)emu_kernel_max_threads(e)) return done(cudaErrorInvalidValue);
  if (shared > (size_t)(k->dynamic_shared < 0 ? SHARED_DEFAULT - (int)emu_kernel_static_shared(e) : k->dynamic_shared))
    return done(cudaErrorInvalidValue);
  if (!clusters || clusters > (unsigned)(k->large_clusters ? CLUSTER_MOST : CLUSTER_PORTABLE))
    return done(cudaErrorInvalidClusterSize);
  if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z) return done(cudaErrorInvalidClusterSize);
  n.type = cudaGraphNodeTypeKernel;
  n.kernel = k;
  n.shared = shared;
  memcpy(n.grid, &grid, sizeof(n.grid));
  memcpy(n.block, &block, sizeof(n.block));
  memcpy(n.cluster, &cluster, sizeof(n.cluster));
  for (int i = 0; i < emu_kernel_parameters(e); i++) {
    const char *p = (const char *)args[i];

    n.arguments.emplace_back(p, p + emu_kernel_parameter_bytes(e, i));
  }
  return add(stream, std::move(n));
}

API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                   cudaStream_t stream)
{
  return launch(kernel, grid, block, dim3{1, 1, 1}, args, shared, stream);
}
API cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
  return launch(kernel_find(f), grid, block, dim3{1, 1, 1}, args, shared, stream);
}

/* An attribute that changes only when a kernel may begin, and on which multiprocessor, has nothing to change here */
static cudaError_t cluster_of(const cudaLaunchConfig_t *c, dim3 *cluster)
{
  *cluster = dim3{1, 1, 1};
  for (unsigned i = 0; i < c->numAttrs; i++) switch (c->attrs[i].id) {
    case cudaLaunchAttributeClusterDimension:
      *cluster = dim3{c->attrs[i].val.clusterDim.x, c->attrs[i].val.clusterDim.y, c->attrs[i].val.clusterDim.z};
      break;
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeProgrammaticStreamSerialization:
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
      break;
    default:
      return cudaErrorNotSupported;
    }
  return cudaSuccess;
}
API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **args)
{
  dim3 cluster;
  const cudaError_t e = cluster_of(c, &cluster);

  return e == cudaSuccess
           ? launch(kernel_find(f), c->gridDim, c->blockDim, cluster, args, c->dynamicSmemBytes, c->stream)
           : done(e);
}

API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
  RETURN_IF_BROKEN();
  *stream = new CUstream_st{};
  (*stream)->flags = flags;
  (*stream)->priority = std::max(-5, std::min(0, priority));
  return done(cudaSuccess);
}
API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
API cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
API cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
  RETURN_IF_BROKEN();
  if (stream_of(stream) == &state().legacy) return done(cudaErrorInvalidResourceHandle);
  if (stream->capture) {
    stream->capture->invalid = true;
    stream->capture->last.erase(stream);
  }
  delete stream;
  return done(cudaSuccess);
}
API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
  *flags = stream_of(stream)->flags;
  return done(cudaSuccess);
}
API cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
  RETURN_IF_BROKEN();
  if (!stream_of(stream)->capture) return waited();
  stream->capture->invalid = true;
  return done(cudaErrorStreamCaptureUnsupported);
}
API cudaError_t cudaStreamQuery(cudaStream_t stream)
{
  return cudaStreamSynchronize(stream);
}
API cudaError_t cudaDeviceSynchronize()
{
  RETURN_IF_CAPTURING();
  return done(cudaSuccess);
}

/* ---- Events ---- */

API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
  RETURN_IF_BROKEN();
  *event = new CUevent_st{};
  (*event)->flags = flags;
  return done(cudaSuccess);
}
API cudaError_t cudaEventCreate(cudaEvent_t *event)
{
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
API cudaError_t cudaEventDestroy(cudaEvent_t event)
{
  RETURN_IF_BROKEN();
  if (!event) return done(cudaErrorInvalidResourceHandle);
  delete event;
  return done(cudaSuccess);
}
API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
  cudaStream_t s = stream_of(stream);

  RETURN_IF_BROKEN();
  if (!event) return done(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  event->capture = s->capture;
  event->ended = s->ended;
  return done(cudaSuccess);
}
API cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
  RETURN_IF_BROKEN();
  if (!event) return done(cudaErrorInvalidResourceHandle);
  if (!event->capture) return waited();
  event->capture->invalid = true;
  return done(cudaErrorCapturedEvent);
}
API cudaError_t cudaEventQuery(cudaEvent_t event)
{
  return cudaEventSynchronize(event);
}
API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
  RETURN_IF_BROKEN();
  if (!start || !end || !start->recorded || !end->recorded || ((start->flags | end->flags) & cudaEventDisableTiming))
    return done(cudaErrorInvalidResourceHandle);
  if (start->capture || end->capture) return done(cudaErrorCapturedEvent);
  *ms = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return done(cudaSuccess);
}
API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
  cudaStream_t s = stream_of(stream);

  RETURN_IF_BROKEN();
  if (!event) return done(cudaErrorInvalidResourceHandle);
  if (!event->recorded) return done(cudaSuccess);
  if (!event->capture) return done(s->capture ? cudaErrorStreamCaptureIsolation : cudaSuccess);
  if (!event->capture->active) return done(cudaErrorCapturedEvent);
  if (s == &state().legacy) return done(cudaErrorStreamCaptureImplicit);
  if (s->capture && s->capture != event->capture) {
    s->capture->invalid = event->capture->invalid = true;
    return done(cudaErrorStreamCaptureMerge);
  }
  s->capture = event->capture;
  for (auto &n : event->ended) s->ended[n.first] = std::max(s->ended[n.first], n.second);
  s->capture->last[s]; /* takes part from now on */
  return done(cudaSuccess);
}

/* ---- Captures and graphs ---- */

API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
  cudaStream_t s = stream_of(stream);

  RETURN_IF_BROKEN();
  if (s == &state().legacy) return done(cudaErrorStreamCaptureUnsupported);
  if (s->capture) return done(cudaErrorIllegalState);
  s->capture = std::make_shared<Capture>();
  s->capture->origin = s;
  s->capture->graph = std::make_unique<CUgraph_st>();
  s->capture->last[s] = 0;
  s->ended.clear();
  state().captures.push_back(s->capture);
  return done(cudaSuccess);
}
API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
  cudaStream_t s = stream_of(stream);
  cudaError_t e = cudaSuccess;

  RETURN_IF_BROKEN();
  *graph = NULL;
  if (!s->capture) return done(cudaErrorIllegalState);
  const std::shared_ptr<Capture> c = s->capture;
  if (c->origin != s) {
    c->invalid = true;
    return done(cudaErrorStreamCaptureUnmatched);
  }
  if (c->invalid) e = cudaErrorStreamCaptureInvalidated;
  for (auto &n : c->last)
    if (s->ended[n.first] < n.second && e == cudaSuccess) e = cudaErrorStreamCaptureUnjoined;
  for (auto &n : c->last) {
    const_cast<CUstream_st *>(n.first)->capture.reset();
    const_cast<CUstream_st *>(n.first)->ended.clear();
  }
  c->active = false;
  state().captures.erase(std::remove_if(state().captures.begin(), state().captures.end(),
                                        [&](const std::weak_ptr<Capture> &w) { return w.expired() || w.lock() == c; }),
                         state().captures.end());
  if (e == cudaSuccess) *graph = c->graph.release();
  return done(e);
}
API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
  const auto &c = stream_of(stream)->capture;

  RETURN_IF_BROKEN();
  *status = !c ? cudaStreamCaptureStatusNone
               : (c->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive);
  return done(cudaSuccess);
}

API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
  RETURN_IF_BROKEN();
  *exec = new CUgraphExec_st{graph->nodes};
  return done(cudaSuccess);
}
API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
  const auto &a = exec->nodes, &b = graph->nodes;
  bool same = a.size() == b.size();

  RETURN_IF_BROKEN();
  for (size_t i = 0; i < a.size() && same; i++)
    same = a[i].type == b[i].type && a[i].kernel == b[i].kernel && a[i].kind == b[i].kind;
  *info = {};
  info->result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
  if (same) exec->nodes = graph->nodes;
  return done(same ? cudaSuccess : cudaErrorGraphExecUpdateFailure);
}
API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
  RETURN_IF_BROKEN();
  if (stream_of(stream)->capture) return done(cudaErrorNotSupported); /* a graph in a graph: nobody has one yet */
  for (auto &n : exec->nodes) run(n);
  return done(cudaSuccess);
}
API cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
  delete graph;
  return done(cudaSuccess);
}
API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
  delete exec;
  return done(cudaSuccess);
}
API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n)
{
  const size_t all = graph->nodes.size();

  for (size_t i = 0; nodes && i < *n; i++) nodes[i] = i < all ? &graph->nodes[i] : NULL;
  *n = nodes ? std::min(*n, all) : all;
  return done(cudaSuccess);
}
API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type)
{
  *type = node->type;
  return done(cudaSuccess);
}
API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms *p)
{
  if (node->type != cudaGraphNodeTypeMemcpy) return done(cudaErrorInvalidValue);
  *p = {};
  p->srcPtr = {(void *)node->from, node->frompitch, node->width, node->height};
  p->dstPtr = {node->to, node->topitch, node->width, node->height};
  p->extent = {node->width, node->height, 1};
  p->kind = node->kind;
  return done(cudaSuccess);
}

/* ---- Memory ---- */

/* The allocation that an address is in. All that a kernel reads and writes comes here, most often
   to the one of last time */
static const std::pair<const uintptr_t, Allocation> *allocation_of(const void *p, size_t bytes)
{
  static thread_local __attribute__((tls_model("initial-exec"))) const std::pair<const uintptr_t, Allocation> *one =
    NULL;
  /* of allocations_freed */
  static thread_local __attribute__((tls_model("initial-exec"))) unsigned known = 0;
  const uintptr_t a = (uintptr_t)p;

  if (one && known == allocations_freed && a >= one->first && a - one->first + bytes <= one->second.bytes) return one;
  auto i = state().memory.upper_bound(a);
  if (i == state().memory.begin()) return NULL;
  --i;
  if (a - i->first + bytes > i->second.bytes) return NULL;
  one = &*i;
  known = allocations_freed;
  return one;
}
bool emu_memory_holds(const void *address, size_t bytes, char **begin, char **end)
{
  const auto *m = allocation_of(address, bytes);

  if (!m) return false;
  *begin = (char *)m->first;
  *end = *begin + m->second.bytes;
  return true;
}

/* Pages of 0xff, which is NaN, of a file that is mapped again and again, so that what nobody writes
   to takes no memory: programs may ask for all that the device has. Small ones are of malloc() */
static size_t room(size_t bytes) /* with guards */
{
  const size_t unit = bytes < MAPPED ? GUARD : MAPPED;

  return (bytes + 2 * GUARD + unit - 1) / unit * unit;
}
static char *room_take(size_t bytes, int *own)
{
  const size_t all = room(bytes);
  static int file = -1;
  char *base = NULL;

  *own = -1;
  if (bytes < MAPPED && bytes % SHARED == 0) {
    *own = memfd_create("bcr_emulator", MFD_CLOEXEC);
    base = *own < 0 || ftruncate(*own, (off_t)all)
             ? (char *)MAP_FAILED
             : (char *)mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, *own, 0);
    if (base == MAP_FAILED) return NULL;
    memset(base, 0xff, all);
    return base;
  }
  if (bytes < MAPPED) {
    base = (char *)aligned_alloc(GUARD, all);
    if (base) memset(base, 0xff, all);
    return base;
  }
  if (file < 0) {
    const std::vector<char> nan(MAPPED, (char)0xff);

    file = memfd_create("bcr_emulator", MFD_CLOEXEC);
    if (file < 0 || write(file, nan.data(), MAPPED) != (ssize_t)MAPPED) return NULL;
  }
  base = (char *)mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return NULL;
  for (size_t b = 0; b < all; b += MAPPED)
    if (mmap(base + b, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0) ==
        MAP_FAILED) {
      (void)munmap(base, all);
      return NULL;
    }
  return base;
}
static void room_give(char *base, size_t bytes, int own)
{
  if (bytes < MAPPED && own < 0) free(base);
  else (void)munmap(base, room(bytes));
  if (own >= 0) (void)close(own);
}

/* memory of other processes, by where it is here */
static std::map<void *, size_t> &mapped()
{
  static std::map<void *, size_t> *all = new std::map<void *, size_t>;

  return *all;
}

static cudaError_t allocate(void **p, size_t bytes, cudaMemoryType type)
{
  State &s = state();
  char *base;
  int own;

  RETURN_IF_CAPTURING();
  *p = NULL;
  if (!bytes) return done(cudaSuccess);
  if (type == cudaMemoryTypeDevice && bytes > s.total - s.used) return done(cudaErrorMemoryAllocation);
  base = room_take(bytes, &own);
  if (!base) return done(cudaErrorMemoryAllocation);
  *p = base + GUARD;
  s.memory[(uintptr_t)*p] = {bytes, type, s.device, s.allocations++, own};
  if (type == cudaMemoryTypeDevice) s.used += bytes;
  return done(cudaSuccess);
}
static cudaError_t release(void *p, cudaMemoryType type)
{
  State &s = state();
  auto i = s.memory.find((uintptr_t)p);
  std::string why;

  RETURN_IF_CAPTURING();
  if (!p) return done(cudaSuccess);
  if (i == s.memory.end() || i->second.type != type) return done(cudaErrorInvalidValue);
  if (mapped().count(p)) return done(cudaErrorInvalidValue);
  const size_t bytes = i->second.bytes;
  const int own = i->second.file;
  char *base = (char *)p - GUARD;
  for (size_t g = 0; g < 2 * GUARD && why.empty(); g++) {
    const ptrdiff_t at = g < GUARD ? (ptrdiff_t)g - (ptrdiff_t)GUARD : (ptrdiff_t)(bytes + g - GUARD);

    if (((char *)p)[at] != (char)0xff)
      why = "allocation " + std::to_string(i->second.number) + " of " + std::to_string(bytes) +
            " bytes: there has been written to byte " + std::to_string(at);
  }
  s.memory.erase(i);
  allocations_freed++;
  if (type == cudaMemoryTypeDevice) s.used -= bytes;
  room_give(base, bytes, own);
  if (!why.empty()) broken(cudaErrorIllegalAddress, why);
  return waited();
}
API cudaError_t cudaMalloc(void **p, size_t bytes)
{
  return allocate(p, bytes, cudaMemoryTypeDevice);
}
API cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t)
{
  return allocate(p, bytes, cudaMemoryTypeDevice);
}
API cudaError_t cudaMallocHost(void **p, size_t bytes)
{
  return allocate(p, bytes, cudaMemoryTypeHost);
}
API cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned)
{
  return allocate(p, bytes, cudaMemoryTypeHost);
}
API cudaError_t cudaFree(void *p)
{
  return release(p, cudaMemoryTypeDevice);
}
API cudaError_t cudaFreeAsync(void *p, cudaStream_t)
{
  return release(p, cudaMemoryTypeDevice);
}
API cudaError_t cudaFreeHost(void *p)
{
  return release(p, cudaMemoryTypeHost);
}

/* ---- Memory and events of other processes ---- */

struct Handle {
  pid_t process;
  int file;
  size_t bytes;
};

API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p)
{
  const auto *m = allocation_of(p, 1);
  const Handle h = {getpid(), m ? m->second.file : -1, m ? m->second.bytes : 0};

  RETURN_IF_BROKEN();
  if (h.file < 0 || (uintptr_t)p != m->first) return done(cudaErrorInvalidValue);
  memset(handle, 0, sizeof(*handle));
  memcpy(handle, &h, sizeof(h));
  return done(cudaSuccess);
}
API cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned)
{
  State &s = state();
  Handle h;
  int file;

  RETURN_IF_BROKEN();
  memcpy(&h, &handle, sizeof(h));
  if (h.process == getpid()) return done(cudaErrorDeviceUninitialized); /* as CUDA has it */
  file = open(("/proc/" + std::to_string(h.process) + "/fd/" + std::to_string(h.file)).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return done(cudaErrorMapBufferObjectFailed);
  char *base = (char *)mmap(NULL, room(h.bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) {
    (void)close(file);
    return done(cudaErrorMapBufferObjectFailed);
  }
  *p = base + GUARD;
  s.memory[(uintptr_t)*p] = {h.bytes, cudaMemoryTypeDevice, s.device, s.allocations++, file};
  mapped()[*p] = h.bytes;
  return done(cudaSuccess);
}
API cudaError_t cudaIpcCloseMemHandle(void *p)
{
  State &s = state();
  auto i = mapped().find(p);

  RETURN_IF_CAPTURING();
  if (i == mapped().end()) return done(cudaErrorInvalidValue);
  room_give((char *)p - GUARD, i->second, s.memory[(uintptr_t)p].file);
  s.memory.erase((uintptr_t)p);
  allocations_freed++;
  mapped().erase(i);
  return waited();
}
/* What has been recorded is done, so that there is nothing to wait for */
API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
  const unsigned flags = cudaEventInterprocess | cudaEventDisableTiming;

  RETURN_IF_BROKEN();
  if (!event || (event->flags & flags) != flags) return done(cudaErrorInvalidResourceHandle);
  memset(handle, 0, sizeof(*handle));
  return done(cudaSuccess);
}
API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t)
{
  return cudaEventCreateWithFlags(event, cudaEventInterprocess | cudaEventDisableTiming);
}
API cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
  RETURN_IF_BROKEN();
  *total = state().total;
  *available = state().total - state().used;
  return done(cudaSuccess);
}
API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p)
{
  const auto *m = allocation_of(p, 1);

  RETURN_IF_BROKEN();
  *a = {};
  a->type = m ? m->second.type : cudaMemoryTypeUnregistered;
  a->device = m ? m->second.device : cudaInvalidDeviceId;
  a->devicePointer = m ? (void *)p : NULL;
  a->hostPointer = m && a->type == cudaMemoryTypeDevice ? NULL : (void *)p;
  return done(cudaSuccess);
}
API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int)
{
  *pool = (cudaMemPool_t)&state();
  return done(cudaSuccess);
}
API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *)
{
  return done(cudaSuccess);
}

/* What a copy between them is; the sides must be what `kind` says */
static cudaError_t kind_of(cudaMemcpyKind *kind, const void *to, size_t tobytes, const void *from, size_t frombytes)
{
  const auto *a = allocation_of(to, 1), *b = allocation_of(from, 1);
  const bool device[2] = {b && b->second.type == cudaMemoryTypeDevice, a && a->second.type == cudaMemoryTypeDevice};

  if ((a && !allocation_of(to, tobytes)) || (b && !allocation_of(from, frombytes))) return cudaErrorInvalidValue;
  if (*kind == cudaMemcpyDefault)
    *kind = device[0] ? (device[1] ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost)
                      : (device[1] ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost);
  /* pinned memory may pass for the device's */
  if ((*kind == cudaMemcpyDeviceToHost || *kind == cudaMemcpyDeviceToDevice) ? !b : device[0])
    return cudaErrorInvalidValue;
  if ((*kind == cudaMemcpyHostToDevice || *kind == cudaMemcpyDeviceToDevice) ? !a : device[1])
    return cudaErrorInvalidValue;
  return cudaSuccess;
}
static cudaError_t copy(void *to, size_t topitch, const void *from, size_t frompitch, size_t width, size_t height,
                        cudaMemcpyKind kind, cudaStream_t stream)
{
  CUgraphNode_st n = {};

  RETURN_IF_BROKEN();
  if (!width || !height) return done(cudaSuccess);
  if (width > topitch || width > frompitch) return done(cudaErrorInvalidPitchValue);
  const cudaError_t e = kind_of(&kind, to, (height - 1) * topitch + width, from, (height - 1) * frompitch + width);
  if (e != cudaSuccess) return done(e);
  if (stream_of(stream)->capture && (!allocation_of(to, 1) || !allocation_of(from, 1))) { /* pageable memory */
    stream->capture->invalid = true;
    return done(cudaErrorStreamCaptureUnsupported);
  }
  n.type = cudaGraphNodeTypeMemcpy;
  n.to = (char *)to;
  n.from = (const char *)from;
  n.width = width;
  n.height = height;
  n.topitch = topitch;
  n.frompitch = frompitch;
  n.kind = kind;
  return add(stream, std::move(n));
}
API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
  return copy(to, bytes, from, bytes, bytes, 1, kind, stream);
}
API cudaError_t cudaMemcpy2DAsync(void *to, size_t topitch, const void *from, size_t frompitch, size_t width,
                                  size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
  return copy(to, topitch, from, frompitch, width, height, kind, stream);
}
API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
  RETURN_IF_CAPTURING();
  return copy(to, bytes, from, bytes, bytes, 1, kind, NULL);
}
API cudaError_t cudaMemcpy2D(void *to, size_t topitch, const void *from, size_t frompitch, size_t width, size_t height,
                             cudaMemcpyKind kind)
{
  RETURN_IF_CAPTURING();
  return copy(to, topitch, from, frompitch, width, height, kind, NULL);
}

API cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
  CUgraphNode_st n = {};

  RETURN_IF_BROKEN();
  if (!width || !height) return done(cudaSuccess);
  if (width > pitch || !allocation_of(to, (height - 1) * pitch + width)) return done(cudaErrorInvalidValue);
  n.type = cudaGraphNodeTypeMemset;
  n.to = (char *)to;
  n.value = value;
  n.width = width;
  n.height = height;
  n.topitch = pitch;
  return add(stream, std::move(n));
}
API cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
  RETURN_IF_CAPTURING();
  return cudaMemset2DAsync(to, pitch, value, width, height, NULL);
}
API cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
  return cudaMemset2DAsync(to, bytes, value, bytes, 1, stream);
}
API cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
  return cudaMemset2D(to, bytes, value, bytes, 1);
}

/* ---- Devices ---- */

API cudaError_t cudaGetDeviceCount(int *n)
{
  *n = state().devices;
  return done(*n ? cudaSuccess : cudaErrorNoDevice);
}
API cudaError_t cudaGetDevice(int *device)
{
  *device = state().device;
  return done(state().devices ? cudaSuccess : cudaErrorNoDevice);
}
API cudaError_t cudaSetDevice(int device)
{
  if (device < 0 || device >= state().devices) return done(cudaErrorInvalidDevice);
  state().device = device;
  return done(cudaSuccess);
}
API cudaError_t cudaSetDeviceFlags(unsigned)
{
  return done(cudaSuccess);
}
API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
  *least = 0;
  *greatest = -5;
  return done(cudaSuccess);
}

API cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
  if (device < 0 || device >= state().devices) return done(cudaErrorInvalidDevice);
  *p = {};
  snprintf(p->name, sizeof(p->name), "NVIDIA H200 (emulated)");
  memcpy(p->uuid.bytes, "emulated device", 15); /* that of another process is the same */
  p->uuid.bytes[15] = (char)device;
  p->major = ARCHITECTURE / 10;
  p->minor = ARCHITECTURE % 10;
  p->totalGlobalMem = state().total;
  p->totalConstMem = CONSTANT;
  p->sharedMemPerBlock = SHARED_DEFAULT;
  p->sharedMemPerBlockOptin = SHARED_OPTIN;
  p->sharedMemPerMultiprocessor = SHARED_SM;
  p->reservedSharedMemPerBlock = SHARED_RESERVED;
  p->regsPerBlock = REGISTERS;
  p->regsPerMultiprocessor = REGISTERS;
  p->warpSize = 32;
  p->memPitch = INT_MAX;
  p->maxThreadsPerBlock = THREADS_BLOCK;
  p->maxThreadsPerMultiProcessor = THREADS_SM;
  p->maxBlocksPerMultiProcessor = BLOCKS_SM;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = GRID_X;
  p->maxGridSize[1] = p->maxGridSize[2] = GRID_YZ;
  p->multiProcessorCount = SMS;
  p->l2CacheSize = L2;
  p->memoryBusWidth = 6144;
  p->asyncEngineCount = 3;
  p->concurrentKernels = p->unifiedAddressing = p->canMapHostMemory = p->streamPrioritiesSupported =
    p->memoryPoolsSupported = p->clusterLaunch = 1;
  p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->textureAlignment = 512;
  return done(cudaSuccess);
}
API cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
  static const std::map<cudaDeviceAttr, int> known = {
    {cudaDevAttrComputeCapabilityMajor,           ARCHITECTURE / 10},
    {cudaDevAttrComputeCapabilityMinor,           ARCHITECTURE % 10},
    {cudaDevAttrMultiProcessorCount,              SMS              },
    {cudaDevAttrMaxSharedMemoryPerBlock,          SHARED_DEFAULT   },
    {cudaDevAttrMaxSharedMemoryPerBlockOptin,     SHARED_OPTIN     },
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, SHARED_SM        },
    {cudaDevAttrReservedSharedMemoryPerBlock,     SHARED_RESERVED  },
    {cudaDevAttrMaxRegistersPerBlock,             REGISTERS        },
    {cudaDevAttrMaxRegistersPerMultiprocessor,    REGISTERS        },
    {cudaDevAttrMaxThreadsPerBlock,               THREADS_BLOCK    },
    {cudaDevAttrMaxThreadsPerMultiProcessor,      THREADS_SM       },
    {cudaDevAttrMaxBlocksPerMultiprocessor,       BLOCKS_SM        },
    {cudaDevAttrMaxGridDimX,                      GRID_X           },
    {cudaDevAttrMaxGridDimY,                      GRID_YZ          },
    {cudaDevAttrMaxGridDimZ,                      GRID_YZ          },
    {cudaDevAttrWarpSize,                         32               },
    {cudaDevAttrL2CacheSize,                      L2               },
    {cudaDevAttrMemoryPoolsSupported,             1                },
    {cudaDevAttrClusterLaunch,                    1                },
    {cudaDevAttrUnifiedAddressing,                1                },
    {cudaDevAttrConcurrentKernels,                1                },
    {cudaDevAttrStreamPrioritiesSupported,        1                },
    {cudaDevAttrManagedMemory,                    0                },
    {cudaDevAttrPageableMemoryAccess,             0                },
    {cudaDevAttrConcurrentManagedAccess,          0                },
    {cudaDevAttrCooperativeLaunch,                0                },
    {cudaDevAttrComputeMode,                      0                },
    {cudaDevAttrIntegrated,                       0                }
  };
  const auto a = known.find(attribute);

  if (device < 0 || device >= state().devices) return done(cudaErrorInvalidDevice);
  if (a == known.end()) {
    fprintf(stderr, "bcr_emulator: attribute %d of the device is not known\n", (int)attribute);
    return done(cudaErrorInvalidValue);
  }
  *value = a->second;
  return done(cudaSuccess);
}

/* ---- Attributes of kernels, and how many blocks there is room for (as if registers sufficed: PTX
   does not say how many there are) ---- */

API cudaError_t cudaFuncSetAttribute(const void *f, cudaFuncAttribute attribute, int value)
{
  cudaKernel_t k = kernel_find(f);
  EmuKernel *e;

  RETURN_IF_BROKEN();
  if (!k) return done(cudaErrorInvalidDeviceFunction);
  if (!(e = kernel_of(k))) return done(cudaErrorNoKernelImageForDevice);
  switch (attribute) {
  case cudaFuncAttributeMaxDynamicSharedMemorySize:
    if (value < 0 || (size_t)value + emu_kernel_static_shared(e) > (size_t)SHARED_OPTIN)
      return done(cudaErrorInvalidValue);
    k->dynamic_shared = value;
    break;
  case cudaFuncAttributePreferredSharedMemoryCarveout:
    if (value < -1 || value > 100) return done(cudaErrorInvalidValue);
    break;
  case cudaFuncAttributeNonPortableClusterSizeAllowed:
    k->large_clusters = value != 0;
    break;
  default:
    return done(cudaErrorInvalidValue);
  }
  return done(cudaSuccess);
}
API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *f)
{
  cudaKernel_t k = kernel_find(f);
  EmuKernel *e;

  RETURN_IF_BROKEN();
  *a = {};
  if (!k) return done(cudaErrorInvalidDeviceFunction);
  if (thrust_knows(k->name)) {
    a->maxThreadsPerBlock = 1024;
    a->ptxVersion = a->binaryVersion = ARCHITECTURE;
    return done(cudaSuccess);
  }
  if (!(e = kernel_of(k))) return done(cudaErrorNoKernelImageForDevice);
  a->sharedSizeBytes = emu_kernel_static_shared(e);
  a->maxThreadsPerBlock = emu_kernel_max_threads(e);
  a->maxDynamicSharedSizeBytes = k->dynamic_shared < 0 ? SHARED_DEFAULT - (int)a->sharedSizeBytes : k->dynamic_shared;
  a->ptxVersion = a->binaryVersion = ARCHITECTURE;
  a->nonPortableClusterSizeAllowed = k->large_clusters;
  a->numRegs = std::min(255, REGISTERS / a->maxThreadsPerBlock);
  return done(cudaSuccess);
}
API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *f, int threads,
                                                                       size_t shared, unsigned)
{
  cudaFuncAttributes a;
  const cudaError_t e = cudaFuncGetAttributes(&a, f);

  *blocks = 0;
  if (e != cudaSuccess) return e;
  if (threads < 1) return done(cudaErrorInvalidValue);
  if (threads > a.maxThreadsPerBlock || shared > (size_t)a.maxDynamicSharedSizeBytes) return done(cudaSuccess);
  *blocks = std::min({BLOCKS_SM, THREADS_SM / ((threads + 31) / 32 * 32),
                      (int)((size_t)SHARED_SM / (shared + a.sharedSizeBytes + SHARED_RESERVED))});
  return done(cudaSuccess);
}
API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *f, int threads, size_t shared)
{
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, shared, 0);
}
API cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *f, const cudaLaunchConfig_t *c)
{
  cudaKernel_t k = kernel_find(f);
  dim3 cluster;
  int blocks;
  cudaError_t e = cluster_of(c, &cluster);

  *clusters = 0;
  if (e == cudaSuccess)
    e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, (int)(c->blockDim.x * c->blockDim.y * c->blockDim.z),
                                                      c->dynamicSmemBytes);
  if (e != cudaSuccess) return done(e);
  const int size = (int)(cluster.x * cluster.y * cluster.z);
  if (size < 1 || size > (k->large_clusters ? CLUSTER_MOST : CLUSTER_PORTABLE))
    return done(cudaErrorInvalidClusterSize);
  for (int g = 0; g < GROUPS; g++) *clusters += GROUP_SMS[g] * blocks / size;
  return done(cudaSuccess);
}

/* ---- Errors: their texts are of the real library ---- */

API cudaError_t cudaPeekAtLastError()
{
  return state().sticky != cudaSuccess ? state().sticky : state().last;
}
API cudaError_t cudaGetLastError()
{
  const cudaError_t e = cudaPeekAtLastError();

  state().last = cudaSuccess;
  return e;
}
API const char *cudaGetErrorString(cudaError_t e)
{
  const auto real = (const char *(*)(cudaError_t))dlsym(RTLD_NEXT, "cudaGetErrorString");

  return real ? real(e) : "unknown error";
}
API const char *cudaGetErrorName(cudaError_t e)
{
  const auto real = (const char *(*)(cudaError_t))dlsym(RTLD_NEXT, "cudaGetErrorName");

  return real ? real(e) : "cudaErrorUnknown";
}
