/*
  What the tests of the PETSc objects share: matrices of all ends on a DMDA, a reference solver, caught errors, counts.
*/
#pragma once

#include <petscbcr.h>
#include <petscsnes.h>
#include <petscdmshell.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/petscbcrimpl.h"
#include "tests/check.h"

static PetscInt TestPassed = 0, TestFailed = 0;

/* One check; says what failed */
#define Check(condition, ...) \
  do { \
    if (condition) ++TestPassed; \
    else { \
      ++TestFailed; \
      (void)printf("%s:%d: ", __FILE__, __LINE__); \
      (void)printf(__VA_ARGS__); \
      (void)printf("\n"); \
      (void)fflush(stdout); \
    } \
  } while (0)

/* The call has to fail with that error code (negative: any) and those words in its message, each line of them */
#define CheckError(call, wanted, words) \
  do { \
    PetscErrorCode error_; \
    TestCaught caught_ = {0, ""}; \
    PetscCall(PetscPushErrorHandler(TestCatch, &caught_)); \
    error_ = (call); \
    PetscCall(PetscPopErrorHandler()); \
    Check((int)error_ != 0, "no error where one with '%s' was due", words); \
    if (error_) { \
      Check((int)(wanted) < 0 || (int)caught_.code == (int)(wanted), "error %d, not %d: %s", (int)caught_.code, \
            (int)(wanted), caught_.message); \
      Check(TestSaid(caught_.message, words), "no '%s' in: %s", words, caught_.message); \
    } \
  } while (0)

typedef struct {
  int code;
  char message[1024];
} TestCaught;

/* Whether the message has each line of the words */
static inline PetscBool TestSaid(const char message[], const char words[])
{
  for (const char *end; *words; words = *end ? end + 1 : end) {
    char line[256];

    end = words + strcspn(words, "\n");
    (void)snprintf(line, sizeof(line), "%.*s", (int)(end - words), words);
    if (!strstr(message, line)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static inline PetscErrorCode TestCatch(MPI_Comm comm, int line, const char *function, const char *file,
                                       PetscErrorCode code, PetscErrorType type, const char *message, void *ctx)
{
  TestCaught *caught = (TestCaught *)ctx;

  (void)comm;
  (void)line;
  (void)function;
  (void)file;
  if (type == PETSC_ERROR_INITIAL && message) {
    caught->code = (int)code;
    (void)snprintf(caught->message, sizeof(caught->message), "%s", message);
  }
  return code;
}

static inline int TestEnd(void)
{
  return TestStatus(1, (int)TestPassed, (int)TestFailed);
}

/*
  A separable operator as an application would assemble it. Ends, low and high of each axis:

    d  Dirichlet, eliminated        n  Neumann on a node, mirrored      c  Neumann on a cell face
    D  Dirichlet on a cell face     p  periodic                         r  Dirichlet rows kept: rows with only a diagonal
    s  Neumann rows kept: rows with a diagonal and minus it on the neighbour inside. Where kept rows meet, the last axis has the corner
*/
typedef struct {
  PetscInt dim, n[3], dof;
  const char *ends; /* 2 dim letters */
  PetscReal a[3];   /* coupling of each axis */
  PetscReal shift, scale;
  PetscReal row;                                                    /* diagonal of kept rows */
  PetscReal corners;                                                /* two dimensions: T_x T_y between Dirichlet ends */
  PetscReal contrast;                                               /* component c is (1 + contrast c) times as stiff */
  PetscReal (*k)(PetscReal x, PetscReal y, PetscReal z, void *ctx); /* conductivity, NULL: one */
  void *ctx;
} TestProblem;

/* conductivities: not separable, of one axis, and of each axis its own */
static inline PetscReal TestVaryAll(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)ctx;
  return 1 + x * y + z;
}
static inline PetscReal TestVaryX(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)y, (void)z, (void)ctx;
  return 1 + x;
}
static inline PetscReal TestVaryY(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)x, (void)z, (void)ctx;
  return 1 + y;
}
static inline PetscReal TestVaryEach(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)ctx;
  return (1 + x) * (2 - y) * (1 + z * z);
}

