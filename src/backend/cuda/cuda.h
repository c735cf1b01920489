/*
  The CUDA backend: operations on device memory, each one or a few kernels launched on the caller's
  stream. Plain C interface, no PETSc: every function returns 0 or a CUDA error code
  (BCRCudaErrorString()). None but those of device.cu and graph.cu allocates, copies to or from the
  host, or waits. `single` chooses the type of the arrays named void: float or double. Tables are
  double unless it says otherwise.
*/
#pragma once

#include <stddef.h>
#include "../../base/cuda.h"
#include "../../base/ends.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* A box of unknowns; distances in elements */
typedef struct {
  int n[3];
  ptrdiff_t stride[3];
} BCRCudaBox;

/* fields.cu */

/* to = from * wx[i] wy[j] wz[k] * all[i + n0 (j + n1 k)]; w NULL: none of the three, all NULL:
   none. Types by from_single, to_single. */
BCR_CUDA_API int BCRCudaScaleCopy(BCRStream stream, const int n[3], int from_single, const void *from,
                                  const ptrdiff_t fs[3], int to_single, void *to, const ptrdiff_t ts[3],
                                  const double *const w[3], const double *all);
/* *sum = sum of u, weighted by w[0][i] w[1][j] w[2][k] where w is given; partial: BCR_CUDA_PARTIALS
   doubles of scratch */
#define BCR_CUDA_PARTIALS 1024
BCR_CUDA_API int BCRCudaSum(BCRStream stream, const BCRCudaBox *box, int single, const void *u,
                            const double *const w[3], double *partial, double *sum);
/* u = (u_from) + factor * *value, out of place if from != u */
BCR_CUDA_API int BCRCudaAddValue(BCRStream stream, const BCRCudaBox *box, int single, const void *from, void *u,
                                 const double *value, double factor);
/* u += factor * *value * from */
BCR_CUDA_API int BCRCudaAddScaled(BCRStream stream, const BCRCudaBox *box, int single, const void *from,
                                  const ptrdiff_t fs[3], void *u, const double *value, double factor);
BCR_CUDA_API int BCRCudaScaleValue(BCRStream stream, const double *from, double factor, double *to); /* one number */

/* Nodes of a plane of boundary rows beside the box (src/poisson/planes.c); vectors of the type of
   single, nodes es apart */
typedef struct {
  ptrdiff_t at, stride[2], q, qstride[2], inward;
  int n[2];
  const double *inv, *couplings; /* or NULL */
  double inv0, slope;
} BCRCudaFace;
/* u_b = f_b (times inv if scaled) */
BCR_CUDA_API int BCRCudaFaceBegin(BCRStream stream, const BCRCudaFace *face, int single, ptrdiff_t es, const void *f,
                                  void *u, int scaled);
/* u_b += slope u_1 */
BCR_CUDA_API int BCRCudaFaceSlope(BCRStream stream, const BCRCudaFace *face, int single, ptrdiff_t es, void *u);
/* u_b = inv (u_b + entry u_1), entry = couplings or coupling w0 w1, over all[..] if given (then times scale) */
BCR_CUDA_API int BCRCudaFaceEnd(BCRStream stream, const BCRCudaFace *face, int single, ptrdiff_t es, void *u,
                                int couple, double coupling, double scale, const double *w0, const double *w1,
                                const double *all, ptrdiff_t all0, const ptrdiff_t alls[2]);
/* What a face adds to the box's right-hand side in the nodes beside it: factor [couplings] [w0 w1]
   [all] u_b. They are node `end` along axis; face.n[0], w0 along other[0], face.n[1], w1 along
   other[1]. all: of the box, in packed order */
typedef struct {
  BCRCudaFace face;
  int axis, end, other[2], use_couplings;
  double factor;
  const double *w0, *w1, *all; /* or NULL */
  ptrdiff_t all0, alls[2];
} BCRCudaFaceTerm;
/* t: the box's right-hand side */
BCR_CUDA_API int BCRCudaFaceMove(BCRStream stream, const BCRCudaFaceTerm *term, int single, ptrdiff_t es, const void *u,
                                 int t_single, void *t, const ptrdiff_t ts[3]);

/* nodes that lie in several planes: at, from, inv, slope in arrays on the device */
typedef struct {
  ptrdiff_t at, from;
  double inv, slope;
} BCRCudaEdge;
/* Rows apart (their at and inv): w = inv f at n nodes, and u = w there */
BCR_CUDA_API int BCRCudaApartBegin(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t es,
                                   const void *f, double *w);
BCR_CUDA_API int BCRCudaApartEnd(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t es,
                                 const double *w, void *u);
BCR_CUDA_API int BCRCudaEdgeBegin(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t es,
                                  const void *f, void *u, int scaled);
/* u_at += slope u_from; transposed u_from += slope u_at, edges with the same neighbour one behind another in e */
BCR_CUDA_API int BCRCudaEdgeSlope(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t es, void *u,
                                  int transpose);
