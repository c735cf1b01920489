#define BCR_ISA 0
#include "kernels.h"
