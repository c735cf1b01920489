/*
  Eigenvectors of general axes: LAPACK's divide and conquer, products by BLAS (eigen.h).
*/
#include "eigen.h"
#include <petscblaslapack.h>
#include <math.h>
#include <string.h>

/* PETSc's own names are for its PetscReal alone; work may have the other type */
#if defined(PETSC_BLASLAPACK_CAPS)
  #define BCR_BLAS(lower, caps) PETSC_PASTE2(caps, PETSC_BLASLAPACK_SUFFIX_)
#else
  #define BCR_BLAS(lower, caps) PETSC_PASTE2(lower, PETSC_BLASLAPACK_SUFFIX_)
#endif
#if defined(PETSC_USE_REAL_SINGLE)
  #define BCRsgemm_ BLASREALgemm_
  #define BCRdgemm_ BCR_BLAS(dgemm, DGEMM)
extern void BCRdgemm_(const char *, const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *,
                      const double *, const double *, const PetscBLASInt *, const double *, const PetscBLASInt *,
                      const double *, double *, const PetscBLASInt *);
#else
  #define BCRdgemm_ BLASREALgemm_
  #define BCRsgemm_ BCR_BLAS(sgemm, SGEMM)
extern void BCRsgemm_(const char *, const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *,
                      const float *, const float *, const PetscBLASInt *, const float *, const PetscBLASInt *,
                      const float *, float *, const PetscBLASInt *);
#endif
#define BCRdgemv_ BCR_BLAS(dgemv, DGEMV)
extern void BCRdgemv_(const char *, const PetscBLASInt *, const PetscBLASInt *, const double *, const double *,
                      const PetscBLASInt *, const double *, const PetscBLASInt *, const double *, double *,
                      const PetscBLASInt *);
#define BCRdstevd_ BCR_BLAS(dstevd, DSTEVD)
#define BCRdsyevd_ BCR_BLAS(dsyevd, DSYEVD)
extern void BCRdstevd_(const char *, const PetscBLASInt *, double *, double *, double *, const PetscBLASInt *, double *,
                       const PetscBLASInt *, PetscBLASInt *, const PetscBLASInt *, PetscBLASInt *);
extern void BCRdsyevd_(const char *, const char *, const PetscBLASInt *, double *, const PetscBLASInt *, double *,
                       double *, const PetscBLASInt *, PetscBLASInt *, const PetscBLASInt *, PetscBLASInt *);

/* Unknowns from which on an axis is folded: below, sums and differences are as much work as what they save. Not measured */
#define BCR_EIGEN_FOLD 16
/* Of mirrored coefficients that differ by so many roundings, the mean is taken */
#define BCR_EIGEN_MIRRORED (16 * PETSC_MACHINE_EPSILON)

/* Lines of a product. More of them take no less time each, and their scratch leaves the cache */
#define BCR_EIGEN_LINES 256
/* Lines that are multiplied one by one, without packing the matrix: those of coreends.c. As products, two of 257 unknowns
   took 190 thousand instructions more in a solve of 2.2 million (callgrind) */
#define BCR_EIGEN_FEW 2
/* and the numbers of it that are taken at a time. Not measured */
#define BCR_EIGEN_PART 8192

struct _n_BCREigen {
  PetscInt n, constant;
  PetscInt even; /* vectors that are even, the first ones, others are odd; 0: neither */
  PetscBool single;
  double *lambda;
  double *to, *from;            /* mode k at n k */
  float *tosingle, *fromsingle; /* single: the same in float, and no others */
};

/* Eigenvalues (in d) and eigenvectors (vector k: z[k n + i]; NULL: not wanted, and no ring) of the symmetric tridiagonal
   matrix with diagonal d and off-diagonal e, which is overwritten; of a ring e[n - 1] is the entry in its corners. Not by
   MRRR, whose vectors are orthogonal to fewer digits */