BCR_CUDA_API int BCRCudaEdgeScale(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t es, void *u);

/* rows.cu: a matrix in compressed rows on the device, of dof rows for each node of the grid, x
   fastest, fewer than 2^32 rows. wide: indices of 64 bits; values are float (single) or double,
   complex if parts is 2 */
typedef struct {
  const void *i, *j, *a;
  int wide, single, parts;
  int dim, dof, n[3];
} BCRCudaRows;
/* What a component's rows should be: BCROperator with BCRModelAxis, planes at low and high ends.
   axis[d]: lo, up, dg, w, n of the grid each, on the device */
typedef struct {
  const double *axis[3];
  double scale, shift, slope[3][2], inv[3][2];
  int owner[3], b[3], n[3], present[3][2];
} BCRCudaRowsModel;
typedef struct {
  double worst;    /* the largest relative deviation */
  long long where; /* 8 row + slot */
  int odd;         /* a row that is not for this comparison */
} BCRCudaRowsFound;
/* found: of each block */
BCR_CUDA_API int BCRCudaRowsCompare(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowsModel *models,
                                    double plane_tol, double same_tol, int blocks, BCRCudaRowsFound *found);
/* Nodes first + k step, k < count, of n lines; row r (of the line, all components) of line l goes
   to (l most + r) width of out, entries beyond width are left out */
#define BCR_CUDA_ROW_LINES 27
typedef struct {
  int n, most, width, count[BCR_CUDA_ROW_LINES];
  long long first[BCR_CUDA_ROW_LINES], step[BCR_CUDA_ROW_LINES];
} BCRCudaRowLines;
BCR_CUDA_API int BCRCudaRowsTake(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowLines *lines, void *out);
/* BCRPlanesSearch(): the rows of component c at the ends (2 d + s) where a plane is present, each
   compared with the planes that its node is in */
typedef struct {
  int c, present[6];
  double slope[6];
} BCRCudaRowsPlanes;
typedef struct {
  /* bit 8 in + fits: a node that is in planes of the axes `in` and fits those of the axes `fits` */
  unsigned long long seen;
  unsigned int wrong; /* bit 0: a row that fits none, bit 1: one that the host has to look at */
} BCRCudaRowsEnd;
/* found: of each end, on the device, zero before */
BCR_CUDA_API int BCRCudaRowsSearch(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowsPlanes *planes,
                                   double plane_tol, double same_tol, BCRCudaRowsEnd found[6]);

/* refine.cu: mixed precision. The right-hand side is f [w[0] w[1] w[2]] [all] and what the faces
   add to it, made where it is read; f and u, which has the faces' values, float or double */
typedef struct {
  BCRCudaBox box;
  int single, nface;
  const void *f, *u;
  ptrdiff_t es;             /* of the faces' nodes in u */
  const double *w[3], *all; /* or NULL */
  BCRCudaFaceTerm face[6];
} BCRCudaRefineRhs;
/* scalars: 3 doubles (a power of two rs, the mean removed so far, scratch); r: residuals times rs,
   rows rs[1], planes rs[2] apart */
BCR_CUDA_API int BCRCudaRefineBegin(BCRStream stream, const BCRCudaRefineRhs *g, float *r, const ptrdiff_t rs[3],
                                    double *scalars);
/* v = (keep ? v : 0) + inverse/rs e; the mean grows by *removed/rs */
BCR_CUDA_API int BCRCudaRefineCorrect(BCRStream stream, const BCRCudaBox *v_box, const float *e, const ptrdiff_t es[3],
                                      double *v, double inverse, int keep, const double *removed, double *scalars);
/* r = rs (g - mean - K v), K of rows -low diag -up along each axis, the first and last low and up
   for periodic neighbours */
BCR_CUDA_API int BCRCudaResidual(BCRStream stream, const BCRCudaRefineRhs *g, const BCRCudaBox *v_box, const double *v,
                                 float *r, const ptrdiff_t rs[3], const double *const low[3],
                                 const double *const diag[3], const double *const up[3], double shift,
                                 const double *scalars);
BCR_CUDA_API int BCRCudaTrial(BCRStream stream, long n, double size, double *g);
BCR_CUDA_API int BCRCudaSumSquares(BCRStream stream, const BCRCudaBox *box, int single, const void *u, int nparts,
                                   double *parts);

/* dense.cu: transforms along an axis (src/backend/cpu/dtt.h has the eigenvectors), any size, as
   products with a matrix that is never stored. phi_j(i) = sin or cos (pi I J / (2 P)), I = 2 i +
   ib, J = ja j + jb; tab[m] = sin(pi m / (2 P)), m < 4 P, in the work type */
