/*
  Products of axes in two dimensions, c_0 + c_1 T_x + c_2 T_y + c_3 T_x T_y, all pairs of ends: by level 0 (separators
  transformed along x and across) and by transforms along all axes. Both solutions against the operator applied row by
  row, and one against the other. Elements of any aspect ratio, Mehrstellen, lines of a pole that are not coupled, shifts,
  singular ones; instruction sets, precisions, strides, in place, tiles; a shift that changes the plan.
*/
#include "src/poisson/core.h"
#include "tests/check.h"
#include <string.h>

static int passed = 0, failed = 0, count[3] = {0, 0, 0}, turned = 0;
static double worst[2] = {0, 0}, apart[2] = {0, 0};

typedef struct {
  BCRAxis axis[2];
  PetscReal mixed[8];
  double c[4];
  PetscBool singular;
  PetscInt stride[2];
  size_t size;
} Plane;

static PetscInt extent(void)
{
  static const PetscInt some[] = {12, 13, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 131, 257};

  switch (lrand48() % 3) {
  case 0:
    return some[lrand48() % 14];
  case 1:
    return 8 * (2 + lrand48() % 12) + (PetscInt[]){-1, 0, 1}[lrand48() % 3]; /* a coarser axis for some ends */
  default:
    return 12 + lrand48() % 70;
  }
}

static void plane_random(Plane *p, PetscInt t)
{
  static const BCREnd ends[9][2] = {
    {BCR_END_DIRICHLET,      BCR_END_DIRICHLET     },
    {BCR_END_NEUMANN,        BCR_END_NEUMANN       },
    {BCR_END_DIRICHLET,      BCR_END_NEUMANN       },
    {BCR_END_NEUMANN,        BCR_END_DIRICHLET     },
    {BCR_END_CELL_NEUMANN,   BCR_END_CELL_NEUMANN  },
    {BCR_END_CELL_DIRICHLET, BCR_END_CELL_DIRICHLET},
    {BCR_END_CELL_NEUMANN,   BCR_END_CELL_DIRICHLET},
    {BCR_END_CELL_DIRICHLET, BCR_END_CELL_NEUMANN  },
    {BCR_END_PERIODIC,       BCR_END_PERIODIC      }
  };
  const double mass = t % 3 ? (lrand48() % 2 ? 1 : 1e-3) * drand48() : 0, r = pow(10, 2 * drand48() - 1),
               part = t % 5 == 4 ? 12 : 6; /* M = 1 - T/part */
  PetscBool definite = PETSC_FALSE;

  memset(p, 0, sizeof(*p));
  for (int d = 0; d < 2; d++) {
    const int pair = (int)(d ? t / 9 : t) % 9;

    p->axis[d].n = extent();
    p->axis[d].a = 1;
    for (int e = 0; e < 2; e++) {
      p->axis[d].end[e] = ends[pair][e];
      if (BCREndExcess(ends[pair][e]) > 0) definite = PETSC_TRUE;
    }
  }
  p->axis[0].n = PetscMax(p->axis[0].n, 16);
  p->c[0] = mass;
  p->c[1] = r - mass / part;
  p->c[2] = 1 - mass / part;
  p->c[3] = -(1 + r) / part + mass / (part * part);
  if (t % 7 == 6) { /* lines of one pole of a group are not coupled, or next to it */
    const double pole = 4 * pow(sin((double)(1 + lrand48() % 7) * M_PI / 16), 2);

    p->c[3] = -p->c[1] / pole * (1 + 1e-13 * (double)(lrand48() % 3));
    p->c[2] = PetscMax(1, -p->c[1] - 4 * p->c[3] + 0.1); /* definite still */
  }
  p->singular = definite || mass > 0 ? PETSC_FALSE : PETSC_TRUE;
  for (int set = 1; set < 4; set++) p->mixed[set] = (PetscReal)p->c[set];
  for (int set = 0; set < 4; set++) p->c[set] = set ? (double)p->mixed[set] : (double)(PetscReal)p->c[set];
  p->stride[0] = 1;
  p->stride[1] = p->axis[0].n + lrand48() % 3;
  p->size = (size_t)p->stride[1] * (size_t)p->axis[1].n;
}

