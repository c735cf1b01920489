#define BCR_ISA 2
#include "kernels.h"