typedef struct {
  int n, ib, ja, jb, P, cosine, periodic, half[2]; /* half: weight 1/2 at that end */
  const void *tab;
  const double *twiddle; /* for the passes of BCRCudaFft(): BCRCudaFftTwiddles() */
} BCRCudaModes;
/* lines: na x nb of them, sa and sb apart, elements s apart; out of place */
typedef struct {
  int na, nb;
  ptrdiff_t sa, sb, s;
} BCRCudaLines;
BCR_CUDA_API int BCRCudaDense(BCRStream stream, const BCRCudaModes *modes, int synthesis, int single,
                              const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                              const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab); /* extra: see BCRCudaFft() */

/* fft.cu: the same by Fourier transforms of length P in shared memory (shared bytes a block may
   have). In place where f and u have the same strides. Analysis: row extraof[a] of extra (its rows
   extrald, those of the next b extrab apart) is added to line (a, b) where it is not negative. */
BCR_CUDA_API int BCRCudaFftPossible(int P, int single, int shared);
/* how many complex numbers, and these, as pairs of doubles, if w is given */
BCR_CUDA_API int BCRCudaFftTwiddles(int P, double *w);
BCR_CUDA_API int BCRCudaFft(BCRStream stream, const BCRCudaModes *modes, int synthesis, int single, int shared,
                            const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                            const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab);

/* dst.cu: sine transforms of contiguous rows between two Dirichlet ends, N - 1 unknowns each, for
   some N (even: cosine transforms between two node-centred Neumann ends, N + 1 unknowns; first and
   last unknown or mode are halved by either direction, the modes' norms must make up for that).
   Forward the modes come in an order of their own and twice too large: N of them (N + 1), position
   i has the mode modes[i] or, where that is -1, nothing; what lies there must be 0 on the way back,
   which doubles once more. Returned are counts: of positions, of complex numbers in the table (w,
   pairs of doubles; on the device in the work type) */
BCR_CUDA_API int BCRCudaDstPossible(int N, int single, int shared);
BCR_CUDA_API int BCRCudaDstOrder(int N, int even, int single, int modes[]);
BCR_CUDA_API int BCRCudaDstSigns(int N, int single, int signs[]); /* -1: there is minus the mode (not of cosines) */
BCR_CUDA_API int BCRCudaDstTable(int N, int single, double *w);
BCR_CUDA_API int BCRCudaDst(BCRStream stream, int N, int even, int back, int single, const void *table, int sms,
                            const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                            const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab,
                            int more); /* more: so many rows of one more plane */

/* The same for other lengths P, by convolutions */
BCR_CUDA_API int BCRCudaDstChirpPossible(int P, int even, int single, int shared);
BCR_CUDA_API int BCRCudaDstChirpOrder(int P, int even, int modes[]);
BCR_CUDA_API int BCRCudaDstChirpTable(int P, int even, int single, double *w);
BCR_CUDA_API int BCRCudaDstChirp(BCRStream stream, int P, int even, int back, int single, const void *table, int sms,
                                 const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u,
                                 const void *extra, const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab, int more);

/* The same for n unknowns between these ends, by two or three convolutions each: periodic,
   two cell-centred ends of a kind, one Dirichlet and one node-centred Neumann end; and what is too
   long for the others between two of a kind of these (n odd), not in place. Places have n modes
   (modes: n of them, then their signs), the constant first */
BCR_CUDA_API int BCRCudaDstConvolvePossible(int n, const BCREnd end[2], int single, int shared);
BCR_CUDA_API int BCRCudaDstConvolveTable(int n, const BCREnd end[2], int single, double *w, int *modes);
BCR_CUDA_API int BCRCudaDstConvolve(BCRStream stream, int n, const BCREnd end[2], int back, int single,
                                    const void *table, int sms, const BCRCudaLines *fl, const void *f,
                                    const BCRCudaLines *ul, void *u, const void *extra, const int *extraof,
                                    ptrdiff_t extrald, ptrdiff_t extrab, int more);

/* dstprime.cu: the same for lengths with a prime factor of its own, n modes: passes in shared
   memory, whose tables are w (complex numbers, in the work type) and index. Plan fills w, index and
   modes (n of them, then their signs) if they are given; 0: there is none */
#define BCR_CUDA_DST_PASSES 10
typedef struct {
  int R, s, n, each, w; /* radix, distance of what it takes (s times `each`); where its factors are, or -1 */
  unsigned pers, pern, pereach;
} BCRCudaDstPass;
typedef struct {
  /* passes over Q, then over h; complex numbers that come and go */
  int P, Q, h, nq, nh, count, alone, pairs, big;
  int threads, shared;
  int even, odd, twist;                                   /* in w; twist: -1 for odd h */
  int in, backin, backout, out, mirror, kind, zero, pair; /* in index */
  int nw, ni;
  unsigned perh, permiddle;
  BCRCudaDstPass pass[BCR_CUDA_DST_PASSES];
  const void *w; /* on the device, to be set */
  const int *index;
} BCRCudaDstPrime;
/* the kernel after transforms of that many rows may begin early: common.cuh */
BCR_CUDA_API int BCRCudaDstPrimeEarly(const BCRCudaDstPrime *plan, int rows, int sms);
BCR_CUDA_API int BCRCudaDstPrimePlan(int P, int single, int shared, BCRCudaDstPrime *plan, double *w, int *index,
                                     int *modes);
