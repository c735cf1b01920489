#define BCR_ISA 1
#include "kernels.h"
