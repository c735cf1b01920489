#define BCR_KERNELS_TRI
#define BCR_REAL_SINGLE
#define BCR_ISA 0
#include "kernels.h"