BCR_CUDA_API int BCRCudaDstPrimeApply(BCRStream stream, const BCRCudaDstPrime *plan, int back, int single, int sms,
                                      const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u,
                                      const void *extra, const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab,
                                      int more);

/* rowfft.cu: the same for rows that are periodic, or between two cell-centred ends of the same kind,
   where n has small factors only.
   The constant mode, if there is one, comes first */
typedef struct {
  int n, np, pad, threads, shared;
  int half;        /* in w: half roots, or -1 */
  int in, partner; /* in index */
  int nw, ni;
  BCRCudaDstPass pass[BCR_CUDA_DST_PASSES];
  const void *w;
  const int *index;
} BCRCudaRowFft;
BCR_CUDA_API int BCRCudaRowFftPlan(int n, BCREnd end, int across, int single, int shared, BCRCudaRowFft *plan,
                                   double *w, int *index, int *modes);
BCR_CUDA_API int BCRCudaRowFftApply(BCRStream stream, const BCRCudaRowFft *plan, int back, int single, int sms,
                                    const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u,
                                    const void *extra, const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab,
                                    int more);
/* plan with `across`: lines of elements fl->s apart, fl->na contiguous columns of each plane; in
   place where f and u have the same strides */
BCR_CUDA_API int BCRCudaRowFftAcross(BCRStream stream, const BCRCudaRowFft *plan, int back, int single,
                                     const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u);

/* lines.cu: tridiagonal lines of any kind, one for each pair of modes. Rows of -low u_(i-1) + (exc
   + low + up + sigma) u_i - up u_(i+1), sigma = shift + sa[a] + sb[b]; solution times na[a] nb[b]
   factor. A periodic line has the open line's coefficients and its coupling. */
typedef struct {
  int n, periodic;
  const double *low, *exc, *up;
  double coupling;
  double shift, factor;
  const double *siga, *sigb, *norma, *normb; /* or NULL: 0, 1 */
  /* singular line, or -1: its right-hand side loses its mean in the weights w (NULL: ones), its
     last unknown is 0 */
  int pina, pinb;
  const double *w;
  double *removed; /* gets that mean times removedfactor */
  double removedfactor;
} BCRCudaLineRows;
BCR_CUDA_API int BCRCudaLineSolve(BCRStream stream, const BCRCudaLineRows *rows, int single, const BCRCudaLines *lines,
                                  void *u, const BCRCudaLines *worklines, void *work);

/* level0*.cu: level 0 of the default plan, of radix 8 or, where couplings along the row are not the
   stronger ones, 4 (a row fits one tile, all groups are regular) or 16 (single precision). Tables
   for each plane and kind of group (0 regular, 1 first, 2 last), in the work type:
   BCR_CUDA_LEVEL0_TAB(m) numbers, m = BCR_CUDA_LEVEL0_MOST(radix) the most rows of a group; m of
   them each: mu, weights of the modes in what the separator on the left gets, on the right
   (regular: unused), scale of the solution (regular); then the matrices of analysis and synthesis,
   m x m, of groups that are not regular; the inverse of the scale that separators in u have */
#define BCR_CUDA_LEVEL0_MOST(radix) ((radix) > 8 ? 16 : 8)
#define BCR_CUDA_LEVEL0_SHARE(m)    (m)
#define BCR_CUDA_LEVEL0_OUT(m)      (3 * (m))
#define BCR_CUDA_LEVEL0_A(m)        (4 * (m))
#define BCR_CUDA_LEVEL0_S(m)        ((4 + (m)) * (m))
#define BCR_CUDA_LEVEL0_INVERSE(m)  ((4 + 2 * (m)) * (m))
#define BCR_CUDA_LEVEL0_TAB(m)      ((5 + 2 * (m)) * (m))
#define BCR_CUDA_LEVEL0_MODES       15   /* of a regular group, at most */
#define BCR_CUDA_LEVEL0_SMALL       1100 /* unknowns of a row that radix 4 takes */
typedef struct {
  int nx, planes, ng, yperiodic, radix;
  /* rows of another rank go on at that end; the last row of the last group is a separator then */
  int open[2];
  int short0; /* 1: the first group has six rows */
  int hlast;  /* rows of the last group */
  /* 1: the row behind the last group, which is the last one, is a separator (not of whole rows) */
  int sepend;
  /* regular groups g0 .. g1 - 1, in strips of per; of the others there is one at most at either end
     */
  int g0, g1, per, strips;
  BCREndMirror mirror[2]; /* of the ends along the row, none: it is periodic */
  int halo;               /* columns */
  /* regular groups: doublings after which mu^K is below rounding, for each mode */
  int steps[BCR_CUDA_LEVEL0_MODES];
  ptrdiff_t ldf, fplane, ldu, uplane, ldd, dplane, eplane; /* eplane: of the strips' first contributions */
  const void *tab;
  /* a single plane's: regular groups, as in tab */
  double mu[BCR_CUDA_LEVEL0_MODES], share[BCR_CUDA_LEVEL0_MODES], out[BCR_CUDA_LEVEL0_MODES], inverse;
  /* device: subfactor times it is subtracted from f in the back substitution; NULL: nothing */
  const double *sub;
  double subfactor;
  int subplane;
  int shape;
  const void *before; /* open[0]: solution in the row before the first */
  int early;          /* the transforms that follow, or came before, have a multiprocessor each */
} BCRCudaLevel0;
/* sets shape, from nx, halo, ng, planes, radix: columns of a thread and of a tile, halos included,
   and blocks that a multiprocessor runs at a time */
