/*
  All CPU kernels for one instruction set and one precision. Included by kernels_{d,f}{0,1,2}.c, and
  with BCR_KERNELS_TRI (those of lines alone, so that they compile on their own) by
  tri_{d,f}{0,1,2}.c, which define BCR_ISA and, for float work, BCR_REAL_SINGLE. The targets are set
  here, in the source, so that no build system needs flags per file; the code runs only after cpu.c
  has seen that the machine has the instructions.
*/
#include "../../base/petscbcrimpl.h"

#if BCR_ISA > 0 && !defined(__x86_64__)
typedef int bcr_no_kernels_here; /* the wider instruction sets are x86-64's */
#else
  #include "cpu.h"

  #if BCR_ISA == 2
    #define BCR_TARGET "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"
  #elif BCR_ISA == 1
    #define BCR_TARGET "avx2,fma"
  #endif

  #if BCR_ISA > 0
    #include <immintrin.h>
    #if defined(__clang__)
      #pragma clang attribute push(__attribute__((target(BCR_TARGET))), apply_to = function)
    #else
      #pragma GCC push_options
      #if BCR_ISA == 2
        #pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,prefer-vector-width=512")
      #else
        #pragma GCC target("avx2,fma")
      #endif
    #endif
  #endif

  #include "simd.h"
  #if defined(BCR_KERNELS_TRI)
    #include "dttio_kernels.h"
    #include "lanes.h"
    #include "tri_kernels.h"
  #else
    #include "dtt_kernels.h"
    #include "lanes.h"
    #include "lines_kernels.h"
    #include "level0_kernels.h"
    #include "poles_kernels.h"
    #include "polesum_kernels.h"
    #include "fields_kernels.h"
    #include "recurrence_kernels.h"
    #include "compact_kernels.h"
    #include "waves_kernels.h"
  #endif

  #if BCR_ISA > 0
    #if defined(__clang__)
      #pragma clang attribute pop
    #else
      #pragma GCC pop_options
    #endif
  #endif

  #if defined(BCR_KERNELS_TRI)
const BCRTriTable BCRN(BCRTri) = {BCRN(lag_work),   BCRN(tri_work),    BCRN(tri_pack),
                                  BCRN(tri_unpack), BCRN(tri_factors), BCRN(tri_scan)};
  #else
extern const BCRTriTable BCRN(BCRTri);

const BCRCpuTable BCRN(BCRCpuTable) = {
  .isa = BCR_ISA == 2 ? "AVX-512" : (BCR_ISA == 1 ? "AVX2" : "baseline"),
  .lanes = VL,
  .dtt = {BCRN(BCRDttRows), BCRN(BCRDttCols), BCRN(BCRDttLayer)},
  .lines = &BCRN(BCRLines),
  .level0 = &BCRN(BCRLevel0),
  .poles = &BCRN(BCRPoles),
  .polesum = &BCRN(BCRPoleSums),
  .fields = &BCRN(BCRFields),
  .tri = &BCRN(BCRTri),
  .bundle = BL,
  .recur = &BCRN(BCRRecur),
  .compact = &BCRN(BCRCompact),
    #if !defined(BCR_REAL_SINGLE)
  .waves = &BCRN(BCRWaves),
    #endif
};
  #endif
#endif