/* (T v)_i along an axis, v having the given stride */
static long double second(const BCRAxis *x, PetscInt i, const double *v, PetscInt stride)
{
  const PetscInt n = x->n;
  double low, diag, up;

  BCRAxisGetRow(x, i, &low, &diag, &up);
  return (long double)diag * v[i * stride] - (long double)low * v[(i + n - 1) % n * stride] -
         (long double)up * v[(i + 1) % n * stride];
}

static double backward(const Plane *p, double factor, double removed, const double *f, const double *u)
{
  const PetscInt nx = p->axis[0].n, ny = p->axis[1].n, ld = p->stride[1];
  const double size = fabs(p->c[0]) + 4 * (fabs(p->c[1]) + fabs(p->c[2])) + 16 * fabs(p->c[3]);
  double most = 0, fmost = 0, r = 0, *tx;

  tx = calloc(p->size, sizeof(*tx));
  for (PetscInt j = 0; j < ny; j++)
    for (PetscInt i = 0; i < nx; i++) tx[i + j * ld] = (double)second(&p->axis[0], i, u + j * ld, 1);
  for (PetscInt j = 0; j < ny; j++)
    for (PetscInt i = 0; i < nx; i++) {
      const long double v = p->c[0] * (long double)u[i + j * ld] + p->c[1] * (long double)tx[i + j * ld] +
                            p->c[2] * second(&p->axis[1], j, u + i, ld) + p->c[3] * second(&p->axis[1], j, tx + i, ld);

      TestLargest(&r, (double)fabsl(v - factor * ((long double)f[i + j * ld] - removed)));
      TestLargest(&most, fabs(u[i + j * ld]));
      TestLargest(&fmost, fabs(factor * f[i + j * ld]));
    }
  free(tx);
  return r / (size * most + fmost);
}