BCR_CUDA_API void BCRCudaLevel0Shape(BCRCudaLevel0 *p, int single, int sms, int *K, int *columns, int *blocks);
/* D: right-hand sides of separators; what the first separator of strip b (b = strips: that of the
   last group) gets besides goes to row b of extra. open[0]: what the row before the first gets goes
   to the row of D behind the separators' */
BCR_CUDA_API int BCRCudaLevel0Reduce(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *D,
                                     void *extra);
/* separators' solutions are in u */
BCR_CUDA_API int BCRCudaLevel0Back(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *u);

/* level0small.cu: level 0 of regular groups with the sine transform of the separators (dst.cu,
   whose table it takes), where a block has whole rows between Dirichlet ends: D gets the modes of
   the separators' right-hand sides but for what the group after separator s adds, which is row s +
   1 of extra. Back from the modes of their solutions in D, u may be f */
BCR_CUDA_API int BCRCudaLevel0SmallPossible(const BCRCudaLevel0 *p, int single, int shared);
BCR_CUDA_API int BCRCudaLevel0SmallReduce(BCRStream stream, const BCRCudaLevel0 *p, int single, int sms,
                                          const void *table, const void *f, void *D, void *extra);
BCR_CUDA_API int BCRCudaLevel0SmallBack(BCRStream stream, const BCRCudaLevel0 *p, int single, int sms,
                                        const void *table, const void *D, const void *f, void *u);

/* level0rows*.cu: the same where a block has whole rows between Dirichlet ends, in place: f is u,
   separators stay in D. slots: blocks that the device runs at a time */
BCR_CUDA_API int BCRCudaLevel0RowsPossible(const BCRCudaLevel0 *p, int single, int sms, int *slots);
BCR_CUDA_API int BCRCudaLevel0RowsReduce(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *D,
                                         void *extra);
BCR_CUDA_API int BCRCudaLevel0RowsBack(BCRStream stream, const BCRCudaLevel0 *p, int single, void *u, void *D);

/* seplines.cu: near-Toeplitz lines, a constant mu for each mode. T = (factors of constant mu) +
   corrections at the ends, which go into the right-hand side: with x the solution for g hs, g_1 and
   g_n get A x_1 + B x_n + C g_last, where (A, B, C) are tab[3..5] and [6..8]; the last unknown of a
   periodic line (row n) is tab[9] x_1 + tab[10] x_n + tab[11] g_last. tab[0] mu, [1] hs, [2]
   unused; tables: [plane][12][nk] doubles */
#define BCR_CUDA_SEP_TAB 12
/* with C the couplings beyond both ends and M as in the corrections, C M (two rows); norm of
   right-hand sides; what divides C M in the corrections */
#define BCR_CUDA_SEP_BORDER 6
typedef struct {
  int n, nk, planes, periodic; /* n: rows of the open line */
  ptrdiff_t ld, plane;         /* of g */
  const double *tab;
  /* singular mode, or -1: its right-hand side loses its share of a constant, the constant's size
     goes to removed[0], for its mode to removed[1] */
  int pin, pinplane;
  const double *ones; /* what a right-hand side of ones is there */
  double removedfactor, subfactor;
  double *removed;
  /* rows of other ranks beyond an end (neither periodic nor singular): solutions in the row after,
     which is row n of g then, and in the row before, the next one of g, for modes in another order:
     position k of a plane has mode of[plane][k] there (or none, -1), fac[plane][k] times as large.
     border: [plane][BCR_CUDA_SEP_BORDER][nk] */
  int open[2];
  const double *border, *fac, *after, *before;
  const int *of;
  int early;        /* as in BCRCudaLevel0 */
  const void *more; /* what is added to g, ld and plane as there, or NULL; between level0small.cu's kernels */
} BCRCudaSepLines;
typedef struct {
  int n, periodic, end[2], gapend[2], gap, gaplast; /* as BCRLineRows, n of the open line */
  /* periodic, no rows eliminated: all n rows go round, (A, B) are such that the constant mu fits */
  int ring;
  int nk, planes, pin, pinplane;
  double ax, ay;
  const double *lambda, *norm, *shift, *scale; /* device: nk, nk, planes, planes (of the solution) */
  double *border;                              /* or NULL */
} BCRCudaSepRows;
BCR_CUDA_API int BCRCudaSepTables(BCRStream stream, const BCRCudaSepRows *rows, double *tab); /* waits for nothing */
BCR_CUDA_API int BCRCudaSepSolve(BCRStream stream, const BCRCudaSepLines *p, int single, void *g);
/* open ends: right-hand sides of the row after (own, mode m at own[-m]) and what the row before
   gets, times a, with what is left of lines that end at these rows */
