#include "cpu.h"

extern const BCRCpuTable BCRCpuTable_d0, BCRCpuTable_f0;
#if defined(__x86_64__)
extern const BCRCpuTable BCRCpuTable_d1, BCRCpuTable_f1, BCRCpuTable_d2, BCRCpuTable_f2;
#endif

int BCRCpuBestISA(void)
{
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
      return 2;
    return 1;
  }
#endif
  return 0;
}

const BCRCpuTable *BCRCpuGetTable(int isa, int single)
{
  const int best = BCRCpuBestISA();

  if (isa < 0 || isa > best) isa = best;
#if defined(__x86_64__)
  if (isa == 2) return single ? &BCRCpuTable_f2 : &BCRCpuTable_d2;
  if (isa == 1) return single ? &BCRCpuTable_f1 : &BCRCpuTable_d1;
#endif
  return single ? &BCRCpuTable_f0 : &BCRCpuTable_d0;
}

const BCRPolesTable *BCRCpuPoles(int isa, int single)
{
  return BCRCpuGetTable(isa, single)->poles;
}

const BCRFieldsTable *BCRCpuFields(int isa, int single)
{
  return BCRCpuGetTable(isa, single)->fields;
}
