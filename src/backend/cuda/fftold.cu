#define FFT_OLD
#define FFT_APART          __forceinline__
#define BCRCudaFft         BCRCudaFftOld
#define BCRCudaFftDivide   BCRCudaFftDivideOld
#define BCRCudaFftPossible BCRCudaFftPossibleOld
#define BCRCudaFftTwiddles BCRCudaFftTwiddlesOld
#include "fft.cu"