BCR_CUDA_API int BCRCudaSepEnds(BCRStream stream, const BCRCudaSepLines *p, int single, const void *g, double a,
                                double *own, double *left);

/* reduction.cu: block cyclic reduction of a given radix, a step at a time (BCRReductionStep). Item
   k has np right-hand sides, each a sum of nsrc rows of U with weights wsrc[np][nsrc] (work type);
   its solutions, summed with weights wout[np][nout], are added to nout rows (add), or set */
typedef struct {
  int count, nsrc, np, nout, add;
  const int *src, *out; /* device: [count][nsrc], [count][nout] */
  const double *lambda; /* device: [np] */
  const void *wsrc, *wout;
} BCRCudaStep;
/* nb boxes, sb apart, of rows sr apart; a row is n0 unknowns s0 apart, or n1 times as many, s1 apart */
typedef struct {
  int n0, n1, nb;
  ptrdiff_t s0, s1, sr, sb;
} BCRCudaPlanes;
/* G: right-hand sides and solutions of box b, item k, p at ((b count + k) np + p) gline, rows of n0 of each g1 apart */
BCR_CUDA_API int BCRCudaStepForm(BCRStream stream, const BCRCudaStep *st, const BCRCudaPlanes *u, int single,
                                 const void *U, void *G, ptrdiff_t g1, ptrdiff_t gline);
/* by sub-sums of that many terms; parts: room for nb count ceil(np/terms) nout of gline each, where terms < np */
BCR_CUDA_API int BCRCudaStepSum(BCRStream stream, const BCRCudaStep *st, const BCRCudaPlanes *u, int single,
                                const void *G, ptrdiff_t g1, ptrdiff_t gline, int terms, void *parts, void *U);
/* of each solution: shift[b] + a lambda[p] */
BCR_CUDA_API int BCRCudaStepShifts(BCRStream stream, const BCRCudaStep *st, int nb, const double *shift, double a,
                                   double *to);
/* Lines of n rows of scale (T + shift[b] + a lambda[p]), with couplings of one, by scalar cyclic
   reduction, a block of `width` threads each; more than `rows` rows are reduced in global memory
   first. Shape: sets rows (0: as many as fit) and the distance of lines; nonzero: it cannot be done
   */
BCR_CUDA_API int BCRCudaLinesCyclicShape(int n, int single, int shared, int width, int *rows, ptrdiff_t *ld);
BCR_CUDA_API int BCRCudaLinesCyclic(BCRStream stream, const BCRCudaStep *st, int nb, int n, double scale, double a,
                                    const double *shift, int first, int last, int single, void *G, ptrdiff_t ld,
                                    int width, int rows);

/* box*.cu: three dimensions with sine transforms of length N (N - 1 unknowns, each transform times 2) along two axes */
typedef struct {
  int N, L, nx, nb;          /* of the transform, of that by which it is done; columns, planes of them */
  ptrdiff_t fs, fb, us, ub;  /* along the transformed axis, from plane to plane */
  const void *roots, *chirp; /* BCRCudaBoxRoots() of L, BCRCudaBoxChirp(), in the work type */
} BCRCudaBoxPass;
/* Planes, one for each mode of the other transform: transformed along one axis, lines along the
   other, a ring if periodic; rows are ld apart. tab: BCRCudaSepLines, of N - 1 modes. half: the
   first, last equation is halved (node-centred Neumann) */
