/* cuFFT for the programs in bench/, loaded when it is needed, as not every machine has it */
#pragma once

#include <cuda_runtime.h>
#include <cufft.h>
#include <dlfcn.h>

static struct {
  cufftResult (*many)(cufftHandle *, int, int *, int *, int, int, int *, int, int, cufftType, int);
  cufftResult (*forward[2])(cufftHandle, void *, void *), (*back[2])(cufftHandle, void *, void *); /* double, single */
  cufftResult (*stream)(cufftHandle, cudaStream_t);
  cufftResult (*destroy)(cufftHandle);
} fft;

static bool fft_load(void)
{
  void *lib = fft.many ? NULL : dlopen("libcufft.so.12", RTLD_NOW);

  if (fft.many) return true;
  if (!lib) lib = dlopen("libcufft.so", RTLD_NOW);
  if (!lib) lib = dlopen("/usr/local/cuda/lib64/libcufft.so", RTLD_NOW);
  if (!lib) return false;
  *(void **)&fft.forward[0] = dlsym(lib, "cufftExecD2Z");
  *(void **)&fft.forward[1] = dlsym(lib, "cufftExecR2C");
  *(void **)&fft.back[0] = dlsym(lib, "cufftExecZ2D");
  *(void **)&fft.back[1] = dlsym(lib, "cufftExecC2R");
  *(void **)&fft.stream = dlsym(lib, "cufftSetStream");
  *(void **)&fft.destroy = dlsym(lib, "cufftDestroy");
  *(void **)&fft.many = dlsym(lib, "cufftPlanMany");
  return fft.many && fft.stream && fft.destroy && fft.forward[0] && fft.forward[1] && fft.back[0] && fft.back[1];
}
