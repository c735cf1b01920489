#define BCR_KERNELS_TRI
#define BCR_ISA 0
#include "kernels.h"