static PetscErrorCode symmetric_eigenvectors(PetscInt n, PetscBool ring, double d[], double e[], double z[])
{
  PetscBLASInt bn, ldz, lwork, liwork, info = 0, *iwork;
  double *work, none;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(z ? 1 + 6 * n + (ring ? 2 : 1) * n * n : 1, &lwork));
  PetscCall(PetscBLASIntCast(z ? 3 + 5 * n : 1, &liwork));
  ldz = z ? bn : 1;
  PetscCall(PetscMalloc2(lwork, &work, liwork, &iwork));
  if (ring) { /* the lower triangle */
    PetscCall(PetscArrayzero(z, (size_t)n * n));
    for (PetscInt i = 0; i < n; i++) {
      z[i * n + i] = d[i];
      z[i < n - 1 ? i * n + i + 1 : n - 1] += e[i];
    }
  }
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  if (ring) BCRdsyevd_("V", "L", &bn, z, &bn, d, work, &lwork, iwork, &liwork, &info);
  else BCRdstevd_(z ? "V" : "N", &bn, d, e, z ? z : &none, &ldz, work, &lwork, iwork, &liwork, &info);
  PetscCall(PetscFPTrapPop());
  PetscCall(PetscFree2(work, iwork));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_CONV_FAILED,
             "The eigenvalues of a general axis of %" PetscInt_FMT
             " unknowns do not converge (LAPACK's %s returns %" PetscInt_FMT "): are its coefficients finite?",
             n, ring ? "syevd" : "stevd", (PetscInt)info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCREigenValues(const BCRAxis *x, double lambda[])
{
  const PetscInt n = x->n;
  double *off;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &off));
  for (PetscInt i = 0; i < n; i++) lambda[i] = (double)x->diag[i];
  for (PetscInt i = 0; i + 1 < n; i++) off[i] = -sqrt((double)x->upper[i]) * sqrt((double)x->lower[i + 1]);
  BCRCallElse(symmetric_eigenvectors(n, PETSC_FALSE, lambda, off, NULL), (void)PetscFree(off));
  PetscCall(PetscFree(off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool mirrored(PetscReal a, PetscReal b)
{
  return PetscAbsReal(a - b) <= (PetscReal)BCR_EIGEN_MIRRORED * PetscAbsReal(a) ? PETSC_TRUE : PETSC_FALSE;
}

/* The axis is the same from either end */
static PetscBool axis_folds(const BCRAxis *x)
{
  const PetscInt n = x->n;

  if (n < BCR_EIGEN_FOLD || BCRAxisIsPeriodic(x)) return PETSC_FALSE;
  for (PetscInt i = 0; i < n; i++)
    if (!mirrored(x->diag[i], x->diag[n - 1 - i]) || !mirrored(x->lower[i], x->upper[n - 1 - i])) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* symmetric_eigenvectors() of a matrix that is the same from either end: of m = n/2 pairs of unknowns, and the one in the
   middle, the sums' matrix and that of the differences */
static PetscErrorCode folded_eigenvectors(BCREigen e, double d[], const double off[])
{
  const PetscInt n = e->n, m = n / 2, odd = n % 2;
  double *half, *next, *z;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  e->even = n - m;
  PetscCall(PetscMalloc3(e->even, &half, e->even, &next, (size_t)e->even * e->even, &z));
  for (PetscInt parity = 0; parity < 2 && !ierr; parity++) {
    const PetscInt size = parity ? m : e->even, first = parity ? e->even : 0;

    for (PetscInt i = 0; i < size; i++) {
      half[i] = 0.5 * (d[i] + d[n - 1 - i]);
      next[i] = i + 1 < size ? 0.5 * (off[i] + off[n - 2 - i]) : 0;
    }
    if (!odd) half[m - 1] += parity ? -off[m - 1] : off[m - 1];
    else if (!parity) next[m - 1] *= PETSC_SQRT2; /* the middle has half the weight of a pair */
    ierr = symmetric_eigenvectors(size, PETSC_FALSE, half, next, z);
    for (PetscInt k = 0; k < size && !ierr; k++) {
      double *q = e->to + (size_t)(first + k) * n;

      e->lambda[first + k] = half[k];
      if (odd) q[m] = parity ? 0 : z[k * size + m];
      for (PetscInt i = 0; i < m; i++) {
        q[i] = z[k * size + i] / PETSC_SQRT2;
        q[n - 1 - i] = parity ? -q[i] : q[i];
      }
    }
  }
  PetscCall(PetscFree3(half, next, z));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a singular axis mode k is h^1/2, exactly, in place of what is off by rounding of T over the smallest gap of the
   eigenvalues. The others are made orthogonal to it: that moves them by rounding of T over their own eigenvalues, and
   T times them by rounding */
static void constant_mode(BCREigen e, const double h[])
{
  const PetscInt n = e->n;
  PetscInt zero = 0;
  double sum = 0;

  for (PetscInt k = 1; k < n; k++)
    if (fabs(e->lambda[k]) < fabs(e->lambda[zero])) zero = k;
  for (PetscInt i = 0; i < n; i++) sum += h[i];
  e->constant = zero;
  e->lambda[zero] = 0;
  for (PetscInt k = 0; k < (e->even ? e->even : n); k++) { /* odd vectors are orthogonal to it */
    double *q = e->to + (size_t)k * n, dot = 0;

    for (PetscInt i = 0; i < n && k != zero; i++) dot += q[i] * sqrt(h[i] / sum);
    for (PetscInt i = 0; i < n && k != zero; i++) q[i] -= dot * sqrt(h[i] / sum);
  }
}

/* The matrices from Q, which e->to has */
static void scale_vectors(BCREigen e, const double h[], PetscBool singular)
{
  const PetscInt n = e->n;
  double sum = 0;

  e->constant = -1;
  if (singular) constant_mode(e, h);
  for (PetscInt i = 0; i < n; i++) sum += h[i];
  for (PetscInt k = 0; k < n; k++) {
    for (PetscInt i = 0; i < n; i++) {
      const size_t at = (size_t)k * n + i;
      const double q = e->to[at], root = sqrt(h[i]);

      e->to[at] = k == e->constant ? h[i] / sum : q * root;
      e->from[at] = k == e->constant ? 1 : q / root;
    }
  }
}

static PetscErrorCode eigen_fill(BCREigen e, const BCRAxis *x, PetscBool singular)
{
  const PetscInt n = x->n;
  const size_t size = (size_t)n * n;
  double *off, *h;
  PetscInt bad;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &e->lambda));
  PetscCall(PetscMalloc1(size, &e->to));
  PetscCall(PetscMalloc1(size, &e->from));
  PetscCall(PetscMalloc2(n, &off, n, &h));
  if (!BCRAxisSymmetriser(x, h, &bad)) {
    PetscCall(PetscFree2(off, h));
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP,
            "Rows %" PetscInt_FMT " and %" PetscInt_FMT
            " of an axis with general coefficients that has to be transformed (several ranks, or several such axes) "
            "must both hold the coupling between them or both not, and the couplings of a ring must have the same "
            "product both ways round; let the ranks share out this axis, or use one rank",
            bad, (bad + 1) % n);
  }
  for (PetscInt i = 0; i < n; i++) {
    e->lambda[i] = (double)x->diag[i];
    off[i] = -sqrt((double)x->upper[i]) * sqrt((double)x->lower[(i + 1) % n]); /* the last one: of a ring, else 0 */
  }
  if (axis_folds(x)) {
    double *d;

    for (PetscInt i = 0; i < n / 2; i++) h[i] = h[n - 1 - i] = 0.5 * (h[i] + h[n - 1 - i]);
    ierr = PetscMalloc1(n, &d);
    if (!ierr) ierr = PetscArraycpy(d, e->lambda, n);
    if (!ierr) ierr = folded_eigenvectors(e, d, off);
    (void)PetscFree(d);
  } else ierr = symmetric_eigenvectors(n, BCRAxisIsPeriodic(x), e->lambda, off, e->to);
  if (!ierr) scale_vectors(e, h, singular);
  PetscCall(PetscFree2(off, h));
  PetscCall(ierr);
  if (!e->single) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(size, &e->tosingle));
  PetscCall(PetscMalloc1(size, &e->fromsingle));
  for (size_t i = 0; i < size; i++) {
    e->tosingle[i] = (float)e->to[i];
    e->fromsingle[i] = (float)e->from[i];
  }
  PetscCall(PetscFree(e->to));
  PetscCall(PetscFree(e->from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCREigenCreate(const BCRAxis *axis, PetscBool singular, PetscBool single, BCREigen *eigen)
{
  BCREigen e;

  PetscFunctionBegin;
  *eigen = NULL;
  PetscCall(PetscNew(&e));
  e->n = axis->n;
  e->single = single;
  BCRCallElse(eigen_fill(e, axis, singular), (void)BCREigenDestroy(&e));
  *eigen = e;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCREigenDestroy(BCREigen *eigen)
{
  BCREigen e = *eigen;

  PetscFunctionBegin;
  if (!e) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(e->lambda));
  PetscCall(PetscFree(e->to));
  PetscCall(PetscFree(e->from));
  PetscCall(PetscFree(e->tosingle));
  PetscCall(PetscFree(e->fromsingle));
  PetscCall(PetscFree(*eigen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCREigenFolds(BCREigen e)
{
  return e->even ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode BCREigenGetModes(BCREigen e, double lambda[], PetscInt *constant)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(lambda, e->lambda, e->n));
  *constant = e->constant;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCREigenGetMatrices(BCREigen e, const void **to, const void **from)
{
  PetscFunctionBegin;
  *to = e->single ? (const void *)e->tosingle : (const void *)e->to;
  *from = e->single ? (const void *)e->fromsingle : (const void *)e->from;
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t BCREigenBytes(BCREigen e)
{
  return (size_t)e->n * (2 * (size_t)e->n * (e->single ? sizeof(float) : sizeof(double)) + sizeof(double));
}

size_t BCREigenWork(BCREigen e)
{
  return 2 * (size_t)BCR_EIGEN_LINES * (size_t)e->n;
}

/* C = A B + beta C, A transposed or not, with so few columns of B that packing A would take longer: a part of A at a time,
   which the cache keeps for all of them */
static void product_few(PetscBool transposed, PetscBLASInt m, PetscBLASInt n, PetscBLASInt k, const double *A,
                        PetscBLASInt lda, const double *B, PetscBLASInt ldb, double beta, double *C, PetscBLASInt ldc)
{
  const PetscBLASInt rows = transposed ? k : m, columns = transposed ? m : k, unit = 1,
                     step = PetscMax(BCR_EIGEN_PART / PetscMax(rows, 1), 8);
  const double one = 1;

  for (PetscBLASInt c = 0; c < columns; c += step) {
    const PetscBLASInt some = PetscMin(step, columns - c);
    const double other = c && !transposed ? 1 : beta;

    for (PetscBLASInt i = 0; i < n; i++)
      BCRdgemv_(transposed ? "T" : "N", &rows, &some, &one, A + (ptrdiff_t)c * lda, &lda,
                B + (ptrdiff_t)i * ldb + (transposed ? 0 : c), &unit, &other,
                C + (ptrdiff_t)i * ldc + (transposed ? c : 0), &unit);
  }
}

void BCREigenProduct(PetscBool single, const char *ta, const char *tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
                     const void *A, ptrdiff_t lda, const void *B, ptrdiff_t ldb, PetscBool add, void *C, ptrdiff_t ldc)
{
  const PetscBLASInt bm = (PetscBLASInt)m, bn = (PetscBLASInt)n, bk = (PetscBLASInt)k, ba = (PetscBLASInt)lda,
                     bb = (PetscBLASInt)ldb, bc = (PetscBLASInt)ldc;

  if (single) {
    const float one = 1, beta = add ? 1 : 0;

    BCRsgemm_(ta, tb, &bm, &bn, &bk, &one, (const float *)A, &ba, (const float *)B, &bb, &beta, (float *)C, &bc);
  } else {
    const double one = 1, beta = add ? 1 : 0;

    if (bn <= BCR_EIGEN_FEW && *tb == 'N') {
      product_few(*ta == 'N' ? PETSC_FALSE : PETSC_TRUE, bm, bn, bk, (const double *)A, ba, (const double *)B, bb, beta,
                  (double *)C, bc);
      return;
    }
    BCRdgemm_(ta, tb, &bm, &bn, &bk, &one, (const double *)A, &ba, (const double *)B, &bb, &beta, (double *)C, &bc);
  }
}

static void product(PetscBool single, const char *ta, const char *tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
                    const void *A, ptrdiff_t lda, const void *B, ptrdiff_t ldb, void *C, ptrdiff_t ldc)
{
  BCREigenProduct(single, ta, tb, m, n, k, A, lda, B, ldb, PETSC_FALSE, C, ldc);
}

/* rows x columns numbers from f to u; from, to: they are double, else of the work type */
static void copy(BCREigen e, int from, int to, ptrdiff_t columns, ptrdiff_t rows, const void *f, ptrdiff_t ldf, void *u,
                 ptrdiff_t ldu)
{
  for (ptrdiff_t r = 0; r < rows; r++) {
    if (from == to) {
      const size_t size = e->single && !from ? sizeof(float) : sizeof(double);

      memcpy((char *)u + r * ldu * size, (const char *)f + r * ldf * size, columns * size);
    } else if (from)
      for (ptrdiff_t i = 0; i < columns; i++) ((float *)u)[r * ldu + i] = (float)((const double *)f)[r * ldf + i];
    else
      for (ptrdiff_t i = 0; i < columns; i++) ((double *)u)[r * ldu + i] = (double)((const float *)f)[r * ldf + i];
  }
}

/* Sums and differences of mirrored unknowns of lines, and back. Unknowns are sx apart in x and lines nx, of the other array sy
   and ny; sums are where the first unknowns are, differences behind the middle */
#define BCR_EIGEN_FOLDS(A, B) \
  for (ptrdiff_t i = 0; i < n - m; i++) { \
    const A *x = (const A *)f + i * sx, *r = (const A *)f + (n - 1 - i) * sx; \
    B *s = (B *)u + i * sy, *d = (B *)u + (n - m + i) * sy; \
\
    for (ptrdiff_t l = 0; l < lines; l++) { \
      const A a = x[l * nx], b = r[l * nx]; \
\
      s[l * ny] = (B)(i < m ? a + b : a); \
      if (i < m) d[l * ny] = (B)(a - b); \
    } \
  }
#define BCR_EIGEN_UNFOLDS(A, B) \
  for (ptrdiff_t i = 0; i < n - m; i++) { \
    const A *s = (const A *)f + i * sx, *d = (const A *)f + (n - m + i) * sx; \
    B *x = (B *)u + i * sy, *r = (B *)u + (n - 1 - i) * sy; \
\
    for (ptrdiff_t l = 0; l < lines; l++) { \
      const A a = s[l * nx], b = i < m ? d[l * nx] : 0; \
\
      x[l * ny] = (B)(a + b); \
      if (i < m) r[l * ny] = (B)(a - b); \
    } \
  }

static void fold(BCREigen e, int back, int io, ptrdiff_t lines, const void *f, ptrdiff_t sx, ptrdiff_t nx, void *u,
                 ptrdiff_t sy, ptrdiff_t ny)
{
  const ptrdiff_t n = e->n, m = n / 2;

  if (back) {
    if (!e->single) BCR_EIGEN_UNFOLDS(double, double)
    else if (io) BCR_EIGEN_UNFOLDS(float, double)
    else BCR_EIGEN_UNFOLDS(float, float)
  } else if (!e->single) BCR_EIGEN_FOLDS(double, double)
  else if (io) BCR_EIGEN_FOLDS(double, float)
  else BCR_EIGEN_FOLDS(float, float)
}

/* transform() by even and odd vectors. The matrices' first halves are those of sums and differences */
static void transform_folded(BCREigen e, PetscBool rows, int direction, int io, ptrdiff_t count, const void *f,
                             ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
  const ptrdiff_t n = e->n, word = e->single ? sizeof(float) : sizeof(double),
                  size = io ? (ptrdiff_t)sizeof(double) : word, step = BCR_EIGEN_LINES;
  const char *M = direction ? (e->single ? (char *)e->fromsingle : (char *)e->from)
                            : (e->single ? (char *)e->tosingle : (char *)e->to);
  char *other = (char *)work + step * n * word;

  for (ptrdiff_t l = 0; l < count; l += step) {
    const ptrdiff_t m = PetscMin(step, count - l), nx = rows ? n : m; /* a batch in work is packed */
    const char *x = (const char *)f + (rows ? l * ldf : l) * size;
    char *y = (char *)u + (rows ? l * ldu : l) * size;
    const char *from = (const char *)work;
    char *to = other;
    ptrdiff_t ldfrom = nx, ldto = nx;

    if (!direction) fold(e, 0, io, m, x, rows ? 1 : ldf, rows ? ldf : 1, work, rows ? 1 : nx, rows ? nx : 1);
    else if (io) copy(e, io, 0, nx, rows ? m : n, x, ldf, work, nx);
    else from = x, ldfrom = ldf;
    if (!direction && !io) to = y, ldto = ldu;
    for (PetscInt parity = 0; parity < 2; parity++) {
      const ptrdiff_t h = parity ? n - e->even : e->even, at = parity ? e->even : 0;
      const char *A = M + at * n * word, *X = from + at * word * (rows ? 1 : ldfrom);
      char *Y = to + at * word * (rows ? 1 : ldto);

      if (rows) product(e->single, direction ? "N" : "T", "N", h, m, h, A, n, X, ldfrom, Y, ldto);
      else product(e->single, "N", direction ? "T" : "N", m, h, h, X, ldfrom, A, n, Y, ldto);
    }
    if (direction) fold(e, 1, io, m, to, rows ? 1 : ldto, rows ? ldto : 1, y, rows ? 1 : ldu, rows ? ldu : 1);
    else if (io) copy(e, 0, io, nx, rows ? m : n, to, nx, y, ldu);
  }
}

/* Lines that are rows (contiguous) or columns (neighbours are) of f, as many at a time as scratch has room for */
static void transform(BCREigen e, PetscBool rows, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf,
                      void *u, ptrdiff_t ldu, void *work)
{
  const ptrdiff_t n = e->n, size = e->single && !io ? sizeof(float) : sizeof(double), step = BCR_EIGEN_LINES;
  const void *M = direction ? (e->single ? (void *)e->fromsingle : (void *)e->from)
                            : (e->single ? (void *)e->tosingle : (void *)e->to);
  void *out = (char *)work + step * n * (e->single ? sizeof(float) : sizeof(double));

  if (e->even) {
    transform_folded(e, rows, direction, io, count, f, ldf, u, ldu, work);
    return;
  }
  for (ptrdiff_t l = 0; l < count; l += step) {
    const ptrdiff_t m = PetscMin(step, count - l), nx = rows ? n : m, ny = rows ? m : n;
    const void *x = (const char *)f + (rows ? l * ldf : l) * size;
    void *y = (char *)u + (rows ? l * ldu : l) * size;
    const ptrdiff_t ldx = f == u || io ? nx : ldf, ldy = io ? nx : ldu;
    void *z = io ? out : y;

    if (f == u || io) {
      copy(e, io, 0, nx, ny, x, ldf, work, nx);
      x = work;
    }
    if (rows) product(e->single, direction ? "N" : "T", "N", n, m, n, M, n, x, ldx, z, ldy);
    else product(e->single, "N", direction ? "T" : "N", m, n, n, x, ldx, M, n, z, ldy);
    if (io) copy(e, 0, io, nx, ny, out, nx, y, ldu);
  }
}

void BCREigenRows(BCREigen e, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u,
                  ptrdiff_t ldu, void *work)
{
  transform(e, PETSC_TRUE, direction, io, count, f, ldf, u, ldu, work);
}

void BCREigenCols(BCREigen e, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u,
                  ptrdiff_t ldu, void *work)
{
  transform(e, PETSC_FALSE, direction, io, count, f, ldf, u, ldu, work);
}
