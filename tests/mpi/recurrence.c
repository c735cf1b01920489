/*
  ranks: 1 2 3 4 5 6 8
  quick: 2

  PetscBCRRecurrenceSolve() against the plain loop in long double: sizes from 0 to 2^20, ranks
  without rows, uneven parts; constant and varying coefficients that shrink, have modulus one, grow
  on some ranks or everywhere, or underflow; w in the place of t and of s; NaN and infinities;
  vectors that do not fit together. Every rank has the whole sequences, and the whole result by
  VecScatter.
*/
#include "tests/petsc/testing.h"
#include <math.h>
#include <complex.h>

#if defined(PETSC_USE_COMPLEX)
typedef long double _Complex wide;
  #define wide_abs cabsl
#else
typedef long double wide;
  #define wide_abs fabsl
#endif

typedef enum {
  SHRINK,
  UNIT,
  GROWING, /* s = 2, t = -1, w = 1 */
  PATCHES, /* grows in some places, shrinks in others */
  UNDER,
  NKINDS
} Kind;
static const char *const kinds[] = {"shrink", "unit", "growing", "patches", "underflow"};

/* the same on all ranks */
static PetscScalar rnds(unsigned short state[3])
{
  const PetscReal x = (PetscReal)(2 * erand48(state) - 1);
#if defined(PETSC_USE_COMPLEX)
  const PetscReal y = (PetscReal)(2 * erand48(state) - 1);

  return PetscCMPLX(x, y) / PetscSqrtReal(2);
#else
  return x;
#endif
}

static PetscScalar coefficient(Kind kind, PetscInt i, unsigned short state[3])
{
  const PetscScalar s = rnds(state);

  if (kind == SHRINK) return (PetscReal)0.95 * s;
  if (kind == UNIT) return s / PetscAbsScalar(s);
  if (kind == GROWING) return 2;
  if (kind == PATCHES) return (i / 40) % 4 == 1 ? (PetscReal)1.5 * s / PetscAbsScalar(s) : (PetscReal)0.7 * s;
  return PETSC_MACHINE_EPSILON * s;
}