enum {
  BCR_CUDA_BOX_SLABS, /* lines along x, by clusters of blocks */
  BCR_CUDA_BOX_ROWS,  /* transforms along x, by clusters of blocks */
  BCR_CUDA_BOX_MARCH  /* transforms along x, planes of any size */
};
typedef struct {
  int kind, N, n, planes, half[2];
  ptrdiff_t ld, plane;
  const double *tab;
  const void *roots;
  double *ends; /* scratch: 2 (N - 1) planes, for BCR_CUDA_BOX_MARCH */
  /* BCR_CUDA_BOX_ROWS: row i has the right-hand side in row extraof[i] of extra, if that is not
     negative, besides its own; or NULL */
  const int *extraof;
  const void *extra;
  ptrdiff_t extrald, extraplane;
  /* BCR_CUDA_BOX_MARCH, rows of other ranks beyond an end: n rows of the lines, and one more where
     open[1]. BCRCudaSepLines has border, the rest is in natural order, (N - 1) planes; own (mode m
     at own[-m]) and left, times a: what Down leaves for the row after and for the row before;
     after, before: solutions there, for Up */
  int open[2];
  const double *border, *after, *before;
  double *own, *left, a;
} BCRCudaBoxPlanes;
BCR_CUDA_API int BCRCudaBoxPossible(int N);
/* L for BCRCudaBoxColumns(): N where that is possible, else of a convolution where these take less
   time than products do, 0 if there is none */
BCR_CUDA_API int BCRCudaBoxLength(int N, int single);
/* how many complex numbers, and these, as pairs of doubles, if w is given */
BCR_CUDA_API int BCRCudaBoxRoots(int N, double *w);
BCR_CUDA_API int BCRCudaBoxChirp(int N, int L, double *w);              /* none if L is N */
BCR_CUDA_API int BCRCudaBoxFits(const BCRCudaBoxPlanes *p, int single); /* whether the device can do it that way */
BCR_CUDA_API int BCRCudaBoxColumns(BCRStream stream, const BCRCudaBoxPass *p, int single, const void *f, void *u);
BCR_CUDA_API int BCRCudaBoxSolve(BCRStream stream, const BCRCudaBoxPlanes *p, int single, void *u);
/* open ends: down, then up */
BCR_CUDA_API int BCRCudaBoxHalf(BCRStream stream, const BCRCudaBoxPlanes *p, int up, int single, void *u);

/* tri*.cu: batches of lines as in src/tridiagonal/tridiagonal.h: element (i, j, o) at i + inner (j
   + n o), one set of numbers for all lines or one for each of inner/rep outer; number e of set l at
   e sets + l, double. io: fields of double, work in float. u may be f */

/* triscan.cu: near-Toeplitz lines by two constant recurrences, src/tridiagonal/scan.c. h, t: rows of the ends */
#define BCR_CUDA_SCAN_TAB 30
/* of a line with N rows at its ends */
#define BCR_CUDA_SCAN_NUMBERS(N) (BCR_CUDA_SCAN_TAB + (N) * ((N) + 2))
/* and more where all lines have the same */
#define BCR_CUDA_SCAN_PLACES 288
typedef struct {
  ptrdiff_t inner, n, outer, sets;
  int rep, perline, h, t;
  ptrdiff_t reach; /* rows after which powers of alpha and beta are below rounding */
  int tune
    [5]; /* 0: automatic. Rows of a thread; warps of a line, or threads of a column; 1: in chunks, 2: in pieces; columns of a block, or 1: no vectors;
                                                      blocks, per cent of the multiprocessors, by
                                                      which what comes to the cache early is ahead,
                                                      or of those that are resident where each has
                                                      whole lines */
  /* where all lines have the same numbers: the first unknown from number 0 and number h of the ends
     and the sum of the rows between, with nothing carried in */
  double first[3];
  const double *tab; /* on the device, what BCRCudaScanTables() makes */
  /* the rest is set by BCRCudaScanTables(). Where all lines have the same: theirs */
  double numbers[BCR_CUDA_SCAN_NUMBERS(6)];
  double thread[64]; /* too: scan_thread() of triscan.cuh, in the work type */
  double line[27];   /* too: triline.cu */
  int resident;      /* too: blocks that the device has room for */
  size_t shared;     /* too: of the device, bytes that a block may have */
  int sms, clusters; /* of the device: multiprocessors; are there clusters of blocks? */
} BCRCudaScan;
/* on the host, once the rest is set: from alpha, beta, gamma, and G, (h + t) x (h + t + 2) by rows.
   How many: BCRCudaScanTableSize() */
BCR_CUDA_API size_t BCRCudaScanTableSize(const BCRCudaScan *p);
BCR_CUDA_API void BCRCudaScanTables(BCRCudaScan *p, int single, int io, const double *abc, const double *G,
                                    double *tab);
BCR_CUDA_API size_t BCRCudaScanWorkspace(const BCRCudaScan *p, int single, int io); /* bytes, after tune is set */
BCR_CUDA_API int BCRCudaScanSolve(BCRStream stream, const BCRCudaScan *p, int single, int io, const void *f, void *u,
                                  void *ws);
