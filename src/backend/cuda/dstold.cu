#define EVEN_OLD
#define BCRCudaDst         BCRCudaDstOld
#define BCRCudaDstOrder    BCRCudaDstOrderOld
#define BCRCudaDstPossible BCRCudaDstPossibleOld
#define BCRCudaDstSigns    BCRCudaDstSignsOld
#define BCRCudaDstTable    BCRCudaDstTableOld
#include "dst.cu"
