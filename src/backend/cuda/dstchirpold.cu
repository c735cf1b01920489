#define EVEN_OLD
#define BCRCudaDstChirp         BCRCudaDstChirpOld
#define BCRCudaDstChirpOrder    BCRCudaDstChirpOrderOld
#define BCRCudaDstChirpPossible BCRCudaDstChirpPossibleOld
#define BCRCudaDstChirpTable    BCRCudaDstChirpTableOld
#include "dstchirp.cu"