/* Lines that go on on other ranks, whose devices reach one another's memory (window.cuh). What a
   line's first and last row become without the rows next to them, by weights of these (row j from
   that end has vfirst[j - 1], or vlast[m - j], of the fields' type), goes to the ranks before and
   after and into the own memory; with these numbers, and theirs, the kernel solves the chain of
   rows before, own, after (n <= 4 of them, `begin` before: factors as BCRCudaChains has) and takes
   what the rows beyond add, by the couplings low and up, from the right-hand sides of the ends.
   late: weights that reach far; then from the solution of these lines by themselves, at both ends,
   by the four numbers schur; give: how many of both go to the rank before, and to the one after.
   Three slots of four numbers a line */
#define BCR_CUDA_SCAN_WEIGHTS 63 /* so many at most */
typedef struct {
  int n, begin, mfirst, mlast, late, give[2];
  double f[4], r[4], h[4], low, up, schur[4];
  const void *vfirst, *vlast;
  ptrdiff_t slot, columns;
  double *mine, *before, *after;
  unsigned *turn;
} BCRCudaScanRanks;
/* whether it can; contiguous lines: late */
BCR_CUDA_API int BCRCudaScanWaits(const BCRCudaScan *p, int single, int io);
BCR_CUDA_API int BCRCudaScanSolveRanks(BCRStream stream, const BCRCudaScan *p, const BCRCudaScanRanks *r, int single,
                                       const void *f, void *u, void *ws);

/* trifactors.cu: any lines by stored factors (src/backend/cpu/tri.h, BCRTriFactors): row j has
   entry j for j < nt, entry nt - 1 while j < n - nlast, then nt + j - (n - nlast); tables of the
   work type */
typedef struct {
  ptrdiff_t inner, n, outer, sets;
  int rep, perline, periodic;
  ptrdiff_t nt, nlast;
  const void *l, *p, *q, *r, *e; /* r, e: periodic */
} BCRCudaFactors;
BCR_CUDA_API int BCRCudaFactorsSolve(BCRStream stream, const BCRCudaFactors *t, int single, int io, const void *f,
                                     void *u);

/* tricr.cu: near-Toeplitz lines by cyclic reduction, src/tridiagonal/cr.c. Coefficient q of entry e
   of set l at (5 e + q) sets + l */
#define BCR_CUDA_CR_LEVELS 40
typedef struct {
  /* rows of the level, of these first and last with coefficients of their own; its first entry */
  ptrdiff_t rows, first, last, offset;
} BCRCudaCRLevel;
typedef struct {
  ptrdiff_t inner, n, outer, sets;
  int rep, perline, periodic, levels, shared; /* shared: bytes a block may have */
  BCRCudaCRLevel level[BCR_CUDA_CR_LEVELS];
  const double *table, *border, *z; /* periodic: 3 numbers; n - 1 numbers, e sets + l */
} BCRCudaCR;
BCR_CUDA_API int BCRCudaCRShared(const BCRCudaCR *c, int single); /* whether lines fit into shared memory */
BCR_CUDA_API int BCRCudaCRSolve(BCRStream stream, const BCRCudaCR *c, int global, int single, int io, const void *f,
                                void *u);

/* triparts.cu: recurrences by parts, src/recurrence/parts.h. Coefficients of row i of part p of set
   l at i parts sets + (inner == 1 ? p + parts l : l + sets p), one number for each set where
   constant, in the work type. S: product of the coefficients of part p at p sets + l, double.
   carry: a number for each part of a line */
typedef struct {
  ptrdiff_t inner, n, outer, sets;
  int rep, perline, constant, plain;
  ptrdiff_t rows, parts, m; /* rows that take part, of a part; the last one has fewer */
  const void *sf, *sb, *cb;
  const double *Sf, *Sb;
} BCRCudaParts;
BCR_CUDA_API int BCRCudaPartsSolve(BCRStream stream, const BCRCudaParts *p, int single, int io, int small,
                                   const void *f, void *u, double *carry);
/* After that, src/recurrence/tridc.c: u -= V (numbers of the ends). numbers of a set, e sets + l: 3
   for each row of D; the inverse; V in the first and in the last row; border; low, up, reciprocal
   pivot of the last row (the last three only of periodic lines) */
#define BCR_CUDA_ENDS 8
typedef struct {
  ptrdiff_t inner, n, outer, sets, rows;
  /* rows of D; columns of V: as many, or the one of the last unknown (count 0) */
  int rep, perline, periodic, count, columns;
  ptrdiff_t row[BCR_CUDA_ENDS], lo[BCR_CUDA_ENDS], hi[BCR_CUDA_ENDS];
  const double *numbers;
  const void *V[BCR_CUDA_ENDS]; /* (row - lo) sets + l, work type */
} BCRCudaEnds;
/* w: count + 1 numbers a line */
BCR_CUDA_API int BCRCudaEndsSolve(BCRStream stream, const BCRCudaEnds *d, int single, int io, const void *f, void *u,
                                  double *w);

#if defined(__cplusplus)
}
#endif
