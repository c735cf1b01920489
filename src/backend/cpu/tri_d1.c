#define BCR_KERNELS_TRI
#define BCR_ISA 1
#include "kernels.h"
