#define BCR_KERNELS_TRI
#define BCR_REAL_SINGLE
#define BCR_ISA 2
#include "kernels.h"
