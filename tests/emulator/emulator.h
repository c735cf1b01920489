/*
  Runs CUDA kernels on the host, from their PTX, to test them where there is no device: slow, for small cases.

  ptx.cc reads PTX and executes it, every thread by itself as the PTX manual says, runtime.cc stands
  in for the functions of libcudart that this library and its tests call (preloaded before the real
  one), blas.cc for those of libcublas.
*/
#if !defined(BCR_EMULATOR_H)
  #define BCR_EMULATOR_H
  #include <cstddef>
  #include <cuda_runtime_api.h>
  #include <functional>
  #include <string>

struct EmuKernel;

/* PTX of a module. Its entries are read when they are first launched; its variables are made at once */
void emu_module_add(const char *ptx, size_t bytes);
/* NULL: no module has it. The name is the mangled one */
EmuKernel *emu_kernel_find(const std::string &name);
/* Number of parameters, and bytes of each */
int emu_kernel_parameters(EmuKernel *kernel);
size_t emu_kernel_parameter_bytes(EmuKernel *kernel, int parameter);
size_t emu_kernel_static_shared(EmuKernel *kernel);
int emu_kernel_max_threads(EmuKernel *kernel); /* .maxntid, else 1024 */
/* A variable of .global or .const; NULL: no module has it */
void *emu_variable_find(const std::string &name, size_t *bytes);
/* arguments: the address of each. Returns when the last thread has ended. An empty string, or what
   went wrong (an address that no allocation has, a barrier that cannot be left, an instruction that
   is not known), with the kernel, its thread and the line of PTX */
std::string emu_launch(EmuKernel *kernel, const unsigned grid[3], const unsigned block[3], const unsigned cluster[3],
                       size_t dynamic_shared, void *const *arguments);

/* Memory of the device: of runtime.cc, which ptx.cc asks whether an access lies in it (pinned host
   memory counts, too), and in what allocation */
bool emu_memory_holds(const void *address, size_t bytes, char **begin, char **end);
/* What a kernel of another library does, in the order of the stream, or of a graph that captures it: work says what went
   wrong, as emu_launch() */
cudaError_t emu_stream_add(cudaStream_t stream, std::function<std::string()> work);
#endif
