/*
  Level 0 of the default plan: groups of up to 8 block rows (7 and a separator inside the domain)
  are eliminated in physical space, one pass over f (reduce), and substituted back, one pass over f
  and u (back). docs/method.md, "Level 0".

  The rows of a plane, here 19 of them with radix 8:

      row   0  1  2  3  4  5  6 | 7 | 8  9 10 11 12 13 14 |15 |16 17 18
            `---- group 0 ----'   |   `----- group 1 ----'  |  group 2
                             separator 0               separator 1

  reduce leaves in D what the separators' right-hand sides are when the groups are eliminated; back takes the separators'
  solutions from there. Groups between separators have 7 rows, the last one what is left, 1 to 8. Where an interface to
  the rows of the next rank ends the plane it is one more separator, behind the last group (right); the interface of the
  rank before is the separator before group 0 (left).

  Block rows y, lines along x. In a group of h rows with eigenpairs (lambda_j, S), A = S^-1, unit block coupling:

     T_j v_j = (A f)_j / r,   T_j = tridiag(-1, 2 + delta_j, -1) and ends,   r = a_x/a_y,   delta_j = (shift + a_y lambda_j)/a_x

  T_j is solved by y_i = g_i + mu y_{i-1}, t_i = y_i + mu t_{i+1}, v = mu t with the constant mu =
  1/(1 + e), e the limit of its pivots 1 + e_i; the pivots of the columns at the left end, before
  they have converged, are tabled (C, B, F), the right end is one column (Cn, Fn). Modes sit in
  lanes.

  Products of axes (coupled): T_j = a_j T + d_j with another a_j for each mode, of either sign, as mu has, and block
  rows are coupled by the tridiagonal b = diag, -off. reduce then leaves the groups' sums in D alone, couple makes f + b D
  of them; the separators' solutions v, which couple writes to u, come to back as b v.

  Pairs: complex fields as they are, lines with a complex delta. Columns are real and imaginary parts in turn (nx, nb, nv
  and peel count both), mu, Cn, Fn and each column of c and F real parts [BL], then imaginary ones; F has mu in it. Column
  i of c has the inverse pivot of the unknown before, so that the backward recurrence takes column i + 1.
*/
#pragma once

#include <stddef.h>

typedef struct {
  int h;           /* rows in a group of this kind */
  int pairs;       /* double precision, open lines: see below */
  int regular;     /* 7 rows, a separator or a Dirichlet end on either side: fast sine transform */
  ptrdiff_t peel;  /* blocks of columns that use the tables c, F; all of them: the last column is in the tables too */
  ptrdiff_t halo;  /* blocks after which mu^(columns) is below rounding; at most all */
  ptrdiff_t tile;  /* blocks in a tile, >= peel */
  ptrdiff_t slots; /* blocks of the forward recurrence that are kept: tile + halo, at most all */
  void *mu;        /* [BL] */
  void *om;        /* [BL] weight of mode j in the sum for the left separator; times (-1)^j for the right one */
  void *Cn, *Fn;   /* [BL] last column: multiplier of the forward recurrence, scale */
  void *fac;       /* [BL] 1/(1 - mu^nx), periodic lines */
  /* [peel*BL + 2][BL] inverse pivots of the column before the first and of all others: forward
     multiplier of column i at i, backward one at i + 2 */
  void *c;
  void *F; /* [peel*BL][BL] output scale relative to mu */
  /* 2 where the line's first (last) column is mirrored, else 1: times the first backward (last
     forward) multiplier */
  double up, low;
  void *A;        /* [8][8] analysis, row j */
  void *S;        /* [8][8] synthesis, row p, output scale included */
  void *outscale; /* [8] output scale of a regular group */
} BCRLevel0Kind;

typedef struct {
  ptrdiff_t nx, nb; /* columns, blocks of BL columns */
  int nv;           /* columns in the last block */
  ptrdiff_t ring;   /* blocks in the ring of the forward recurrence: the most slots of a kind */
  int xperiodic, yperiodic;
  ptrdiff_t ng;              /* groups */
  const unsigned char *kind; /* of each group */
  /* first row of each group; a separator follows every group but the last, the last too if right */
  const ptrdiff_t *row;
  int right; /* on a periodic y axis, and where an interface to another rank's rows is the last row */
  /* row of D of the separator before the first group, -1: none. Periodic: the last separator; else a row of its own,
     which gets what the first group adds to a separator that is not here */
  ptrdiff_t left;
  /* f comes from so far that it is asked for ahead; nearer by, what the hardware fetches by itself is enough */
  int far;
  /* b of products of axes: a row's diagonal, and less its couplings; those of the first and of the last row (the
     neighbour beyond comes round where xperiodic) */
  int coupled;
  double diag, off, enddiag[2], endoff[2];
} BCRLevel0Shape;

typedef struct {
  int io;          /* 0: f and u have the work type, 1: they are double and the work type is float */
  double sepscale; /* separators are multiplied by this on their way to u */
  double sub;      /* subtracted from f (singular case) */
  double *rowsum;  /* reduce: the sums of the rows of f, of which each element is there once; NULL: not wanted */
  /* double precision, open lines. Reduce: modes of each group's solution between zeros, without their output scale, in
     columns 0, 1, nx - 2, nx - 1, [ng][4][BL]; back: what is added to modes of f in the first and the last column,
     [ng][2][BL]. NULL: nothing */
  double *columns;
  const double *sources;
  ptrdiff_t ahead; /* back: separators so many groups before come nearer meanwhile; 0: none */
} BCRLevel0Args;

typedef struct {
  int (*lanes)(void);                      /* BL */
  size_t (*work)(const BCRLevel0Shape *s); /* elements of work */
  /* the first of them that must stay as they are from one call to the next */
  size_t (*keep)(const BCRLevel0Shape *s);
  void (*start)(const BCRLevel0Shape *s, void *work); /* before the first reduce */
  /* D[s] complete for s < g1 - 1 afterwards (all, when g1 == ng) */
  void (*reduce)(const BCRLevel0Shape *s, const BCRLevel0Kind *kinds, ptrdiff_t g0, ptrdiff_t g1,
                 const BCRLevel0Args *args, const void *f, ptrdiff_t ldf, void *D, ptrdiff_t ldd, void *work);
  void (*back)(const BCRLevel0Shape *s, const BCRLevel0Kind *kinds, ptrdiff_t g0, ptrdiff_t g1, BCRLevel0Args *args,
               const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, const void *D, ptrdiff_t ldd, void *work);
  /* A separator's row D, of shapes that are coupled: u = sepscale D where there is a row of u; then D = f + b D, or b D
     without f */
  void (*couple)(const BCRLevel0Shape *s, const BCRLevel0Args *args, const void *f, void *u, void *D, void *work);
} BCRLevel0Table;
