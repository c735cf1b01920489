/*
  Poles of block cyclic reduction (src/poisson/reduction.c): tridiagonal lines that share their
  right-hand side, or a few rows that it is a weighted sum of, and differ by a shift. Neighbouring
  poles are in the lanes; rows of the right-hand side are broadcast.

      (T + sigma_j) v_j = sum_s ws[s][j] g_s,    out_k = sum_j wo[k][j] v_j

  A Toeplitz line is tridiag(-1, 2 + delta, -1) up to its first and last diagonal. The inverses r of
  its pivots soon stop changing from row to row: they are tabled, bundle by bundle of lanes() poles,
  only until then. Periodic lines are bordered by their last unknown.
*/
#pragma once

#include "../../base/petscbcrimpl.h"
#include <stddef.h>

typedef struct {
  ptrdiff_t n;  /* rows, the last unknown of a periodic line included */
  int general;  /* lower and upper are given (with their sign turned: positive as a rule) */
  int periodic; /* Toeplitz only */
  /* Toeplitz: factors of the first and the last right-hand side (1/2 at a node-centred Neumann end) */
  double first, last;
  const void *lower, *upper;
} BCRPolesLine;

typedef struct {
  ptrdiff_t nb;         /* bundles */
  const ptrdiff_t *off; /* of each bundle's table, in elements */
  const ptrdiff_t *nt;  /* tabled rows of each bundle */
  /* Toeplitz: r of the tabled rows, r of the others, of the last row, of a periodic line's last
     unknown; general: r of all rows */
  const void *tab;
} BCRPolesTab;

typedef struct {
  int (*lanes)(void);
  size_t (*work)(ptrdiff_t n); /* elements for solve(), 64-byte aligned */
  /* ws: [bundle][source][lane]; NULL: one source of weight one; unit: the first of two sources has
     weight one, ws has only the other's. wo: [bundle][out][lane]. Rows of g and out have the work
     type; out is written in whole bundles of columns. add: to what out holds */
  void (*solve)(const BCRPolesLine *line, const BCRPolesTab *tab, int nsrc, int unit, const void *const g[],
                const void *ws, int nout, int add, void *const out[], const void *wo, void *work);
  /* Few poles a class: lanes in segments of np poles, each segment with its own right-hand side g
     (and neighbour e weighted by ws, or NULL) and its own out, which may be g; segments side by
     side with one out are summed. As many segments in a bundle as fit. ws, wo: [bundle][lane] */
  void (*segments)(const BCRPolesLine *line, const BCRPolesTab *tab, int np, int nseg, const void *const g[],
                   const void *const e[], const void *ws, void *const out[], const void *wo, void *work);
  /* out_k = (add ? out_k : 0) + sum_s W[k*ldw + s] g_s for rows of n elements; io: the rows' type,
     0 work type, 1 double */
  void (*rows)(ptrdiff_t n, int nsrc, int iosrc, const void *const g[], const void *W, ptrdiff_t ldw, int nout,
               int ioout, int add, void *const out[]);
} BCRPolesTable;

/* isa: -1 the best this machine has, else 0, 1, 2 */
PETSC_INTERN const BCRPolesTable *BCRCpuPoles(int isa, int single);