/* One solve by the plan that plain and separators leave; other: the shift that the core is made with */
static PetscErrorCode solve(const Plane *p, const BCRCoreOptions *options, BCRPrecision io, double other, double factor,
                            PetscBool inplace, const double *f, double *u, PetscReal *removed, BCRCoreInfo *info)
{
  float *ff, *uu;
  double *before;
  BCRCore core;

  PetscFunctionBegin;
  PetscCall(PetscCalloc3(p->size, &ff, p->size, &uu, p->size, &before));
  PetscCall(
    BCRCoreCreateProduct(2, p->axis, p->mixed, (PetscReal)other, p->singular, p->stride, io, options, NULL, &core));
  PetscCall(BCRCoreGetInfo(core, info));
  turned += info->kind == BCR_PLAN_SPECTRAL && !options->plain;
  PetscCall(BCRCoreSetFactor(core, (PetscReal)factor));
  PetscCall(BCRCoreSetShift(core, (PetscReal)p->c[0]));
  for (int again = 0; again < 2; again++) {
    if (again) PetscCall(PetscArraycpy(before, u, p->size));
    for (size_t i = 0; i < p->size; i++) ff[i] = (float)f[i];
    if (io == BCR_SINGLE) {
      if (inplace) PetscCall(PetscArraycpy(uu, ff, p->size));
      PetscCall(BCRCoreSolve(core, inplace ? uu : ff, uu, removed));
      for (size_t i = 0; i < p->size; i++) u[i] = (double)uu[i];
    } else {
      if (inplace) PetscCall(PetscArraycpy(u, f, p->size));
      PetscCall(BCRCoreSolve(core, inplace ? u : f, u, removed));
    }
    if (again && memcmp(u, before, p->size * sizeof(*u))) {
      failed++;
      printf("a second solve differs\n");
    }
  }
  PetscCall(BCRCoreGetInfo(core, info));
  PetscCall(BCRCoreDestroy(&core));
  PetscCall(PetscFree3(ff, uu, before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases = 324, first = 0;

  PetscCall(PetscInitialize(&argc, &argv, NULL, "Tests products of axes by level 0"));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  for (PetscInt t = first; t < first + cases; t++) {
    double *f, *u[3];
    Plane p;

    srand48(t + 1);
    plane_random(&p, t);
    PetscCall(PetscMalloc4(p.size, &f, p.size, &u[0], p.size, &u[1], p.size, &u[2]));
    for (size_t i = 0; i < p.size; i++) f[i] = (double)(float)(2 * drand48() - 1);
    for (int precision = 0; precision < 3; precision++) /* double; float arrays; double arrays, float work */
      for (int isa = 0; isa < 3; isa++) {
        const int single = precision ? 1 : 0;
        const double tol = single ? 5e-7 : (sizeof(PetscReal) == sizeof(float) ? 1e-6 : 2e-15),
                     factor = lrand48() % 2 ? 1 : -2.5,
                     other = p.singular ? 0 : p.c[0] - (lrand48() % 2 ? 0 : 3 * (p.c[1] + p.c[2])); /* of either sign */

        for (int way = 0; way < 3; way++) { /* as it is chosen, separators along x, all axes */
          BCRCoreOptions options;
          BCRCoreInfo info;
          PetscReal removed;
          double error, difference = 0, most = 0;

          memset(&options, 0, sizeof(options));
          options.isa = isa;
          options.precision = single ? BCR_SINGLE : BCR_DOUBLE;
          options.separators = way == 0 && t % 2 ? 2 : way;
          options.plain = way == 2 ? PETSC_TRUE : PETSC_FALSE;
          options.ring = t / 2 % 2 ? 24576 : 0;
          PetscCall(solve(&p, &options, precision == 1 ? BCR_SINGLE : BCR_DOUBLE, other, factor,
                          lrand48() % 2 ? PETSC_TRUE : PETSC_FALSE, f, u[way], &removed, &info));
          error = backward(&p, factor, p.singular ? (double)removed : 0, f, u[way]);
          TestLargest(&worst[single], error);
          for (PetscInt j = 0; j < p.axis[1].n && way; j++)
            for (PetscInt i = 0; i < p.axis[0].n; i++) {
              const size_t at = (size_t)(i + j * p.stride[1]);

              TestLargest(&difference, fabs(u[way][at] - u[0][at]));
              TestLargest(&most, fabs(u[way][at]));
            }
          if (way) TestLargest(&apart[single], difference / most);
          count[way == 2 ? 2 : (info.kind == BCR_PLAN_POLES ? 1 : 0)]++;
          if (error <= tol && difference <= (single ? 2e-2 : 1e-9 * (tol / 2e-15)) * most &&
              (info.kind == BCR_PLAN_SPECTRAL) == (way == 2))
            passed++;
          else {
            failed++;
            printf("case %d isa %d precision %d n %d %d ends %d%d %d%d c %g %g %g %g singular %d: error %.1e, differs "
                   "by %.1e of %.1e, %s\n",
                   (int)t, isa, precision, (int)p.axis[0].n, (int)p.axis[1].n, p.axis[0].end[0], p.axis[0].end[1],
                   p.axis[1].end[0], p.axis[1].end[1], p.c[0], p.c[1], p.c[2], p.c[3], p.singular, error, difference,
                   most, info.plan);
          }
        }
      }
    PetscCall(PetscFree4(f, u[0], u[1], u[2]));
  }
  printf("largest backward error: double %.1e, single %.1e; plans differ by %.1e, %.1e\n", worst[0], worst[1], apart[0],
         apart[1]);
  printf("separators along x: %d solves, across: %d, all axes: %d; %d plans changed with the shift\n", count[0],
         count[1], count[2], turned);
  if (cases >= 324 && (!count[0] || !count[1] || !turned)) failed++;
  PetscCall(PetscFinalize());
  return TestStatus(1, passed, failed);
}
