static char help[] = "Right-hand sides of compact differences over ranks, and their transposes: every row against a "
                     "sum over the gathered line.\n\n";

/* ranks: 1 2 3 4 6 8 */
/* quick: 2 */

#include "../petsc/testing.h"
#include "src/compact/compact.h"

static PetscReal Random(unsigned *seed)
{
  *seed = 1664525u * *seed + 1013904223u;
  return (PetscReal)(*seed >> 8) / (PetscReal)(1 << 24) - (PetscReal)0.5;
}

/* parts[]: of each rank */
static PetscErrorCode TestBand(MPI_Comm comm, const char *what, const BCRBand *band, const PetscInt parts[],
                               PetscInt inner, PetscInt outer)
{
  PetscMPIInt rank;
  PetscInt start = 0, local, n = band->n;
  unsigned seed = (unsigned)(17 * n + inner);
  PetscReal *all, *f, *u, size = 0;
  double worst = 0;
  BCRStencil s;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  for (PetscMPIInt q = 0; q < rank; ++q) start += parts[q];
  local = parts[rank];
  PetscCall(PetscMalloc3(inner * n * outer, &all, inner * local * outer, &f, inner * local * outer, &u));
  for (PetscInt i = 0; i < inner * n * outer; ++i) all[i] = Random(&seed);
  PetscCall(BCRStencilCreate(comm, band, inner, local, outer, &s));
  for (PetscInt again = 0; again < 2; ++again) { /* buffers are used again */
    for (PetscInt i = 0; i < inner * n * outer; ++i) all[i] += (PetscReal)again;
    for (PetscInt o = 0; o < outer; ++o)
      PetscCall(PetscArraycpy(f + inner * local * o, all + inner * (start + n * o), inner * local));
    PetscCall(PetscArrayzero(u, inner * local * outer));
    PetscCall(BCRStencilBegin(s, f));
    PetscCall(BCRStencilInner(s, f, u, 0, outer / 2));
    PetscCall(BCRStencilWait(s));
    PetscCall(BCRStencilInner(s, f, u, outer / 2, outer));
    PetscCall(BCRStencilEdges(s, f, u, 1, outer));
    PetscCall(BCRStencilEdges(s, f, u, 0, 1));
    for (PetscInt o = 0; o < outer; ++o) {
      for (PetscInt j = 0; j < local; ++j) {
        BCRBandRow r;

        PetscCall(BCRBandGetRow(band, start + j, &r));
        for (PetscInt i = 0; i < inner; ++i) {
          PetscReal sum = 0;

          for (PetscInt k = 0; k < r.points; ++k)
            sum += (PetscReal)r.c[k] * all[i + inner * ((r.start + k + 4 * n) % n + n * o)];
          TestLargest(&worst, PetscAbsReal(sum - u[i + inner * (j + local * o)]));
          size = PetscMax(size, PetscAbsReal(sum));
        }
      }
    }
  }
  Check(worst <= 20 * PETSC_MACHINE_EPSILON * (1 + size),
        "%s, n %d, my part %d from %d, inner %d, outer %d: off by %g of %g", what, (int)n, (int)local, (int)start,
        (int)inner, (int)outer, (double)worst, (double)size);
  PetscCall(BCRStencilDestroy(&s));
  PetscCall(PetscFree3(all, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B^T, entry by entry */
static PetscErrorCode TestTranspose(const char *what, const BCRBand *B, const BCRBand *T)
{
  const PetscInt n = B->n;
  double *b;
  PetscInt wrong = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n * n, &b));
  for (PetscInt t = 0; t < 2; ++t) {
    for (PetscInt i = 0; i < n; ++i) {
      BCRBandRow r;

      PetscCall(BCRBandGetRow(t ? T : B, i, &r));
      for (PetscInt k = 0; k < r.points; ++k) {
        const PetscInt p = (r.start + k + 4 * n) % n;

        if (t) b[i + p * n] -= r.c[k];
        else b[i * n + p] += r.c[k];
      }
    }
  }
  for (PetscInt i = 0; i < n * n; ++i) wrong += b[i] != 0;
  Check(!wrong, "%s, n %d: %d entries of the transpose are wrong", what, (int)n, (int)wrong);
  PetscCall(PetscFree(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt scheme = 0; scheme <= MAT_COMPACT_SPECTRAL; ++scheme) {
    for (PetscInt m = 1; m <= 2; ++m) {
      for (PetscInt periodic = 0; periodic < 2; ++periodic) {
        const PetscInt closure = periodic ? PETSC_DECIDE : (m == 1 ? 3 : 4);
        BCRCompactScheme s;

        PetscCall(BCRCompactGetScheme((MatCompactScheme)scheme, m, closure, (PetscBool)periodic, &s));
        for (PetscInt split = 0; split < 4; ++split) {
          PetscInt parts[8], n = 0;
          BCRBand B, T;
          char what[64];

          for (PetscMPIInt q = 0; q < size; ++q) {
            /* one point per rank but for one; even; uneven; an empty one */
            parts[q] = split == 0 ? (q == size - 1 ? PetscMax(1, s.minimum + 1 - size) : 1)
                                  : (split == 1 ? 13 : (split == 2 ? 1 + 7 * ((q + 1) % 3) : (q == 1 ? 0 : 11)));
            n += parts[q];
          }
          if (n < s.minimum) parts[0] += s.minimum - n, n = s.minimum;
          (void)snprintf(what, sizeof(what), "%s, derivative %d%s, split %d", MatCompactSchemes[scheme], (int)m,
                         periodic ? ", periodic" : "", (int)split);
          PetscCall(BCRCompactGetBand(&s, n, (PetscBool)periodic, (PetscReal)0.25, &B));
          PetscCall(BCRBandTranspose(&B, &T));
          PetscCall(TestTranspose(what, &B, &T));
          PetscCall(TestBand(PETSC_COMM_WORLD, what, &B, parts, 1, 5));
          PetscCall(TestBand(PETSC_COMM_WORLD, what, &B, parts, 6, 2));
          PetscCall(TestBand(PETSC_COMM_WORLD, what, &B, parts, 1100, 1));
          PetscCall(TestBand(PETSC_COMM_WORLD, what, &T, parts, 3, 2));
          PetscCall(BCRBandDestroy(&B));
          PetscCall(BCRBandDestroy(&T));
        }
      }
    }
  }
  PetscCall(PetscFinalize());
  return TestEnd();
}