/* layout 0: PETSc's, 1: random with empty ranks, 2: all rows on the last rank */
static PetscErrorCode vector(PetscInt N, int layout, unsigned short state[3], Vec *v)
{
  PetscMPIInt size, rank;
  PetscInt n = PETSC_DECIDE, left = N;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscMPIInt p = 0; layout && p < size; p++) {
    PetscInt here =
      p == size - 1 ? left : (layout == 2 || erand48(state) < 0.3 ? 0 : (PetscInt)(erand48(state) * (double)left));

    left -= here;
    if (p == rank) n = here;
  }
  PetscCall(VecCreate(PETSC_COMM_WORLD, v));
  PetscCall(VecSetSizes(*v, n, N));
  PetscCall(VecSetFromOptions(*v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill(Vec v, const PetscScalar *all)
{
  PetscScalar *a;
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &first, &last));
  PetscCall(VecGetArray(v, &a));
  PetscCall(PetscArraycpy(a, all + first, last - first));
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode collect(Vec v, PetscScalar *all)
{
  VecScatter scatter;
  Vec whole;
  const PetscScalar *a;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecScatterCreateToAll(v, &scatter, &whole));
  PetscCall(VecScatterBegin(scatter, v, whole, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, v, whole, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetSize(v, &n));
  PetscCall(VecGetArrayRead(whole, &a));
  PetscCall(PetscArraycpy(all, a, n));
  PetscCall(VecRestoreArrayRead(whole, &a));
  PetscCall(VecDestroy(&whole));
  PetscCall(VecScatterDestroy(&scatter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* place: 0 w apart, 1 w is t, 2 w is s; special: -1, or the row whose t is not finite */
static PetscErrorCode one(PetscInt N, Kind kind, PetscBool constant, int layout, int place, PetscInt special,
                          PetscReal value, unsigned short state[3])
{
  PetscScalar *s, *t, *w, start, scale;
  Vec vs, vt, vw;
  PetscReal size = 1;
  double worst = 0;
  long double distance = 0;
  wide exact;
  PetscInt differ = 0, rankends = 0;
  PetscReal largest = 1;
  const PetscInt *ranges;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(N, &s, N, &t, N, &w));
  start = kind == GROWING ? 1 : rnds(state);
  scale = coefficient(kind, 41, state);
  for (PetscInt i = 0; i < N; i++) {
    s[i] = constant ? scale : coefficient(kind, i, state);
    t[i] = kind == GROWING ? -1 : rnds(state);
  }
  if (special >= 0) t[special] = value;
  PetscCall(vector(N, layout, state, &vt));
  PetscCall(VecDuplicate(vt, &vs));
  PetscCall(VecDuplicate(vt, &vw));
  PetscCall(fill(vs, s));
  PetscCall(fill(vt, t));
  PetscCall(PetscBCRRecurrenceSolve(constant ? NULL : vs, scale, vt, start, place == 1 ? vt : (place == 2 ? vs : vw)));
  PetscCall(collect(place == 1 ? vt : (place == 2 ? vs : vw), w));
  if (special >= 0) {
    PetscScalar x = start;

    for (PetscInt i = 0; i < N; i++) {
      x = s[i] * x + t[i];
      if (PetscIsNanScalar(x) != PetscIsNanScalar(w[i]) || PetscIsInfOrNanScalar(x) != PetscIsInfOrNanScalar(w[i]))
        differ++;
    }
    Check(!differ, "N %d %s constant %d layout %d, %g in row %d: %d entries are not as in the loop", (int)N,
          kinds[kind], constant, layout, (double)value, (int)special, (int)differ);
  } else {
    exact = start;
    PetscCall(VecGetOwnershipRanges(vt, &ranges));
    for (PetscInt i = 0; i < N; i++) {
      const PetscScalar before = i ? w[i - 1] : start;
      long double res = wide_abs((wide)w[i] - (wide)s[i] * (wide)before - (wide)t[i]);

      largest = PetscMax(largest, PetscAbsScalar(before));
      while (ranges[rankends + 1] <= i) {
        rankends++;
        /* what a rank starts from is the product of all s of the rank before times what that one
           started from: as many roundings of a number that, with |s| = 1, may be larger than those
           around */
        if (kind == UNIT && ranges[rankends] == i && i > ranges[rankends - 1])
          res = PetscMax(0, res - 2 * PETSC_MACHINE_EPSILON * sqrtl((long double)(i - ranges[rankends - 1])) * largest);
      }

      exact = (wide)s[i] * exact + (wide)t[i];
      size = PetscMax(PetscMax(size * (PetscReal)0.99, PetscAbsScalar(w[i])), PetscAbsScalar(s[i] * before));
      TestLargest(&worst, (double)(res / size));
      if (wide_abs((wide)w[i] - exact) > distance) distance = wide_abs((wide)w[i] - exact);
    }
    {
      Check(worst <= (kind == PATCHES ? 200 : 40) * PETSC_MACHINE_EPSILON,
            "N %d %s constant %d layout %d place %d: residual %g", (int)N, kinds[kind], constant, layout, place,
            (double)worst);
      if (kind != UNIT && kind != PATCHES)
        Check(distance <= 100 * PETSC_MACHINE_EPSILON, "N %d %s constant %d layout %d place %d: off by %Lg", (int)N,
              kinds[kind], constant, layout, place, distance);
    }
  }
  PetscCall(TestDestroy(&vs, &vt, &vw));
  PetscCall(PetscFree3(s, t, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same error on all ranks, and no hang */
static PetscErrorCode bad_input(void)
{
  Vec t, w;
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 20, &t));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 21, &w));
  CheckError(PetscBCRRecurrenceSolve(NULL, 1, t, 0, w), PETSC_ERR_ARG_SIZ, "same size");
  CheckError(PetscBCRRecurrenceSolve(w, 1, t, 0, t), PETSC_ERR_ARG_SIZ, "same size");
  PetscCall(VecDestroy(&w));
  /* on the first two ranks, on the last two */
  for (PetscMPIInt more = 0; more + 1 < size; more += PetscMax(1, size - 2)) {
    PetscInt n;

    PetscCall(VecGetLocalSize(t, &n));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n + (rank == more ? 1 : (rank == more + 1 ? -1 : 0)), 20, &w));
    CheckError(PetscBCRRecurrenceSolve(NULL, 1, t, 0, w), PETSC_ERR_ARG_INCOMP, "local sizes");
    PetscCall(VecDestroy(&w));
  }
  PetscCall(VecDestroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[] = {0, 1, 2, 3, 4, 5, 7, 16, 17, 61, 128, 1009, 5000};
  unsigned short state[3] = {1, 2, 3};
  PetscMPIInt rank;
  PetscInt failed;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (size_t a = 0; a < PETSC_STATIC_ARRAY_LENGTH(sizes); a++) {
    for (int kind = 0; kind < NKINDS; kind++) {
      for (int layout = 0; layout < 3; layout++) {
        if (kind != PATCHES)
          PetscCall(one(sizes[a], (Kind)kind, PETSC_TRUE, layout, (int)(a + (size_t)layout) % 2, -1, 0, state));
        PetscCall(one(sizes[a], (Kind)kind, PETSC_FALSE, layout, (int)(a + (size_t)layout) % 3, -1, 0, state));
      }
    }
  }
  PetscCall(one(1 << 20, SHRINK, PETSC_TRUE, 1, 1, -1, 0, state));
  PetscCall(one(1 << 20, UNIT, PETSC_FALSE, 0, 0, -1, 0, state));
  PetscCall(one(1 << 20, PATCHES, PETSC_FALSE, 1, 2, -1, 0, state));
  for (int c = 0; c < 2; c++) {
    for (int layout = 0; layout < 2; layout++) {
      PetscCall(one(500, SHRINK, (PetscBool)c, layout, 0, 333, PetscSqrtReal((PetscReal)c - 2), state));
      PetscCall(one(500, SHRINK, (PetscBool)c, layout, 1, 7, PETSC_INFINITY / (PetscReal)(c ? 1 : -1), state));
      PetscCall(one(500, SHRINK, (PetscBool)c, layout, 0, 100, PETSC_MAX_REAL, state));
    }
  }
  PetscCall(bad_input());
  PetscCallMPI(MPI_Allreduce(&TestFailed, &failed, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (!rank) (void)TestEnd();
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