static inline PetscErrorCode TestDMDA(const TestProblem *p, DM *da)
{
  DMBoundaryType b[3] = {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; ++d) {
    if (p->ends[2 * d] == 'p') b[d] = DM_BOUNDARY_PERIODIC;
  }
  if (p->dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_SELF, b[0], p->n[0], p->dof, 1, NULL, da));
  else if (p->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_SELF, b[0], b[1], p->corners != 0 ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, p->n[0],
                           p->n[1], 1, 1, p->dof, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_SELF, b[0], b[1], b[2], DMDA_STENCIL_STAR, p->n[0], p->n[1], p->n[2], 1, 1, 1,
                           p->dof, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes the values into A, which DMCreateMatrix() made */
static inline PetscErrorCode TestFill(const TestProblem *p, Mat A)
{
  PetscInt at[3], n[3], step[3];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; ++d) n[d] = d < p->dim ? p->n[d] : 1;
  step[0] = p->dof;
  step[1] = step[0] * n[0];
  step[2] = step[1] * n[1];
  PetscCall(MatZeroEntries(A));
  for (at[2] = 0; at[2] < n[2]; ++at[2]) {
    for (at[1] = 0; at[1] < n[1]; ++at[1]) {
      for (at[0] = 0; at[0] < n[0]; ++at[0]) {
        for (PetscInt c = 0; c < p->dof; ++c) {
          PetscInt row = c + at[0] * step[0] + at[1] * step[1] + at[2] * step[2], inside = row;
          PetscReal size = p->scale * (1 + p->contrast * (PetscReal)c), diag = p->shift;
          PetscBool kept = PETSC_FALSE;

          for (PetscInt d = 0; d < p->dim; ++d) {
            for (PetscInt s = 0; s < 2; ++s) {
              if (at[d] != (s ? n[d] - 1 : 0) || !strchr("rs", p->ends[2 * d + s])) continue;
              kept = PETSC_TRUE;
              inside = p->ends[2 * d + s] == 's' ? row + (s ? -step[d] : step[d]) : row;
            }
          }
          if (kept) {
            PetscCall(MatSetValue(A, row, row, p->row, ADD_VALUES));
            if (inside != row) PetscCall(MatSetValue(A, row, inside, -p->row, ADD_VALUES));
            continue;
          }
          for (PetscInt d = 0; d < p->dim; ++d) {
            for (PetscInt s = 0; s < 2; ++s) { /* the neighbour below and above */
              const PetscBool last = (PetscBool)(s ? at[d] == n[d] - 1 : at[d] == 0);
              const char end = p->ends[2 * d + s];
              PetscReal value = p->a[d];
              PetscInt there = row + (s ? step[d] : -step[d]);

              if (p->k) {
                PetscReal x[3];

                for (PetscInt e = 0; e < 3; ++e) { /* nodes between the ends of (0, 1), cells of a periodic axis */
                  const PetscBool cells = (PetscBool)(e < p->dim && p->ends[2 * e] == 'p');
                  const PetscReal h = 1 / (PetscReal)(cells ? n[e] : n[e] + 1);

                  x[e] = h * ((PetscReal)at[e] + (cells ? (PetscReal)0.5 : 1) +
                              (e == d ? (s ? (PetscReal)0.5 : -(PetscReal)0.5) : 0));
                }
                value *= p->k(x[0], x[1], x[2], p->ctx);
              }
              if (last && end == 'c') continue;
              if (last && end == 'D') {
                diag += 2 * value;
                continue;
              }
              diag += value;
              if (last && end == 'd') there = -1;
              if (last && end == 'n') there = n[d] > 1 ? row + (s ? -step[d] : step[d]) : row;
              if (last && end == 'p') there = row + (s ? -1 : 1) * (n[d] - 1) * step[d];
              if (there == row) diag -= value; /* an axis of one that mirrors or closes on itself */
              else if (there >= 0) PetscCall(MatSetValue(A, row, there, -size * value, ADD_VALUES));
            }
          }
          PetscCall(MatSetValue(A, row, row, size * diag, ADD_VALUES));
          for (PetscInt k = 0; k < 9 && p->corners != 0; ++k) {
            const PetscInt off[2] = {k % 3 - 1, k / 3 - 1};
            PetscReal value = size * p->corners;

            for (PetscInt d = 0; d < 2; ++d)
              value *= at[d] + off[d] < 0 || at[d] + off[d] >= n[d] ? 0 : off[d] ? -1 : 2;
            if (value != 0)
              PetscCall(MatSetValue(A, row, row + off[0] * step[0] + off[1] * step[1], value, ADD_VALUES));
          }
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestMatrix(const TestProblem *p, DM *da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(TestDMDA(p, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(TestFill(p, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC of a matrix, on a DM or NULL */
static inline PetscErrorCode TestPC(PCType type, DM da, Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetType(*pc, type));
  if (da) PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestRandom(Vec v)
{
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, (PetscScalar)(-1), (PetscScalar)1));
  PetscCall(VecSetRandom(v, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other numbers each time, of the generator of tests/check.h */
static inline PetscErrorCode TestUniformVec(Vec v)
{
  PetscScalar *a;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt i = 0; i < n; i++) {
    a[i] = 2 * TestUniform() - 1;
    if (PetscDefined(USE_COMPLEX)) a[i] += PETSC_i * (2 * TestUniform() - 1);
  }
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x|| / (||A|| ||x|| + ||b||) in the maximum norm; the transpose of A on request */
static inline PetscErrorCode TestBackwardError(Mat A, PetscBool transpose, Vec b, Vec x, PetscReal *error)
{
  Vec r;
  PetscReal ra, rb, rx, rr = 0;
  Mat T;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  if (transpose) PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  else {
    PetscCall(PetscObjectReference((PetscObject)A));
    T = A;
  }
  PetscCall(MatMult(T, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(TestMaxNorm(r, &rr));
  PetscCall(VecNorm(b, NORM_INFINITY, &rb));
  PetscCall(VecNorm(x, NORM_INFINITY, &rx));
  PetscCall(MatNorm(T, NORM_INFINITY, &ra));
  *error = rr / (ra * rx + rb);
  PetscCall(MatDestroy(&T));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's own LU of A, on several ranks of all of it on the first; for a solution that has nothing of ours in it */
static inline PetscErrorCode TestReference(Mat A, KSP *lu)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscMPIInt size, rank;
  PC pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(KSPCreate(comm, lu));
  PetscCall(KSPSetOptionsPrefix(*lu, "reference_"));
  PetscCall(KSPSetOperators(*lu, A, A));
  PetscCall(KSPSetType(*lu, KSPPREONLY));
  PetscCall(KSPGetPC(*lu, &pc));
  PetscCall(PCSetType(pc, size > 1 ? PCASM : PCLU));
  if (size > 1) { /* one subdomain that is everything, and empty ones */
    PetscInt n;
    IS all;
    KSP *sub;

    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(ISCreateStride(PETSC_COMM_SELF, rank ? 0 : n, 0, 1, &all));
    PetscCall(PCASMSetLocalSubdomains(pc, 1, &all, NULL));
    PetscCall(PCASMSetType(pc, PC_ASM_BASIC));
    PetscCall(KSPSetUp(*lu));
    PetscCall(PCASMGetSubKSP(pc, NULL, NULL, &sub));
    PetscCall(KSPGetPC(sub[0], &pc));
    PetscCall(PCSetType(pc, PCLU));
    PetscCall(ISDestroy(&all));
  }
  PetscCall(KSPSetUp(*lu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max |x - y| / max |y|, y the solution by TestReference() */
static inline PetscErrorCode TestAgainstReference(Mat A, PetscBool transpose, Vec b, Vec x, PetscReal *difference)
{
  PetscReal size;
  KSP lu;
  Vec y;

  PetscFunctionBegin;
  PetscCall(TestReference(A, &lu));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(transpose ? KSPSolveTranspose(lu, b, y) : KSPSolve(lu, b, y));
  PetscCall(TestMaxNorm(y, &size));
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(TestMaxNorm(y, difference));
  if (size > 0) *difference /= size;
  PetscCall(VecDestroy(&y));
  PetscCall(KSPDestroy(&lu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The backward error, and with lu how far LU's solution is; of D A, D the inverse of the diagonal, as rows of 1 and of 1e-14
   are alike then: D A x = D b, (D A)^T y = b, x = D y */
static inline PetscErrorCode TestRowsAlike(Mat A, PetscBool transpose, Vec b, Vec x, PetscBool lu, PetscReal *error,
                                           PetscReal *difference)
{
  Vec d, f, u;
  Mat S;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &S)); /* on the host */
  PetscCall(MatCreateVecs(S, &d, &f));
  PetscCall(VecDuplicate(d, &u));
  PetscCall(MatGetDiagonal(S, d));
  PetscCall(VecReciprocal(d));
  PetscCall(MatDiagonalScale(S, d, NULL));
  PetscCall(VecCopy(b, f));
  PetscCall(VecCopy(x, u));
  if (transpose) PetscCall(VecPointwiseDivide(u, u, d));
  else PetscCall(VecPointwiseMult(f, f, d));
  PetscCall(TestBackwardError(S, transpose, f, u, error));
  if (lu) PetscCall(TestAgainstReference(S, transpose, f, u, difference));
  PetscCall(TestDestroy(&d, &f, &u, &S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max |x - y| / max |y|, but for a constant where free is one and not zero */
static inline PetscErrorCode TestApart(Vec free, Vec x, Vec y, PetscReal *difference)
{
  PetscScalar sum, nodes;
  PetscReal size;
  Vec d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecDot(free, free, &nodes));
  PetscCall(VecWAXPY(d, -1, y, x));
  PetscCall(VecDot(d, free, &sum));
  PetscCall(VecAXPY(d, -sum / nodes, free));
  PetscCall(TestMaxNorm(d, difference));
  PetscCall(TestMaxNorm(y, &size));
  *difference /= size;
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||x - y|| / ||y|| */
static inline PetscErrorCode TestDifference(Vec x, Vec y, PetscReal *difference)
{
  Vec d, e;
  PetscReal dn, yn, size;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecDuplicate(y, &e));
  PetscCall(VecWAXPY(d, -1, y, x));
  PetscCall(VecCopy(y, e));
  PetscCall(VecNorm(y, NORM_INFINITY, &size));
  if (size > 0) { /* squares of what single precision holds may overflow there */
    PetscCall(VecScale(d, 1 / size));
    PetscCall(VecScale(e, 1 / size));
  }
  PetscCall(VecNorm(d, NORM_2, &dn));
  PetscCall(VecNorm(e, NORM_2, &yn));
  *difference = yn > 0 ? dn / yn : dn;
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a bound for backward errors at the precision of PetscReal; what docs/accuracy.md promises */
static inline PetscReal TestBackwardBound(void)
{
  return sizeof(PetscReal) < sizeof(double) ? (PetscReal)5e-7 : (PetscReal)1e-14;
}

/* a bound for differences from LU of well-conditioned systems */
static inline PetscReal TestDifferenceBound(void)
{
  return sizeof(PetscReal) < sizeof(double) ? (PetscReal)2e-3 : (PetscReal)1e-10;
}

/* Collective. What the object's view says, on its first rank; to be given to free() on all */
static inline PetscErrorCode TestViewText(PetscObject object, char **text)
{
  size_t size;
  FILE *file = open_memstream(text, &size);
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "open_memstream()");
  PetscCall(PetscViewerASCIIOpenWithFILE(PetscObjectComm(object), file, &viewer));
  PetscCall(PetscObjectView(object, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  (void)fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. All of a vector in natural order, on every rank; all: [n], to be given to PetscFree() */
static inline PetscErrorCode TestGather(DM da, Vec v, PetscScalar **all, PetscInt *n)
{
  Vec natural, seq;
  VecScatter scatter;
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDACreateNaturalVector(da, &natural));
  PetscCall(DMDAGlobalToNaturalBegin(da, v, INSERT_VALUES, natural));
  PetscCall(DMDAGlobalToNaturalEnd(da, v, INSERT_VALUES, natural));
  PetscCall(VecScatterCreateToAll(natural, &scatter, &seq));
  PetscCall(VecScatterBegin(scatter, natural, seq, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, natural, seq, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetSize(seq, n));
  PetscCall(PetscMalloc1(*n, all));
  PetscCall(VecGetArrayRead(seq, &a));
  PetscCall(PetscArraycpy(*all, a, *n));
  PetscCall(VecRestoreArrayRead(seq, &a));
  PetscCall(TestDestroy(&scatter, &seq, &natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the options of a string, or takes them out again; each with a value of its own or none */
static inline PetscErrorCode TestOptions(const char options[], PetscBool set)
{
  char text[256], *s, *save;

  PetscFunctionBegin;
  if (set) PetscCall(PetscOptionsInsertString(NULL, options));
  else {
    PetscCall(PetscStrncpy(text, options, sizeof(text)));
    for (s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
      if (s[0] == '-' && s[1] >= 'a') PetscCall(PetscOptionsClearValue(NULL, s)); /* not a negative number */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
