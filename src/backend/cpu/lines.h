/*
  Batches of tridiagonal lines, one line a mode, neighbouring modes in the lanes.

  Tabled: near-Toeplitz lines with one constant a mode. Forward y_s = g_s + l_s y_{s-1}, backward
  v_s = p_s y_s + b_s v_{s+1}; the factors p, b of a mode soon stop changing from row to row, so
  they are tabled, strip by strip of BCR_STRIP bytes of modes, only until they have converged; the
  last row of the line is apart. Both couplings of two rows are the same, so that l_s = b_{s-1}, but
  where the first or the last row is mirrored.
  General: any tridiagonal plus a shift a mode, factored on the way.
  Periodic lines are bordered by their last unknown.
*/
#pragma once

#include <stddef.h>

/* Bytes of neighbouring modes that share a table: four cache lines, four to sixteen vectors. Not measured apart */
#define BCR_STRIP 256

typedef struct {
  ptrdiff_t n, nk; /* rows (the last unknown of a periodic line included), modes */
  int periodic;
  double first;         /* l_1 over b_0: 1/2 where the first row is mirrored, else 1 */
  const ptrdiff_t *off; /* of each strip's table, in elements */
  /* tabled rows of each strip, at most (rows of the open line) - 1; -1: some of its lines are not definite, and are
     eliminated with pivoting (double precision, no rings) */
  const ptrdiff_t *nt;
  /* for each tabled row p, b, then l, p of the line's last row: a strip's width each. Of lines that are not definite the
     diagonals of the first row, of those inside and of the last one, the coupling, the factor of right-hand sides */
  const void *tab;
  /* periodic: couplings of the last unknown to the first and last row over norm, norm over the
     pivot it is left with */
  const void *zA, *zB, *q;
} BCRLinesTab;

typedef struct {
  ptrdiff_t n, nk;
  int periodic;
  /* n each, exc: the diagonal less both couplings; a periodic line's lower[0] and upper[n-1] are
     its couplings round the corner */
  const void *lower, *exc, *upper;
  const void *sigma; /* shift of each mode */
  const void *scale; /* factor of each mode */
  ptrdiff_t pin;     /* mode that is singular: its last unknown is set to zero; -1: none */
} BCRLinesGen;

typedef struct {
  int (*strip)(void); /* modes in a strip */
  /* elements of work for tabled(), general() and border() */
  size_t (*work)(ptrdiff_t n);
  void (*tabled)(const BCRLinesTab *t, int io, void *u, ptrdiff_t ld, void *work);  /* in place; row s at u + s*ld */
  void (*general)(const BCRLinesGen *t, int io, void *u, ptrdiff_t ld, void *work); /* the same */
  /* adds the solution of open lines whose right-hand side has entries in the first and the last row
     alone; one of tab and gen is NULL, and gen's scale is left out */
  void (*border)(const BCRLinesTab *tab, const BCRLinesGen *gen, int io, const double *first, const double *last,
                 void *u, ptrdiff_t ld, void *work);
  /* out[i] = a w[i] x[i] + b t[i] y[i], rows of n modes: what lines leave in an interface row. x NULL: without its term;
     t NULL: ones */
  void (*leave)(ptrdiff_t n, int io, double a, const double *w, const void *x, double b, const double *t, const void *y,
                double *out);
  /* edge[i] = a t[i]/w[i] v[i], what an interface adds to the row beside it, and row[i] = b v[i]; t, w NULL: ones */
  void (*enter)(ptrdiff_t n, int io, double a, const double *t, const double *w, double b, const double *v,
                double *edge, void *row);
  size_t (*workx)(ptrdiff_t n);
  void (*generalx)(const BCRLinesGen *t, int io, void *u, ptrdiff_t ld, void *work); /* line k contiguous at u + k*ld */
} BCRLinesTable;
