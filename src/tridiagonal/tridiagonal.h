/*
  Batches of tridiagonal lines: what a batch is, and the solver that PC, KSP, compact derivatives
  and the public calls use. No PETSc objects: raw arrays, sizes, a communicator. The same
  description serves one rank and several, CPU and GPU.

  Layout. A field holds `inner * n * outer` reals, element (i, j, o) at i + inner*(j + n*o), j along
  the lines. Lines along x of a DMDA have inner = 1 (times dof, times 2 for complex scalars), along
  z outer = 1. Complex scalars are two reals with the same coefficients: rep = 2. Line number of (i,
  o): l = i/rep + (inner/rep)*o, 0 <= l < (inner/rep)*outer.

  Rows. Row j of a line: low u_{j-1} + diag u_j + up u_{j+1} = f_j. A near-Toeplitz line has the
  same three numbers in all rows but the first nfirst and the last nlast ones (at most BCR_TRI_EDGE
  each; compact schemes need two). A general line has arrays.

  Across ranks every rank describes its own rows, n of them (0 or more, uneven), in the order of the
  ranks of comm; low of its first row is the coupling to the last row of the rank before, up of its
  last row to the first row of the rank after. At the outer ends of a line that is not periodic
  these two are ignored; a periodic line closes on itself with them (across ranks too).
*/
#pragma once

#include "../base/petscbcrimpl.h"

#define BCR_TRI_EDGE 3
#define BCR_TRI_TUNE 5

typedef enum {
  BCR_TRI_AUTO,
  BCR_TRI_SCAN,    /* two constant recurrences and corrections at the ends */
  BCR_TRI_CR,      /* NEATO: precomputed cyclic reduction, paper 002 chapter 2 */
  BCR_TRI_PSCHEME, /* paper 003 */
  BCR_TRI_DC,      /* paper 004 */
  BCR_TRI_THOMAS   /* stored factors */
} BCRTriMethod;

typedef enum {
  BCR_TRI_COUPLING_AUTO,
  BCR_TRI_COUPLING_NEIGHBOUR,
  BCR_TRI_COUPLING_REDUCED
} BCRTriCoupling;

typedef enum {
  BCR_TRI_DOUBLE,
  BCR_TRI_SINGLE,
  BCR_TRI_MIXED /* single, corrected in double */
} BCRTriPrecision;

typedef struct {                    /* a near-Toeplitz line */
  PetscReal row[3];                 /* low, diag, up */
  PetscReal first[BCR_TRI_EDGE][3]; /* rows 0, 1, ..., nfirst - 1 */
  PetscReal last[BCR_TRI_EDGE][3];  /* rows n - nlast, ..., n - 1 */
} BCRTriRows;

typedef struct {
  PetscInt inner, n, outer, rep;
  PetscBool periodic;
  PetscBool perline;      /* PETSC_FALSE: one set of coefficients for all lines; PETSC_TRUE: one for each */
  PetscInt nfirst, nlast; /* near-Toeplitz lines; nfirst + nlast <= n */
  const BCRTriRows *rows; /* near-Toeplitz: 1 or one for each line; NULL: general */
  /* general: n numbers, or with perline, element j of line l at l%(inner/rep) + (inner/rep)*(j +
     n*(l/(inner/rep))) */
  const PetscReal *low, *diag, *up;
} BCRTriSpec;

typedef struct {
  BCRTriMethod method;
  BCRTriCoupling coupling;
  BCRTriPrecision precision;
  PetscInt parts; /* pscheme, dc: number of parts of a line; 0: automatic */
  /* pscheme: 0 rearranged array, 1 plain; dc: 0 parallel (A2), 1 sequential (A1); dc's precisions:
     single S, double D, mixed SD */
  PetscInt variant;
  int isa;          /* -1: the best this machine has (tests: 0, 1, 2) */
  PetscBool device; /* on a CUDA device */
  void *stream;     /* there: of set-up, and of fields of the host */
  int memory;       /* there, cr: 0 automatic, 1 shared, 2 global (paper 002 section 2.2) */
  /* there, scan: how lines are cut, as in BCRCudaScan; zeros: automatic. For benches and tests */
  int tune[BCR_TRI_TUNE];

  struct _n_BCRTransport *transport; /* there, of several ranks: of the comm of the lines */
  /* dc: end rows up to 2^10 times as large or small as others stay so, and three digits may go */
  PetscBool unscaled;
} BCRTriOptions;

typedef struct {
  BCRTriMethod method;                  /* used */
  BCRTriCoupling coupling;              /* used */
  PetscInt reduced;                     /* lines that need the reduced system over all ranks */
  PetscReal lost;                       /* neighbour coupling: largest relative size of what is left out */
  size_t tables, workspace, bytes_sent; /* bytes; sent by this rank in one solve */
  double flops;
  char what[128];      /* one line for views */
  char device[64];     /* on a CUDA device: its name */
  char transport[352]; /* across ranks with devices: its name, and why it is that */
} BCRTriInfo;

/* One rank's batch, no communication: src/tridiagonal/local.c and one file for each method. The
   couplings out of the rank are not used unless periodic. A zero or unusable pivot:
   PETSC_ERR_MAT_LU_ZRPVT, naming line and row. */
typedef struct _n_BCRTriLocal *BCRTriLocal;
PETSC_INTERN PetscErrorCode BCRTriLocalCreate(const BCRTriSpec *spec, const BCRTriOptions *options, BCRTriLocal *local);
PETSC_INTERN PetscErrorCode BCRTriLocalSolve(BCRTriLocal local, const PetscReal *f, PetscReal *u); /* u may be f */
PETSC_INTERN PetscErrorCode BCRTriLocalGetInfo(BCRTriLocal local, BCRTriInfo *info);
PETSC_INTERN PetscErrorCode BCRTriLocalDestroy(BCRTriLocal *local);

/* The whole batch, over the ranks of comm (those along the lines; collective): src/tridiagonal/tridiagonal.c */
typedef struct _n_BCRTri *BCRTri;
PETSC_INTERN PetscErrorCode BCRTriCreate(MPI_Comm comm, const BCRTriSpec *spec, const BCRTriOptions *options,
                                         BCRTri *tri);
/* u may be f; host arrays, wherever the work is done */
PETSC_INTERN PetscErrorCode BCRTriSolve(BCRTri tri, const PetscReal *f, PetscReal *u);
/* device arrays, options->device; waits for nothing */
PETSC_INTERN PetscErrorCode BCRTriSolveDevice(BCRTri tri, void *stream, const PetscReal *f, PetscReal *u);
/* whether lines of these options can be solved on a device: it is there, and so is the method;
   *why: what is in the way */
PETSC_INTERN PetscBool BCRTriDevicePossible(const BCRTriOptions *options, const char **why);
PETSC_INTERN PetscErrorCode BCRTriGetInfo(BCRTri tri, BCRTriInfo *info);
PETSC_INTERN PetscErrorCode BCRTriDestroy(BCRTri *tri);
