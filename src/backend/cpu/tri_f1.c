#define BCR_KERNELS_TRI
#define BCR_REAL_SINGLE
#define BCR_ISA 1
#include "kernels.h"
