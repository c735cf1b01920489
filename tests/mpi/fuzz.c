/*
  ranks: 1 2 3 4
  quick: 1

  A fuzz of PCBCRPOISSON and KSPBCRPOISSON: random operators of every form, and of forms that the library does not
  solve, in random sequences of solves on the same objects, against dense elimination. What counts is the true residual:
  an answer that is reported as converged has to be right, an operator that the documentation promises to solve has to
  be solved, every error has to be raised on all ranks, and nothing may hang.

      -cases N    how many cases (default: as many as take a few seconds); -long: 50 times as many
      -first K    the number of the first case: with -cases 1 that case alone
      -seed S     another sequence of cases
      -verbose    each case, each step and each answer

  Every rank draws the same numbers and has the whole matrix, dense, one for each component (components are not
  coupled). Rank 0 eliminates it and judges.
*/
#include "tests/petsc/testing.h"
#include "tests/check.h"
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

/* Dice: the same on all ranks */

typedef struct {
  uint64_t state;
} Dice;

static uint64_t Mix(uint64_t z)
{
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* A number in [-1, 1) that belongs to three others */
static double Hash(uint64_t salt, uint64_t a, uint64_t b)
{
  return (double)(Mix(Mix(Mix(salt) + a) + b + 0x9e3779b97f4a7c15u) >> 11) / (double)(1ull << 52) - 1;
}

static double Roll(Dice *d, double lo, double hi)
{
  d->state += 0x9e3779b97f4a7c15u;
  return lo + (hi - lo) * ((double)(Mix(d->state) >> 11) / (double)(1ull << 53));
}

static PetscInt RollInt(Dice *d, PetscInt n) /* 0 to n - 1 */
{
  return (PetscInt)Roll(d, 0, (double)n);
}

static PetscBool OneIn(Dice *d, PetscInt n)
{
  return RollInt(d, n) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

static double RollLog(Dice *d, double lo, double hi)
{
  return pow(10, Roll(d, log10(lo), log10(hi)));
}

/* What a case is */

enum {
  MAX_STEPS = 4,
  MAX_DOF = 3,
  MAX_DEFECTS = 2,
  SOLVERS = 2,
  COLUMNS = 3
};

typedef struct {
  char end[2];     /* d, c, D, n, p, r as in TestProblem; h: n with half rows; e: r, columns eliminated */
  double a;        /* coupling */
  double stretch;  /* spacings exp(stretch s), s between -1 and 1; 0: uniform */
  char spacings;   /* s: smooth, r: rough */
  double robin[2]; /* added to the diagonal of end rows, in units of the coupling there: convective walls, penalties */
} Axis;

typedef enum {
  PIN_ROW,        /* a row becomes that of the identity times size */
  PIN_BOTH,       /* a row and its column */
  DIAGONAL,       /* a diagonal times size */
  PERTURB_ONE,    /* an entry times 1 + size */
  PERTURB_ALL,    /* every entry, by random parts of size */
  DROP,           /* a link, both entries */
  ONE_WAY,        /* one entry of a link */
  ONE_WAY_PLANE,  /* the same for all links across a plane */
  DECOUPLE_PLANE, /* all links across a plane, both entries */
  HALF_WALL,      /* Dirichlet on half of a wall: diagonals of its rows + 2 size couplings */
  WRONG_SIGN,     /* a link */
  MORE,           /* size is added to a diagonal, in units of the largest */
  CORNER,         /* an entry round a corner: to be refused */
  NOT_A_NUMBER,   /* to be refused */
  SUNK,           /* indefinite by far: to be refused, or right */
  DEFECTS
} DefectKind;
static const char *const DefectNames[] = {"pin row",
                                          "pin row and column",
                                          "diagonal times",
                                          "perturb an entry by",
                                          "perturb all by",
                                          "drop a link",
                                          "one-way link",
                                          "one-way plane",
                                          "decouple at a plane",
                                          "half wall",
                                          "wrong sign",
                                          "more on the diagonal",
                                          "round a corner",
                                          "NaN",
                                          "sunk"};

typedef struct {
  DefectKind kind;
  PetscInt node, axis;
  double size;
} Defect;

/* One component: scale S (sum of axes + shift) and what spoils it */
typedef struct {
  Axis axis[3];
  double shift, scale;
  PetscBool volume;     /* rows times the volumes of their cells, so that a stretched grid has a symmetric matrix */
  char field;           /* coefficient: 1, s: smooth, r: rough, j: jump */
  double contrast;      /* its logarithm is within +- contrast */
  double left, both;    /* rows (rows and columns) times exp(left s), s random in -1 to 1 */
  double plane, varies; /* diagonal of kept rows, times exp(varies s) */
  PetscInt ndefects;
  Defect defect[MAX_DEFECTS];
  uint64_t salt;
} Operator;

typedef enum {
  SAME_MATRIX, /* nothing happens */
  NEW_VALUES,  /* in the same matrix */
  NEW_MATRIX,
  SHELL /* for this step the matrix is a MATSHELL: to be refused */
} Change;
static const char *const ChangeNames[] = {"same", "new values", "new matrix", "shell"};

typedef struct {
  Change change;
  PetscBool coupled;   /* components are coupled at one node: to be refused */
  PetscBool imaginary; /* complex scalars: one entry has an imaginary part: to be refused */
  PetscBool nullspace, left;
  Operator op[MAX_DOF];
} Step;

static const char *const KSPNames[] = {KSPPREONLY, KSPPREONLY, KSPBCRPOISSON, KSPCG, KSPGMRES, KSPBCGS, KSPFGMRES};

typedef struct {
  const char *type;
  PetscBool right; /* gmres: preconditioned from the right */
  PetscBool plain; /* cg: norm of the residual, not of the preconditioned one */
  PCBCRPoissonFit fit;
  PCBCRPoissonPrecision precision;
  PetscInt radix, nlevels, schedule[8];
  PetscBool recursive;
} Solver;

typedef struct {
  PetscInt number, seed, size; /* size: ranks */
  PetscInt dim, n[3], N, dof, parts[3], width;
  DMBoundaryType boundary[3];
  PetscBool box, uneven, patternonly; /* patternonly: the matrix has no entries that are not set */
  MatType mattype;
  PetscInt nsteps, nsolves;
  Step step[MAX_STEPS];
  Solver solver[SOLVERS];
  Dice dice; /* goes on with right-hand sides */
} Case;

static PetscBool Single(void)
{
  return sizeof(PetscReal) < sizeof(double) ? PETSC_TRUE : PETSC_FALSE;
}

static double TestEpsilon(void)
{
  return Single() ? 6e-8 : 1.1e-16;
}

/* Drawing a case */

static void DrawAxis(Dice *d, PetscInt n, PetscBool periodic, Axis *x)
{
  static const char ends[] = "ddccnhDre";

  memset(x, 0, sizeof(*x));
  for (int s = 0; s < 2; ++s) {
    x->end[s] = ends[RollInt(d, 9)];
    if (n == 1 && x->end[s] == 'h') x->end[s] = 'n';
    if (n < 3 && (x->end[s] == 'r' || x->end[s] == 'e')) x->end[s] = 'd';
  }
  if (periodic) x->end[0] = x->end[1] = 'p';
  x->a = OneIn(d, 3) ? 1 : RollLog(d, 0.01, 100);
  if (OneIn(d, 15)) x->a *= RollLog(d, 1e-12, 1e6);
  if (OneIn(d, 40)) x->a = 0;
  if (OneIn(d, 4)) {
    x->stretch = OneIn(d, 5) ? Roll(d, 1, 5) : Roll(d, 0.01, 1);
    x->spacings = OneIn(d, 2) ? 's' : 'r';
  }
  for (int s = 0; s < 2 && OneIn(d, 4); ++s) {
    if (x->end[s] == 'p' || x->end[s] == 'r' || x->end[s] == 'e') continue;
    x->robin[s] = OneIn(d, 3) ? RollLog(d, 1e6, Single() ? 1e7 : 1e12) : RollLog(d, 1e-3, 10);
    if (OneIn(d, 12)) x->robin[s] *= -0.01;
  }
}

/* Walls of one kind on all axes but periodic ones: what users have, and where operators are singular, or nearly so */
static void AllNeumann(Dice *d, const Case *c, Operator *op)
{
  const char end = "cchn"[RollInt(d, 4)];

  for (PetscInt a = 0; a < c->dim; ++a) {
    for (int s = 0; s < 2; ++s) {
      if (op->axis[a].end[s] != 'p') op->axis[a].end[s] = c->n[a] == 1 && end == 'h' ? 'n' : end;
      if (!OneIn(d, 6)) op->axis[a].robin[s] = 0;
    }
  }
}

static void DrawDefect(Dice *d, const Case *c, Defect *f)
{
  const PetscInt kind = RollInt(d, 30);

  f->kind = (DefectKind)(kind < CORNER ? kind : (kind < CORNER + 3 ? kind : kind % MORE));
  f->node = OneIn(d, 2) ? (OneIn(d, 2) ? 0 : c->N - 1) : RollInt(d, c->N);
  f->axis = RollInt(d, c->dim);
  f->size = 1;
  if (f->kind == PIN_ROW || f->kind == PIN_BOTH) f->size = OneIn(d, 2) ? 1 : RollLog(d, 1e-3, 1e3);
  if (f->kind == DIAGONAL) f->size = OneIn(d, 2) ? 2 : RollLog(d, 1.1, Single() ? 1e6 : 1e12);
  if (f->kind == PERTURB_ONE || f->kind == PERTURB_ALL) f->size = RollLog(d, 1e-14, 0.3);
  if (f->kind == MORE) f->size = RollLog(d, 1e-14, 1);
  if (f->kind == SUNK) f->size = RollLog(d, 0.01, 10);
}

static void DrawOperator(Dice *d, const Case *c, PetscBool plain, Operator *op)
{
  PetscInt general = 0;

  memset(op, 0, sizeof(*op));
  op->salt = (uint64_t)Roll(d, 0, 1e15);
  for (PetscInt a = 0; a < 3; ++a)
    DrawAxis(d, c->n[a], (PetscBool)(a < c->dim && c->boundary[a] == DM_BOUNDARY_PERIODIC && !OneIn(d, 8)),
             &op->axis[a]);
  if (OneIn(d, 3)) AllNeumann(d, c, op);
  for (PetscInt a = 0; a < c->dim; ++a) { /* most of them with one general axis at most */
    Axis *x = &op->axis[a];

    if (!x->stretch && !x->robin[0] && !x->robin[1]) continue;
    if (general++ && (plain || OneIn(d, 2))) x->stretch = x->robin[0] = x->robin[1] = 0;
    if (plain && x->end[0] == 'p') x->stretch = 0;
  }
  op->shift = OneIn(d, 2) ? 0 : RollLog(d, 1e-3, 10);
  if (OneIn(d, 12)) op->shift = RollLog(d, 1e-18, 1e-3);
  if (!plain && OneIn(d, 12)) op->shift = -RollLog(d, 1e-16, 0.1);
  op->scale = OneIn(d, 2) ? 1 : RollLog(d, 1e-6, 1e6);
  if (OneIn(d, 3)) op->scale = -op->scale;
  op->volume = OneIn(d, 2);
  op->field = '1';
  if (!plain && OneIn(d, 5)) {
    op->field = "srj"[RollInt(d, 3)];
    op->contrast = OneIn(d, 4) ? Roll(d, 2, 6) : Roll(d, 0.01, 2);
  }
  if (OneIn(d, 6)) op->left = OneIn(d, 3) ? Roll(d, 1, 8) : Roll(d, 0.01, 1);
  if (!plain && OneIn(d, 12)) op->both = Roll(d, 0.01, 2);
  op->plane = OneIn(d, 2) ? 1 : RollLog(d, 1e-4, 1e4) * (OneIn(d, 4) ? -1 : 1);
  op->varies = OneIn(d, 4) ? Roll(d, 0, 2) : 0;
  if (!plain && OneIn(d, 2)) {
    op->ndefects = 1 + (OneIn(d, 6) ? 1 : 0);
    for (PetscInt k = 0; k < op->ndefects; ++k) DrawDefect(d, c, &op->defect[k]);
  }
}

static void DrawSolver(Dice *d, Solver *s)
{
  memset(s, 0, sizeof(*s));
  s->type = KSPNames[RollInt(d, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(KSPNames))];
  s->right = OneIn(d, 2);
  s->plain = OneIn(d, 2);
  s->fit = OneIn(d, 2) ? PCBCRPOISSON_FIT_AUTO : (PCBCRPoissonFit)RollInt(d, 4);
  s->precision = OneIn(d, 3) ? (OneIn(d, 2) ? PCBCRPOISSON_PRECISION_SINGLE : PCBCRPOISSON_PRECISION_MIXED)
                             : PCBCRPOISSON_PRECISION_DOUBLE;
  if (Single()) s->precision = PCBCRPOISSON_PRECISION_SINGLE;
  s->radix = OneIn(d, 4) ? (PetscInt)RollLog(d, 2, 40) : PCBCRPOISSON_RADIX_AUTO;
  if (OneIn(d, 10)) {
    s->nlevels = 1 + RollInt(d, 4);
    for (PetscInt l = 0; l < s->nlevels; ++l) s->schedule[l] = 2 + RollInt(d, 9);
    s->schedule[s->nlevels++] = 2000; /* beyond any grid */
  }
  s->recursive = OneIn(d, 6);
}

/* Sizes, some of which have a level 0, and a process grid for them */
static void DrawGrid(Dice *d, Case *c)
{
  static const PetscInt sizes[] = {1,  2,  3,  3,  4,  5,  5,  6,  7,  7,  8,  8,  9,  9,   10,  11,  12, 13,
                                   15, 16, 17, 19, 23, 31, 32, 33, 37, 63, 64, 65, 97, 127, 128, 129, 251};
  const PetscInt most = OneIn(d, 10) ? 1200 : (OneIn(d, 3) ? 600 : 150);
  PetscInt cuts = 0, take = -1;

  c->dim = 1 + (RollInt(d, 8) + 3) / 4;
  if (c->dim > 3) c->dim = 3;
  do {
    c->N = 1;
    for (PetscInt a = 0; a < 3; ++a) {
      c->n[a] = a < c->dim ? sizes[RollInt(d, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(sizes))] : 1;
      if (a < c->dim && most > 600 && c->dim == 2) c->n[a] = 12 + RollInt(d, 24);
      c->N *= c->n[a];
    }
  } while (c->N > most || c->N < c->size);
  c->width = OneIn(d, 12) ? 2 : 1;
  for (PetscInt a = 0; a < 3; ++a)
    c->boundary[a] = OneIn(d, 4) ? DM_BOUNDARY_PERIODIC : (OneIn(d, 20) ? DM_BOUNDARY_GHOSTED : DM_BOUNDARY_NONE);
  while (take < 0 || cuts) { /* count the cuts that there are, then take one of them */
    PetscInt p[3], found = 0;

    if (cuts) take = RollInt(d, cuts);
    for (p[0] = 1; p[0] <= c->size; ++p[0]) {
      for (p[1] = 1; p[1] <= c->size; ++p[1]) {
        PetscBool fits = PETSC_TRUE;

        if (c->size % (p[0] * p[1])) continue;
        p[2] = c->size / (p[0] * p[1]);
        for (PetscInt a = 0; a < 3; ++a) {
          const PetscInt least = p[a] > 1 || c->boundary[a] == DM_BOUNDARY_PERIODIC ? c->width : 1;

          if (c->n[a] / p[a] < least && !(a >= c->dim && p[a] == 1)) fits = PETSC_FALSE;
        }
        if (!fits) continue;
        if (cuts && found == take) {
          memcpy(c->parts, p, sizeof(p));
          cuts = -1;
        }
        ++found;
      }
    }
    if (cuts < 0) return;
    cuts = found;
    if (!cuts) { /* no cut: a line that is long enough */
      c->width = 1;
      c->dim = 1;
      c->n[0] = c->N;
      c->n[1] = c->n[2] = 1;
      c->boundary[0] = DM_BOUNDARY_NONE;
    }
  }
}

static void DrawCase(PetscInt seed, PetscInt number, PetscInt size, Case *c)
{
  Dice *d = &c->dice;
  PetscBool plain, refused = PETSC_FALSE;

  memset(c, 0, sizeof(*c));
  c->number = number;
  c->seed = seed;
  c->size = size;
  d->state = Mix((uint64_t)seed * 1000003u + (uint64_t)number);
  DrawGrid(d, c);
  c->dof = OneIn(d, 6) ? 2 + RollInt(d, MAX_DOF - 1) : 1;
  c->box = OneIn(d, 8);
  c->uneven = OneIn(d, 4);
  c->patternonly = OneIn(d, 2);
  c->mattype = MATAIJ;
  if (OneIn(d, 8)) c->mattype = OneIn(d, 2) ? MATBAIJ : MATSBAIJ; /* sbaij: where the matrix is symmetric */
  plain = OneIn(d, 2);
  c->nsteps = OneIn(d, 3) ? 1 : 1 + RollInt(d, MAX_STEPS);
  c->nsolves = 1 + RollInt(d, 3);
  for (PetscInt k = 0; k < c->nsteps; ++k) {
    Step *s = &c->step[k];

    s->change = k && !OneIn(d, 3) ? NEW_VALUES : NEW_MATRIX;
    if (k && OneIn(d, 12)) s->change = SAME_MATRIX;
    if (k + 1 < c->nsteps && OneIn(d, 30)) s->change = SHELL;
    s->nullspace = OneIn(d, 2);
    s->left = OneIn(d, 2);
    s->coupled = (PetscBool)(c->dof > 1 && OneIn(d, 20));
    s->imaginary = PetscDefined(USE_COMPLEX) ? OneIn(d, 20) : PETSC_FALSE;
    if (k && s->change == NEW_VALUES && c->step[k - 1].change == SHELL) s->change = NEW_MATRIX;
    if (s->change == SAME_MATRIX || (k && !refused && OneIn(d, 2))) { /* little changes */
      memcpy(s->op, c->step[k - 1].op, sizeof(s->op));
      for (PetscInt m = 0; m < c->dof && s->change != SAME_MATRIX; ++m) {
        Operator *op = &s->op[m];

        if (OneIn(d, 2)) op->scale *= RollLog(d, 0.1, 10) * (OneIn(d, 5) ? -1 : 1);
        if (OneIn(d, 3)) op->shift = OneIn(d, 2) ? 0 : RollLog(d, 1e-6, 10);
        if (OneIn(d, 3)) op->axis[RollInt(d, c->dim)].a *= RollLog(d, 0.1, 10);
        if (OneIn(d, 6)) op->salt++;
        if (OneIn(d, 6)) op->ndefects = 0;
        if (OneIn(d, 6)) op->field = '1';
      }
      if (s->change == SAME_MATRIX) {
        s->coupled = c->step[k - 1].coupled;
        s->imaginary = c->step[k - 1].imaginary;
        if (c->step[k - 1].change == SHELL) s->change = NEW_MATRIX;
      }
      continue;
    }
    DrawOperator(d, c, plain, &s->op[0]);
    refused = PETSC_FALSE;
    for (PetscInt m = 1; m < c->dof; ++m) {
      s->op[m] = s->op[0];
      if (OneIn(d, 2)) DrawOperator(d, c, plain, &s->op[m]);
    }
    if (k && !plain && OneIn(d, 6)) { /* a refused matrix in between */
      s->op[0].ndefects = 1;
      s->op[0].defect[0].kind = (DefectKind)(CORNER + RollInt(d, 3));
      s->op[0].defect[0].size = 3;
      refused = PETSC_TRUE;
    }
  }
  for (PetscInt k = 0; k < SOLVERS; ++k) DrawSolver(d, &c->solver[k]);
  if (OneIn(d, 8)) { /* overall factors far from one, for a direct solve alone: norms would overflow */
    const double far = RollLog(d, 1e-30, 1e30), further = Single() ? 1 : RollLog(d, 1e-170, 1e170);

    for (PetscInt k = 0; k < SOLVERS; ++k) {
      c->solver[k].type = KSPPREONLY;
      if (c->solver[k].precision == PCBCRPOISSON_PRECISION_SINGLE && !Single())
        c->solver[k].precision = PCBCRPOISSON_PRECISION_DOUBLE;
    }
    for (PetscInt k = 0; k < c->nsteps && !Single(); ++k)
      for (PetscInt m = 0; m < c->dof; ++m) c->step[k].op[m].scale *= far * further;
  }
}

/* What a case says of itself */

static char Text[16384]; /* of the case that runs, for the watchdog too */

static void Add(const char *format, ...)
{
  const size_t at = strlen(Text);
  va_list args;

  va_start(args, format);
  (void)vsnprintf(Text + at, sizeof(Text) - at, format, args);
  va_end(args);
}

static void DescribeOperator(const Case *c, const Operator *op)
{
  Add("scale %.3g, shift %.3g%s", op->scale, op->shift, op->volume ? ", volumes" : "");
  for (PetscInt a = 0; a < c->dim; ++a) {
    const Axis *x = &op->axis[a];

    Add("; %c: %c%c %.4g", (char)('x' + a), x->end[0], x->end[1], x->a);
    if (x->stretch) Add(" stretched %c %.3g", x->spacings, x->stretch);
    if (x->robin[0] || x->robin[1]) Add(" robin %.3g %.3g", x->robin[0], x->robin[1]);
  }
  if (op->field != '1') Add("; coefficient %c %.3g", op->field, op->contrast);
  if (op->left) Add("; rows scaled %.3g", op->left);
  if (op->both) Add("; rows and columns scaled %.3g", op->both);
  if (op->plane != 1 || op->varies) Add("; kept rows %.3g varying %.3g", op->plane, op->varies);
  for (PetscInt k = 0; k < op->ndefects; ++k)
    Add("; %s %.3g at node %d, axis %d", DefectNames[op->defect[k].kind], op->defect[k].size, (int)op->defect[k].node,
        (int)op->defect[k].axis);
  Add("\n");
}

static void DescribeCase(const Case *c)
{
  Text[0] = 0;
  Add("  repeat: -n %d, -seed %d -first %d -cases 1\n", (int)c->size, (int)c->seed, (int)c->number);
  Add("  %d x %d x %d (dim %d), dof %d, cut %d x %d x %d%s, width %d%s, boundary %d %d %d, %s%s\n", (int)c->n[0],
      (int)c->n[1], (int)c->n[2], (int)c->dim, (int)c->dof, (int)c->parts[0], (int)c->parts[1], (int)c->parts[2],
      c->uneven ? " unevenly" : "", (int)c->width, c->box ? " box" : "", (int)c->boundary[0], (int)c->boundary[1],
      (int)c->boundary[2], c->mattype, c->patternonly ? ", no zeros in the pattern" : "");
  for (PetscInt k = 0; k < SOLVERS; ++k) {
    const Solver *s = &c->solver[k];

    Add("  solver %d: %s%s%s, fit %s, %s", (int)k, s->type, s->right ? " right" : "", s->plain ? " plain" : "",
        PCBCRPoissonFits[s->fit], PCBCRPoissonPrecisions[s->precision]);
    if (s->radix != PCBCRPOISSON_RADIX_AUTO) Add(", radix %d", (int)s->radix);
    for (PetscInt l = 0; l < s->nlevels; ++l) Add("%s%d", l ? "," : ", schedule ", (int)s->schedule[l]);
    Add("%s\n", s->recursive ? ", recursive" : "");
  }
  for (PetscInt k = 0; k < c->nsteps; ++k) {
    Add("  step %d: %s%s%s%s%s\n", (int)k, ChangeNames[c->step[k].change],
        c->step[k].coupled ? ", components coupled" : "", c->step[k].imaginary ? ", imaginary part" : "",
        c->step[k].nullspace ? ", null space if singular" : "", c->step[k].left ? ", and of the transpose" : "");
    for (PetscInt m = 0; m < c->dof; ++m) {
      Add("    %d: ", (int)m);
      DescribeOperator(c, &c->step[k].op[m]);
    }
  }
}

/* Nothing may hang or crash: whatever ends this process says which case it was */
static void Watchdog(int sig)
{
  const char *what = sig == SIGALRM ? "FAILED: hangs\n" : "FAILED: crashes\n";

  if (write(2, what, strlen(what)) < 0 || write(2, Text, strlen(Text)) < 0) _exit(98);
  _exit(99);
}

/* The matrix of one component: row-major, natural numbering, x fastest; factor[]: what its rows were multiplied with */

static double Spacing(const Operator *op, PetscInt d, PetscInt n, PetscInt i) /* between nodes i - 1 and i */
{
  const Axis *x = &op->axis[d];

  if (x->end[0] == 'p') i = (i + n) % n;
  else if (i == 0 && (x->end[0] == 'n' || x->end[0] == 'h')) i = 1; /* mirrored */
  else if (i == n && (x->end[1] == 'n' || x->end[1] == 'h')) i = n - 1;
  if (!x->stretch) return 1;
  return exp(x->stretch *
             (x->spacings == 's' ? sin(6.283 * (double)i / (double)n) : Hash(op->salt, (uint64_t)d + 10, (uint64_t)i)));
}

/* The coefficient halfway between a node and the next, the same from both sides; at: twice the place on each axis */
static double Coefficient(const Case *c, const Operator *op, const PetscInt at[3])
{
  double t[3];

  for (PetscInt a = 0; a < 3; ++a) {
    t[a] = (double)(at[a] + 2) / (double)(2 * c->n[a] + 2);
    if (op->axis[a].end[0] == 'p') t[a] = (double)((at[a] + 2 * c->n[a]) % (2 * c->n[a])) / (double)(2 * c->n[a]);
  }
  if (op->field == 's') return exp(op->contrast * sin(6.283 * t[0]) * cos(6.283 * (t[1] + t[2])));
  if (op->field == 'j') return t[0] > 0.3 && t[0] < 0.7 && t[1] > 0.2 ? exp(op->contrast) : 1;
  if (op->field == 'r')
    return exp(
      op->contrast *
      Hash(op->salt, 77, (uint64_t)(1e6 * t[0]) * 4000003u + (uint64_t)(1e6 * t[1]) * 2003u + (uint64_t)(1e6 * t[2])));
  return 1;
}

static PetscBool Kept(const Case *c, const Operator *op, const PetscInt at[3], const char *which)
{
  for (PetscInt a = 0; a < c->dim; ++a)
    for (int s = 0; s < 2; ++s)
      if (at[a] == (s ? c->n[a] - 1 : 0) && strchr(which, op->axis[a].end[s])) return PETSC_TRUE;
  return PETSC_FALSE;
}

static void Where(const Case *c, PetscInt node, PetscInt at[3])
{
  at[0] = node % c->n[0];
  at[1] = node / c->n[0] % c->n[1];
  at[2] = node / c->n[0] / c->n[1];
}

static void AddRow(const Case *c, const Operator *op, PetscInt row, double *values)
{
  const PetscInt step[3] = {1, c->n[0], c->n[0] * c->n[1]};
  PetscInt at[3], to[3], half[3];
  double diag = op->shift;

  Where(c, row, at);
  if (Kept(c, op, at, "re")) {
    values[row] = op->plane * exp(op->varies * Hash(op->salt, 3, (uint64_t)row));
    return;
  }
  for (PetscInt a = 0; a < c->dim; ++a) {
    const Axis *x = &op->axis[a];
    const double volume = (Spacing(op, a, c->n[a], at[a]) + Spacing(op, a, c->n[a], at[a] + 1)) / 2;

    for (int s = 0; s < 2; ++s) { /* the neighbour below and above */
      const PetscBool last = (PetscBool)(at[a] == (s ? c->n[a] - 1 : 0));
      const char end = last ? x->end[s] : ' ';
      double value = x->a / (Spacing(op, a, c->n[a], at[a] + s) * volume);
      PetscInt there = row + (s ? step[a] : -step[a]);

      for (PetscInt b = 0; b < 3; ++b) half[b] = 2 * at[b] + (b == a ? (s ? 1 : -1) : 0);
      if (end == 'n' || end == 'h') half[a] = s ? half[a] - 2 : half[a] + 2;
      value *= Coefficient(c, op, half);
      if (last) diag += x->robin[s] * value;
      if (end == 'c') continue;
      if (end == 'n' || end == 'h') there = c->n[a] > 1 ? row + (s ? -step[a] : step[a]) : row;
      if (end == 'p') there = row + (s ? -1 : 1) * (c->n[a] - 1) * step[a];
      if (there == row) continue; /* an axis of one that mirrors or closes on itself */
      diag += end == 'D' ? 2 * value : value;
      if (end == 'd' || end == 'D') continue;
      Where(c, there, to);
      if (!Kept(c, op, to, "e")) values[there] -= value;
    }
  }
  values[row] += diag;
}

static double RowFactor(const Case *c, const Operator *op, PetscInt row)
{
  double f = op->scale;
  PetscInt at[3];

  Where(c, row, at);
  if (!Kept(c, op, at, "re")) {
    for (PetscInt a = 0; a < c->dim; ++a) {
      if (op->volume) f *= (Spacing(op, a, c->n[a], at[a]) + Spacing(op, a, c->n[a], at[a] + 1)) / 2;
      for (int s = 0; s < 2; ++s)
        if (op->axis[a].end[s] == 'h' && at[a] == (s ? c->n[a] - 1 : 0)) f /= 2;
    }
  }
  return f * exp(op->left * Hash(op->salt, 1, (uint64_t)row));
}

/* The first of the two rows that a defect of a link has to do with */
static PetscInt DefectRow(const Case *c, const Defect *f)
{
  const PetscInt step[3] = {1, c->n[0], c->n[0] * c->n[1]};
  PetscInt at[3];

  Where(c, f->node, at);
  return at[f->axis] == c->n[f->axis] - 1 && f->node >= step[f->axis] ? f->node - step[f->axis] : f->node;
}

static void AddDefect(const Case *c, const Operator *op, const Defect *f, double *A)
{
  const PetscInt N = c->N, step[3] = {1, c->n[0], c->n[0] * c->n[1]}, i = DefectRow(c, f);
  PetscInt at[3], j;
  double largest = 0;

  Where(c, f->node, at);
  j = i + step[f->axis] < N ? i + step[f->axis] : i;
  for (PetscInt k = 0; k < N; ++k) largest = PetscMax(largest, fabs(A[k * N + k]));
  switch (f->kind) {
  case PIN_ROW:
  case PIN_BOTH:
    for (PetscInt k = 0; k < N; ++k) {
      A[f->node * N + k] = 0;
      if (f->kind == PIN_BOTH) A[k * N + f->node] = 0;
    }
    A[f->node * N + f->node] = f->size * (op->scale < 0 ? -largest : largest);
    break;
  case DIAGONAL:
    A[f->node * N + f->node] *= f->size;
    break;
  case PERTURB_ONE:
    A[i * N + (f->node % 2 ? i : j)] *= 1 + f->size;
    break;
  case PERTURB_ALL:
    for (PetscInt k = 0; k < N * N; ++k)
      if (A[k] != 0) A[k] *= 1 + f->size * Hash(op->salt, 5, (uint64_t)k);
    break;
  case DROP:
    A[i * N + j] = i == j ? A[i * N + j] : 0;
    A[j * N + i] = i == j ? A[i * N + j] : 0;
    break;
  case ONE_WAY:
    if (i != j) A[f->node % 2 ? i * N + j : j * N + i] = 0;
    break;
  case ONE_WAY_PLANE:
  case DECOUPLE_PLANE:
    for (PetscInt k = 0; k + step[f->axis] < N; ++k) {
      const PetscInt m = k + step[f->axis];
      PetscInt q[3];

      Where(c, k, q);
      if (q[f->axis] != at[f->axis] || q[f->axis] == c->n[f->axis] - 1) continue;
      if (f->kind == DECOUPLE_PLANE || f->node % 2) A[k * N + m] = 0;
      if (f->kind == DECOUPLE_PLANE || f->node % 2 == 0) A[m * N + k] = 0;
    }
    break;
  case HALF_WALL:
    for (PetscInt k = 0; k < N / 2; ++k) {
      PetscInt q[3];

      Where(c, k, q);
      if (q[f->axis] == 0 && !Kept(c, op, q, "re")) A[k * N + k] += 2 * op->axis[f->axis].a * RowFactor(c, op, k);
    }
    break;
  case WRONG_SIGN:
    if (i != j) {
      A[i * N + j] = -A[i * N + j];
      A[j * N + i] = -A[j * N + i];
    }
    break;
  case MORE:
    A[f->node * N + f->node] += f->size * (op->scale < 0 ? -largest : largest);
    break;
  case CORNER:
    if (c->dim > 1 && c->n[0] > 2 && c->n[1] > 2)
      A[(c->n[0] + 1) * N + 2 * c->n[0] + 2] += (c->n[1] > 3 && c->n[0] > 3 ? 0.3 : 0) * largest;
    break;
  case NOT_A_NUMBER:
    A[i * N + i] = NAN;
    break;
  case SUNK:
    for (PetscInt k = 0; k < N; ++k) A[k * N + k] -= f->size * A[k * N + k];
    break;
  default:
    break;
  }
}

static void AssembleDense(const Case *c, const Operator *op, double *A, double *factor)
{
  const PetscInt N = c->N;

  memset(A, 0, (size_t)N * (size_t)N * sizeof(*A));
  for (PetscInt i = 0; i < N; ++i) {
    AddRow(c, op, i, A + i * N);
    factor[i] = RowFactor(c, op, i);
    for (PetscInt j = 0; j < N; ++j) {
      double *v = &A[i * N + j];

      if (*v == 0) continue;
      *v *= factor[i];
      if (op->both) *v *= exp(op->both * (Hash(op->salt, 2, (uint64_t)i) + Hash(op->salt, 2, (uint64_t)j)));
    }
  }
  for (PetscInt k = 0; k < op->ndefects; ++k) AddDefect(c, op, &op->defect[k], A);
  for (PetscInt k = 0; k < N * N; ++k) A[k] = (double)(PetscReal)A[k]; /* what PETSc has */
}

/* What the documentation promises to solve exactly. several: coefficients may vary along more than one axis, and along
   periodic ones, that is
   on the host where no fit is asked for by its name */
static PetscBool Promised(const Case *c, const Operator *op, PetscBool several)
{
  PetscInt general = 0;
  double low = HUGE_VAL, high = 0;

  if (c->N == 1 && op->shift == 0) return PETSC_FALSE; /* may be zero */
  if (op->ndefects || op->field != '1' || op->both || op->shift < 0 || (op->shift > 0 && op->shift < 1e-8))
    return PETSC_FALSE;
  for (PetscInt a = 0; a < c->dim; ++a) {
    const Axis *x = &op->axis[a];

    low = PetscMin(low, x->a);
    high = PetscMax(high, x->a);
    if (x->robin[0] < 0 || x->robin[1] < 0) return PETSC_FALSE;
    if (x->stretch > 3) return PETSC_FALSE;
    if (!x->stretch && !x->robin[0] && !x->robin[1]) continue;
    if (x->end[0] == 'p' && !several) return PETSC_FALSE;
    if (x->robin[0] > 1e6 || x->robin[1] > 1e6) return PETSC_FALSE; /* row sums are lost */
    ++general;
  }
  return (general <= 1 || several) && low > 1e-6 * high ? PETSC_TRUE : PETSC_FALSE;
}

/* A later defect replaces the row of defect k */
static PetscBool Pinned(const Case *c, const Operator *op, PetscInt k)
{
  for (PetscInt l = k + 1; l < op->ndefects; ++l)
    if ((op->defect[l].kind == PIN_ROW || op->defect[l].kind == PIN_BOTH) &&
        op->defect[l].node == DefectRow(c, &op->defect[k]))
      return PETSC_TRUE;
  return PETSC_FALSE;
}

/* To be refused whatever the solver is */
static PetscBool Refused(const Case *c, const Step *s)
{
  if (s->change == SHELL || s->coupled || s->imaginary) return PETSC_TRUE;
  for (PetscInt m = 0; m < c->dof; ++m)
    for (PetscInt k = 0; k < s->op[m].ndefects; ++k)
      if ((s->op[m].defect[k].kind == NOT_A_NUMBER && !Pinned(c, &s->op[m], k)) ||
          (s->op[m].defect[k].kind == CORNER && c->dim > 1 && c->n[0] > 3 && c->n[1] > 3))
        return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Elimination with partial pivoting of a matrix whose rows are scaled to a largest entry of one; rank 0 */

typedef struct {
  PetscInt N;
  double *A, *factor;       /* of all ranks */
  double *lu, *scale;       /* P diag(scale) A = L U */
  PetscInt *pivot, *last;   /* rows changed; last column of each row of U that is not zero */
  double norm[2];           /* largest row sum of A, of its transpose */
  double *sum[2];           /* row sums of absolute values */
  double sigma;             /* smallest singular value of diag(scale) A, about */
  double *null[2];          /* null vectors of A and of its transpose, if it is nearly singular */
  PetscBool singular, near; /* to rounding; nearly: neither answer is wrong */
  PetscBool constant;       /* the null vector is */
} Reference;

static PetscErrorCode ReferenceCreate(PetscInt N, Reference *r)
{
  PetscFunctionBegin;
  memset(r, 0, sizeof(*r));
  r->N = N;
  PetscCall(PetscMalloc5(N * N, &r->A, N * N, &r->lu, N, &r->scale, N, &r->pivot, N, &r->last));
  PetscCall(PetscMalloc5(N, &r->sum[0], N, &r->sum[1], N, &r->null[0], N, &r->null[1], N, &r->factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReferenceDestroy(Reference *r)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(r->A, r->lu, r->scale, r->pivot, r->last));
  PetscCall(PetscFree5(r->sum[0], r->sum[1], r->null[0], r->null[1], r->factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = (diag(scale) A)^-1 x, or with its transpose */
static void ReferenceEliminate(const Reference *r, PetscBool transpose, double *x)
{
  const PetscInt N = r->N;
  const double *lu = r->lu;

  if (!transpose) {
    for (PetscInt i = 0; i < N; ++i) {
      const double t = x[r->pivot[i]];

      x[r->pivot[i]] = x[i];
      x[i] = t;
    }
    for (PetscInt i = 0; i < N; ++i)
      for (PetscInt j = 0; j < i; ++j)
        if (lu[i * N + j] != 0) x[i] -= lu[i * N + j] * x[j];
    for (PetscInt i = N - 1; i >= 0; --i) {
      for (PetscInt j = i + 1; j <= r->last[i]; ++j) x[i] -= lu[i * N + j] * x[j];
      x[i] /= lu[i * N + i];
    }
    return;
  }
  for (PetscInt i = 0; i < N; ++i) {
    x[i] /= lu[i * N + i];
    for (PetscInt j = i + 1; j <= r->last[i]; ++j) x[j] -= lu[i * N + j] * x[i];
  }
  for (PetscInt i = N - 1; i >= 0; --i)
    for (PetscInt j = 0; j < i; ++j)
      if (lu[i * N + j] != 0) x[j] -= lu[i * N + j] * x[i];
  for (PetscInt i = N - 1; i >= 0; --i) {
    const double t = x[r->pivot[i]];

    x[r->pivot[i]] = x[i];
    x[i] = t;
  }
}

static double Largest(PetscInt n, const double *x)
{
  double most = 0;

  for (PetscInt i = 0; i < n; ++i) TestLargest(&most, fabs(x[i]));
  return most;
}

/* Scaled to a largest entry of one, which is returned */
static double Normalise(PetscInt n, double *x)
{
  const double most = Largest(n, x);

  for (PetscInt i = 0; i < n && most > 0; ++i) x[i] /= most;
  return most;
}

static void ReferenceFactor(Reference *r)
{
  const PetscInt N = r->N;
  double *lu = r->lu;

  r->norm[0] = r->norm[1] = 0;
  memset(r->sum[1], 0, (size_t)N * sizeof(double));
  for (PetscInt i = 0; i < N; ++i) {
    double most = 0;

    r->sum[0][i] = 0;
    r->last[i] = i;
    for (PetscInt j = 0; j < N; ++j) {
      const double v = fabs(r->A[i * N + j]);

      if (v == 0) continue;
      most = PetscMax(most, v);
      r->sum[0][i] += v;
      r->sum[1][j] += v;
      r->last[i] = PetscMax(r->last[i], j);
    }
    r->scale[i] = most > 0 ? 1 / most : 1;
    for (PetscInt j = 0; j < N; ++j) lu[i * N + j] = r->A[i * N + j] * r->scale[i];
    TestLargest(&r->norm[0], r->sum[0][i]);
  }
  for (PetscInt i = 0; i < N; ++i) TestLargest(&r->norm[1], r->sum[1][i]);
  for (PetscInt k = 0; k < N; ++k) {
    PetscInt p = k;

    for (PetscInt i = k + 1; i < N; ++i)
      if (fabs(lu[i * N + k]) > fabs(lu[p * N + k])) p = i;
    r->pivot[k] = p;
    if (p != k) {
      const PetscInt l = r->last[p];

      r->last[p] = r->last[k];
      r->last[k] = l;
      for (PetscInt j = 0; j < N; ++j) {
        const double t = lu[p * N + j];

        lu[p * N + j] = lu[k * N + j];
        lu[k * N + j] = t;
      }
    }
    if (fabs(lu[k * N + k]) < 1e-19) lu[k * N + k] = 1e-19;
    for (PetscInt i = k + 1; i < N; ++i) {
      double m = lu[i * N + k];

      if (m == 0) continue;
      m = lu[i * N + k] /= lu[k * N + k];
      r->last[i] = PetscMax(r->last[i], r->last[k]);
      for (PetscInt j = k + 1; j <= r->last[k]; ++j) lu[i * N + j] -= m * lu[k * N + j];
    }
  }
  /* inverse iteration with the scaled matrix times its transpose */
  for (PetscInt i = 0; i < N; ++i) r->null[1][i] = 1 + 0.5 * Hash(4711, 0, (uint64_t)i);
  (void)Normalise(N, r->null[1]);
  for (int it = 0; it < 6; ++it) {
    double u = 0, v = 0;

    memcpy(r->null[0], r->null[1], (size_t)N * sizeof(double));
    for (PetscInt i = 0; i < N; ++i) u += r->null[1][i] * r->null[1][i];
    ReferenceEliminate(r, PETSC_FALSE, r->null[0]);
    for (PetscInt i = 0; i < N; ++i) v += r->null[0][i] * r->null[0][i];
    r->sigma = v > 0 ? sqrt(u / v) : 0;
    (void)Normalise(N, r->null[0]);
    memcpy(r->null[1], r->null[0], (size_t)N * sizeof(double));
    ReferenceEliminate(r, PETSC_TRUE, r->null[1]);
    (void)Normalise(N, r->null[1]);
  }
  r->singular = (PetscBool)(r->sigma < 20 * TestEpsilon());
  r->near = (PetscBool)(r->sigma < 2000 * TestEpsilon());
  for (PetscInt i = 0; i < N; ++i) r->null[1][i] *= r->scale[i];
  (void)Normalise(N, r->null[1]);
  r->constant = PETSC_TRUE;
  for (PetscInt i = 0; i < N; ++i)
    if (fabs(r->null[0][i] - r->null[0][0]) > 1e-6) r->constant = PETSC_FALSE;
}

/* r = b - A x, or with the transpose, summed in long double */
static void ReferenceResidual(const Reference *r, PetscBool transpose, const double *b, const double *x, double *res)
{
  const PetscInt N = r->N;

  for (PetscInt i = 0; i < N; ++i) {
    long double s = b ? b[i] : 0;

    for (PetscInt j = 0; j < N; ++j) {
      const double a = transpose ? r->A[j * N + i] : r->A[i * N + j];

      if (a != 0) s -= (long double)a * x[j];
    }
    res[i] = (double)s;
  }
}

static void ReferenceSolve(const Reference *r, PetscBool transpose, const double *b, double *x, double *work)
{
  const PetscInt N = r->N;

  memset(x, 0, (size_t)N * sizeof(double));
  for (int it = 0; it < 3; ++it) {
    ReferenceResidual(r, transpose, b, x, work);
    for (PetscInt i = 0; i < N && !transpose; ++i) work[i] *= r->scale[i];
    ReferenceEliminate(r, transpose, work);
    for (PetscInt i = 0; i < N; ++i) x[i] += transpose ? work[i] * r->scale[i] : work[i];
  }
}

/* Takes the part along a vector out of another */
static void TakeOut(PetscInt n, const double *along, double *x)
{
  double s = 0, t = 0, most = Largest(n, along);

  if (!(most > 0)) return;
  for (PetscInt i = 0; i < n; ++i) {
    s += x[i] * (along[i] / most);
    t += (along[i] / most) * (along[i] / most);
  }
  for (PetscInt i = 0; i < n; ++i) x[i] -= s / t * (along[i] / most);
}

/* How wrong an answer is, one component */
typedef struct {
  double backward; /* largest residual, in units of |A| |x| + |b| */
  double row;      /* the same row by row: |r_i| / (sum_j |a_ij| |x| + |b_i|) */
  double error;    /* largest error / largest entry, where A is regular; else 0 */
} Verdict;

/* size: |A| |x| + |b|, xsize: |x|. Of a singular matrix, what the right-hand side has beyond its range may be taken out
   along any of the vectors that a solver may know; the best one counts */
static void Judge(const Reference *r, PetscBool transpose, const double *b, const double *x, double size, double xsize,
                  double *work, Verdict *v)
{
  const PetscInt N = r->N;
  const int t = transpose ? 1 : 0;
  const double xn = Largest(N, x);
  double *res = work, *other = work + N;

  v->backward = v->row = HUGE_VAL;
  v->error = 0;
  for (int way = 0; way < (r->near ? 6 : 1); ++way) {
    double backward = 0, row = 0;

    ReferenceResidual(r, transpose, b, x, res);
    if (way == 1) TakeOut(N, r->null[1 - t], res);
    if (way == 2) TakeOut(N, r->factor, res);
    if (way == 5) TakeOut(N, r->null[t], res);
    if (way == 3 || way == 4) {
      for (PetscInt i = 0; i < N; ++i) other[i] = way == 3 ? 1 : r->factor[i] * r->null[1][i] / r->norm[0];
      TakeOut(N, other, res);
    }
    for (PetscInt i = 0; i < N; ++i) {
      if (res[i] == 0) continue;
      TestLargest(&backward, fabs(res[i]) / size);
      TestLargest(&row, fabs(res[i]) / (r->sum[t][i] * xn + fabs(b[i])));
    }
    if (backward < v->backward) v->backward = backward;
    if (row < v->row) v->row = row;
  }
  if (r->near) return;
  ReferenceSolve(r, transpose, b, other, res);
  for (PetscInt i = 0; i < N; ++i) res[i] = x[i] - other[i];
  v->error = Largest(N, res);
  if (v->error > 0) v->error /= xsize;
}

/* Running a case */

typedef struct {
  const Case *c;
  MPI_Comm comm;
  PetscMPIInt rank;
  DM da;
  Mat A;
  KSP ksp[SOLVERS];
  Reference ref[MAX_DOF];
  PetscInt lo[3], len[3], *number; /* this rank's box; natural node to PETSc's number of its first component */
  double *b, *x;                   /* COLUMNS x 2 (real, imaginary part) x dof x N, natural */
  double *work;                    /* 2 N */
  PetscBool failed, erred;         /* erred: some call before returned an error */
  char where[128];                 /* which call of the library is judged */
} Run;

static struct {
  PetscInt cases, solves, right, exact, errors[200], reasons[40], promisederrors;
  /* double, single, mixed: backward error, that of a row, error / condition of what is promised */
  double worst[3][3];
} Count;

static void Fail(Run *r, const char *format, ...)
{
  va_list args;

  r->failed = PETSC_TRUE;
  ++TestFailed;
  if (r->rank) return;
  printf("FAILED: %s: ", r->where);
  va_start(args, format);
  (void)vprintf(format, args);
  va_end(args);
  printf("%s\n%s", r->erred ? ", after an error" : "", Text);
  (void)fflush(stdout);
}

static PetscErrorCode CreateGrid(Run *r)
{
  const Case *c = r->c;
  PetscInt *lx[3] = {NULL, NULL, NULL}, *all;
  DMBoundaryType b[3];
  DMDAStencilType stencil = c->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR;
  Dice d = {Mix((uint64_t)c->number)};
  AO ao;

  PetscFunctionBegin;
  for (PetscInt a = 0; a < 3; ++a) {
    b[a] = c->boundary[a];
    if (!c->uneven) continue;
    PetscCall(PetscMalloc1(c->parts[a], &lx[a]));
    for (PetscInt p = 0; p < c->parts[a]; ++p) lx[a][p] = c->parts[a] > 1 ? c->width : c->n[a];
    for (PetscInt p = c->parts[a] * c->width; p < c->n[a] && c->parts[a] > 1; ++p) ++lx[a][RollInt(&d, c->parts[a])];
  }
  if (c->dim == 1) PetscCall(DMDACreate1d(r->comm, b[0], c->n[0], c->dof, c->width, lx[0], &r->da));
  else if (c->dim == 2)
    PetscCall(DMDACreate2d(r->comm, b[0], b[1], stencil, c->n[0], c->n[1], c->parts[0], c->parts[1], c->dof, c->width,
                           lx[0], lx[1], &r->da));
  else
    PetscCall(DMDACreate3d(r->comm, b[0], b[1], b[2], stencil, c->n[0], c->n[1], c->n[2], c->parts[0], c->parts[1],
                           c->parts[2], c->dof, c->width, lx[0], lx[1], lx[2], &r->da));
  PetscCall(DMSetFromOptions(r->da));
  PetscCall(DMSetUp(r->da));
  PetscCall(DMDAGetCorners(r->da, &r->lo[0], &r->lo[1], &r->lo[2], &r->len[0], &r->len[1], &r->len[2]));
  PetscCall(PetscMalloc1(c->N, &all));
  for (PetscInt i = 0; i < c->N; ++i) all[i] = i * c->dof;
  PetscCall(DMDAGetAO(r->da, &ao));
  PetscCall(AOApplicationToPetsc(ao, c->N, all));
  r->number = all;
  for (PetscInt a = 0; a < 3; ++a) PetscCall(PetscFree(lx[a]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Mine(const Run *r, PetscInt node)
{
  PetscInt at[3];

  Where(r->c, node, at);
  for (PetscInt a = 0; a < 3; ++a)
    if (at[a] < r->lo[a] || at[a] >= r->lo[a] + r->len[a]) return PETSC_FALSE;
  return PETSC_TRUE;
}

static PetscErrorCode FillMatrix(Run *r, const Step *s)
{
  const Case *c = r->c;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->N; ++i) {
    if (!Mine(r, i)) continue;
    for (PetscInt m = 0; m < c->dof; ++m) {
      for (PetscInt j = 0; j < c->N; ++j) {
        const double v = r->ref[m].A[i * c->N + j];
        const PetscScalar value = (PetscScalar)(PetscReal)v;

        if (v != 0 || i == j) PetscCall(MatSetValue(r->A, r->number[i] + m, r->number[j] + m, value, INSERT_VALUES));
      }
    }
    if (s->coupled && i == c->N / 2)
      PetscCall(MatSetValue(r->A, r->number[i], r->number[i] + 1, (PetscScalar)(PetscReal)r->ref[0].A[i * c->N + i],
                            INSERT_VALUES));
#if defined(PETSC_USE_COMPLEX)
    if (s->imaginary && i == c->N / 2)
      PetscCall(MatSetValue(r->A, r->number[i], r->number[i],
                            (PetscReal)r->ref[0].A[i * c->N + i] * PetscCMPLX(1, (PetscReal)0.3), INSERT_VALUES));
#endif
  }
  PetscCall(MatAssemblyBegin(r->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(r->A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exactly, as only one of each pair of entries is stored */
static PetscBool Symmetric(const Case *c, const Reference *ref)
{
  for (PetscInt m = 0; m < c->dof; ++m)
    for (PetscInt i = 0; i < c->N; ++i)
      for (PetscInt j = 0; j < i; ++j)
        if (ref[m].A[i * c->N + j] != ref[m].A[j * c->N + i]) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* A vector from (to) arrays that hold it whole: real and imaginary parts of the components, one after another */
static PetscErrorCode ToVec(Run *r, const double *whole, Vec v)
{
  const Case *c = r->c;
  PetscScalar *a;
  PetscInt first;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &first, NULL));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt i = 0; i < c->N; ++i) {
    if (!Mine(r, i)) continue;
    for (PetscInt m = 0; m < c->dof; ++m) {
#if defined(PETSC_USE_COMPLEX)
      a[r->number[i] + m - first] =
        PetscCMPLX((PetscReal)whole[m * c->N + i], (PetscReal)whole[(c->dof + m) * c->N + i]);
#else
      a[r->number[i] + m - first] = (PetscScalar)whole[m * c->N + i];
#endif
    }
  }
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FromVec(Run *r, Vec v, double *whole)
{
  const Case *c = r->c;
  const PetscScalar *a;
  PetscInt first;
  double *mine;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(2 * c->dof * c->N, &mine));
  PetscCall(VecGetOwnershipRange(v, &first, NULL));
  PetscCall(VecGetArrayRead(v, &a));
  for (PetscInt i = 0; i < c->N; ++i) {
    if (!Mine(r, i)) continue;
    for (PetscInt m = 0; m < c->dof; ++m) {
      mine[m * c->N + i] = (double)PetscRealPart(a[r->number[i] + m - first]);
      mine[(c->dof + m) * c->N + i] = (double)PetscImaginaryPart(a[r->number[i] + m - first]);
    }
  }
  PetscCall(VecRestoreArrayRead(v, &a));
  PetscCallMPI(MPI_Reduce(mine, whole, (PetscMPIInt)(2 * c->dof * c->N), MPI_DOUBLE, MPI_SUM, 0, r->comm));
  PetscCall(PetscFree(mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Null vectors of singular components, one for each */
static PetscErrorCode NullSpace(Run *r, int transpose, PetscBool constant, MatNullSpace *space)
{
  const Case *c = r->c;
  Vec v[MAX_DOF];
  PetscInt n = 0;

  PetscFunctionBegin;
  *space = NULL;
  if (c->dof == 1 && constant && r->ref[0].constant && !transpose) {
    PetscCall(MatNullSpaceCreate(r->comm, PETSC_TRUE, 0, NULL, space));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt m = 0; m < c->dof; ++m) {
    if (!r->ref[m].singular) continue;
    PetscCall(PetscArrayzero(r->x, 2 * c->dof * c->N));
    PetscCall(PetscArraycpy(r->x + m * c->N, r->ref[m].null[transpose], c->N));
    PetscCall(DMCreateGlobalVector(r->da, &v[n]));
    PetscCall(ToVec(r, r->x, v[n]));
    PetscCall(VecNormalize(v[n++], NULL));
  }
  if (n) PetscCall(MatNullSpaceCreate(r->comm, PETSC_FALSE, n, v, space));
  for (PetscInt m = 0; m < n; ++m) PetscCall(VecDestroy(&v[m]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With room for all of the stencil, and zeros there, or with the entries alone that will be set */
static PetscErrorCode CreateMatrix(Run *r, MatType type)
{
  const PetscInt dof = r->c->dof, nodes = r->len[0] * r->len[1] * r->len[2];
  const PetscInt here = PetscMin(8, nodes), there = PetscMin(8, r->c->N - nodes);

  PetscFunctionBegin;
  if (!strcmp(type, MATAIJ)) {
    PetscCall(DMGetMatType(r->da, &type)); /* -dm_mat_type aijcusparse: scripts/check-gpu */
    if (!r->c->patternonly) PetscCall(DMCreateMatrix(r->da, &r->A));
  }
  if (r->A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(r->comm, &r->A));
  PetscCall(MatSetSizes(r->A, dof * nodes, dof * nodes, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(r->A, type));
  PetscCall(MatSeqAIJSetPreallocation(r->A, here, NULL));
  PetscCall(MatMPIAIJSetPreallocation(r->A, here, NULL, there, NULL));
  PetscCall(MatSeqBAIJSetPreallocation(r->A, dof, here, NULL));
  PetscCall(MatMPIBAIJSetPreallocation(r->A, dof, here, NULL, there, NULL));
  PetscCall(MatSeqSBAIJSetPreallocation(r->A, dof, here, NULL));
  PetscCall(MatMPISBAIJSetPreallocation(r->A, dof, here, NULL, there, NULL));
  PetscCall(MatSetDM(r->A, r->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of a step, its reference on rank 0, its null space */
static PetscErrorCode SetStep(Run *r, const Step *s)
{
  const Case *c = r->c;
  PetscBool singular = PETSC_FALSE, exact = PETSC_TRUE;
  MatNullSpace space = NULL;
  PetscMPIInt flags[2];

  PetscFunctionBegin;
  for (PetscInt m = 0; m < c->dof; ++m) {
    Reference *ref = &r->ref[m];

    AssembleDense(c, &s->op[m], ref->A, ref->factor);
    if (!r->rank) ReferenceFactor(ref);
    flags[0] = ref->singular;
    flags[1] = ref->constant;
    PetscCallMPI(MPI_Bcast(flags, 2, MPI_INT, 0, r->comm));
    ref->singular = flags[0] ? PETSC_TRUE : PETSC_FALSE;
    ref->constant = flags[1] ? PETSC_TRUE : PETSC_FALSE;
    PetscCallMPI(MPI_Bcast(ref->null[0], (PetscMPIInt)c->N, MPI_DOUBLE, 0, r->comm));
    PetscCallMPI(MPI_Bcast(ref->null[1], (PetscMPIInt)c->N, MPI_DOUBLE, 0, r->comm));
    singular = (PetscBool)(singular || ref->singular);
    for (PetscInt k = 0; k < s->op[m].ndefects; ++k) exact = PETSC_FALSE; /* it may have more null vectors */
    for (PetscInt a = 0; a < c->dim; ++a)
      if (s->op[m].axis[a].a == 0) exact = PETSC_FALSE;
  }
  if (s->change != SAME_MATRIX) {
    if (s->change != NEW_VALUES || !r->A) {
      PetscBool symmetric = PETSC_FALSE;

      PetscCall(MatDestroy(&r->A));
      if (s->change == SHELL) {
        Vec v;
        PetscInt n;

        PetscCall(DMCreateGlobalVector(r->da, &v));
        PetscCall(VecGetLocalSize(v, &n));
        PetscCall(MatCreateShell(r->comm, n, n, PETSC_DETERMINE, PETSC_DETERMINE, NULL, &r->A));
        PetscCall(MatSetDM(r->A, r->da));
        PetscCall(MatSetUp(r->A));
        PetscCall(VecDestroy(&v));
      } else {
        if (!strcmp(c->mattype, MATSBAIJ) && !s->coupled && c->nsteps == 1) symmetric = Symmetric(c, r->ref);
        PetscCall(CreateMatrix(r, symmetric ? MATSBAIJ : (strcmp(c->mattype, MATAIJ) ? MATBAIJ : MATAIJ)));
        if (symmetric) PetscCall(MatSetOption(r->A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
      }
    } else PetscCall(MatZeroEntries(r->A));
    if (s->change != SHELL) {
      PetscCall(MatSetOption(r->A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(FillMatrix(r, s));
    }
  }
  PetscCall(MatSetNullSpace(r->A, NULL));
  PetscCall(MatSetTransposeNullSpace(r->A, NULL));
  if (singular && s->nullspace && exact && s->change != SHELL) {
    PetscCall(NullSpace(r, 0, s->left, &space));
    PetscCall(MatSetNullSpace(r->A, space));
    PetscCall(MatNullSpaceDestroy(&space));
    if (s->left) {
      PetscCall(NullSpace(r, 1, PETSC_FALSE, &space));
      PetscCall(MatSetTransposeNullSpace(r->A, space));
      PetscCall(MatNullSpaceDestroy(&space));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Run *r, const Solver *s, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(r->comm, ksp));
  PetscCall(KSPSetType(*ksp, s->type));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCBCRPoissonSetFit(pc, s->fit));
  PetscCall(PCBCRPoissonSetPrecision(pc, s->precision));
  if (s->radix != PCBCRPOISSON_RADIX_AUTO) PetscCall(PCBCRPoissonSetRadix(pc, s->radix));
  if (s->nlevels) PetscCall(PCBCRPoissonSetSchedule(pc, s->nlevels, s->schedule));
  PetscCall(PCBCRPoissonSetRecursive(pc, s->recursive));
  PetscCall(KSPSetFromOptions(*ksp)); /* -pc_bcrpoisson_backend cuda: scripts/check-gpu */
  PetscCall(KSPSetTolerances(*ksp, Single() ? (PetscReal)1e-4 : (PetscReal)1e-10, 0, 1e5, 100));
  if (s->right && !strcmp(s->type, KSPGMRES)) PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  if (s->plain && !strcmp(s->type, KSPCG)) PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  SOLVE,
  TRANSPOSE,
  COLUMNWISE,
  IN_PLACE,
  GUESS
} How;
static const char *const HowNames[] = {"solve", "transposed", "several columns", "in place", "with a guess"};

/* Whether right-hand sides have to be consistent, if the operator is singular: its null space may have more dimensions
   than one, or the row scales are not known for sure (one axis alone: an end row of cells is half
   of one of nodes), or a Krylov method is given them, some of which call a breakdown convergence
   then */
static PetscBool Consistent(const Case *c, const Operator *op, const Solver *solver)
{
  PetscInt axes = 0;

  if (op->ndefects || (strcmp(solver->type, KSPPREONLY) && strcmp(solver->type, KSPBCRPOISSON))) return PETSC_TRUE;
  for (PetscInt a = 0; a < c->dim; ++a) {
    if (op->axis[a].a == 0) return PETSC_TRUE;
    if (c->n[a] > 1) ++axes;
  }
  return axes < 2 && op->left != 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* A right-hand side for each column, whole, on every rank; some of a size that only double precision has */
static void DrawRightHandSides(Run *r, const Step *s, const Solver *solver, PetscInt columns, How how, Dice *d)
{
  const Case *c = r->c;
  const PetscInt kind = RollInt(d, how == GUESS ? 7 : 10), fields = PetscDefined(USE_COMPLEX) ? 2 : 1;
  const PetscBool wide =
    (PetscBool)(!strcmp(solver->type, KSPPREONLY) && solver->precision != PCBCRPOISSON_PRECISION_SINGLE);
  const double size = wide && OneIn(d, 4) ? RollLog(d, 1e-60, 1e60) : 1;

  memset(r->b, 0, (size_t)(2 * columns * c->dof * c->N) * sizeof(double));
  for (PetscInt k = 0; k < columns; ++k) {
    for (PetscInt f = 0; f < fields; ++f) {
      for (PetscInt m = 0; m < c->dof; ++m) {
        double *b = r->b + ((k * 2 + f) * c->dof + m) * c->N;
        Reference *ref = &r->ref[m];

        /* that of a known solution */
        if (kind < 5 || (ref->singular && (kind == 5 || Consistent(c, &s->op[m], solver)))) {
          for (PetscInt i = 0; i < c->N; ++i) r->work[i] = -Roll(d, -1, 1);
          ReferenceResidual(ref, (PetscBool)(how == TRANSPOSE), NULL, r->work, b);
        } else {
          for (PetscInt i = 0; i < c->N; ++i) {
            b[i] = kind == 5 ? 1 : (kind == 6 ? Roll(d, -1, 1) : (kind == 7 ? 0 : (i == c->N / 3 ? 1 : 0)));
            b[i] *= fabs(ref->factor[i]);
          }
        }
        for (PetscInt i = 0; i < c->N; ++i) b[i] = (double)(PetscReal)(b[i] * size);
      }
    }
  }
}

/* One call of KSPSolve() or one of its kin: right-hand sides r->b, solutions r->x on rank 0. What
   PETSc keeps of vectors after an error (locks) goes with them */
static PetscErrorCode Solve(Run *r, KSP ksp, How how, PetscInt columns, TestCaught *caught, PetscErrorCode *code,
                            KSPConvergedReason *reason)
{
  const Case *c = r->c;
  const PetscInt size = 2 * c->dof * c->N;
  Vec b, x;
  Mat B = NULL, X = NULL;
  PetscInt n;

  PetscFunctionBegin;
  memset(caught, 0, sizeof(*caught));
  *code = PETSC_SUCCESS;
  *reason = KSP_CONVERGED_ITERATING;
  PetscCall(DMCreateGlobalVector(r->da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecGetLocalSize(b, &n));
  if (how == COLUMNWISE) {
    PetscCall(MatCreateDense(r->comm, n, PETSC_DECIDE, PETSC_DETERMINE, columns, NULL, &B));
    PetscCall(MatCreateDense(r->comm, n, PETSC_DECIDE, PETSC_DETERMINE, columns, NULL, &X));
    for (PetscInt k = 0; k < columns; ++k) {
      Vec v;

      PetscCall(MatDenseGetColumnVecWrite(B, k, &v));
      PetscCall(ToVec(r, r->b + k * size, v));
      PetscCall(MatDenseRestoreColumnVecWrite(B, k, &v));
    }
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  } else PetscCall(ToVec(r, r->b, b));
  PetscCall(VecSet(x, how == GUESS ? 1 : (PetscScalar)1e30));
  PetscCall(KSPSetInitialGuessNonzero(ksp, how == GUESS ? PETSC_TRUE : PETSC_FALSE));
  PetscCall(PetscPushErrorHandler(TestCatch, caught));
  *code = KSPSetOperators(ksp, r->A, r->A);
  if (!*code) {
    if (how == TRANSPOSE) *code = KSPSolveTranspose(ksp, b, x);
    else if (how == COLUMNWISE) *code = KSPMatSolve(ksp, B, X);
    else *code = KSPSolve(ksp, how == IN_PLACE ? b : b, how == IN_PLACE ? b : x);
  }
  PetscCall(PetscPopErrorHandler());
  if (!*code) {
    PetscCall(KSPGetConvergedReason(ksp, reason));
    for (PetscInt k = 0; k < columns; ++k) {
      Vec v;

      if (how == COLUMNWISE) PetscCall(MatDenseGetColumnVecRead(X, k, &v));
      else v = how == IN_PLACE ? b : x;
      PetscCall(FromVec(r, v, r->x + k * size));
      if (how == COLUMNWISE) PetscCall(MatDenseRestoreColumnVecRead(X, k, &v));
    }
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  if (!*code) { /* else a column may not have been given back, and PETSc does not destroy such a matrix */
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far entries may be from what the reader takes for the same */
static double Perturbed(const Case *c, const Step *s)
{
  double most = 0;

  for (PetscInt m = 0; m < c->dof; ++m)
    for (PetscInt k = 0; k < s->op[m].ndefects; ++k) {
      const Defect *f = &s->op[m].defect[k];

      if ((f->kind == PERTURB_ONE || f->kind == PERTURB_ALL || f->kind == MORE) && f->size < 1e-9)
        most = PetscMax(most, f->size);
    }
  return most;
}

/* The largest row sum over the smallest: residuals that count as small beside large rows may be large for small ones */
static double Spread(const Case *c, const Reference *ref)
{
  double least = HUGE_VAL, most = 0;

  for (PetscInt m = 0; m < c->dof; ++m) {
    for (PetscInt i = 0; i < c->N; ++i) least = PetscMin(least, ref[m].sum[0][i]);
    most = PetscMax(most, ref[m].norm[0]);
  }
  return most / least;
}

static const char *Verb(double value, double bound)
{
  return value <= bound ? "" : " <---";
}

/* The row with an imaginary part has nothing but its diagonal, so that it may be any number */
static PetscBool ImaginaryAlone(const Case *c, const Step *s, const Reference *ref)
{
  const PetscInt i = c->N / 2;

  for (PetscInt j = 0; j < c->N && s->imaginary; ++j)
    if (j != i && ref[0].A[i * c->N + j] != 0) return PETSC_FALSE;
  return s->imaginary;
}

/* The answers of a solve that returned without an error, on rank 0 */
static void JudgeAnswers(Run *r, const Step *s, const Solver *solver, How how, PetscInt columns, PetscBool several,
                         KSPConvergedReason reason)
{
  const Case *c = r->c;
  const PetscBool direct = (PetscBool)!strcmp(solver->type, KSPPREONLY);
  const PetscBool single = (PetscBool)(solver->precision == PCBCRPOISSON_PRECISION_SINGLE);
  PetscBool promised = PETSC_TRUE, unpreconditioned = PETSC_FALSE; /* the norm that the KSP looks at */
  double bound[3] = {1e-13, 1e-11, 0}, rtol = Single() ? 1e-4 : 1e-10;

  ++Count.reasons[reason + 20];
  for (PetscInt m = 0; m < c->dof; ++m) promised = (PetscBool)(promised && Promised(c, &s->op[m], several));
  if (reason <= 0) {
    if (promised && direct) Fail(r, "%s", KSPConvergedReasons[reason]);
    return;
  }
  /* PETSc's CG calls a breakdown so, and this one is the user's */
  if (reason == KSP_CONVERGED_ATOL && !strcmp(solver->type, KSPCG) && !Symmetric(c, r->ref)) return;
  if (ImaginaryAlone(c, s, r->ref)) return;
  if (Refused(c, s)) {
    Fail(r, "%s, though this matrix has to be refused", KSPConvergedReasons[reason]);
    return;
  }
  /* a fit that was asked for by name */
  if (direct && !promised && solver->fit != PCBCRPOISSON_FIT_AUTO && solver->fit != PCBCRPOISSON_FIT_EXACT) return;
  if (!strcmp(solver->type, KSPFGMRES) || !strcmp(solver->type, KSPBCRPOISSON)) unpreconditioned = PETSC_TRUE;
  if (!strcmp(solver->type, KSPGMRES) && solver->right) unpreconditioned = PETSC_TRUE;
  if (!strcmp(solver->type, KSPCG) && solver->plain) unpreconditioned = PETSC_TRUE;
  if (direct) {
    const double perturbed = 10 * Perturbed(c, s);

    if (single || Single()) bound[0] = 3e-6, bound[1] = 1e-4;
    /* the promise is the error beside the largest row: rows of very different size are transformed together */
    bound[1] = PetscMax(bound[1], 0.1 * (single ? 6e-8 : 1.1e-16) * Spread(c, r->ref));
    if (solver->precision == PCBCRPOISSON_PRECISION_MIXED) bound[1] = PetscMax(bound[1], 1e-10);
    bound[0] += perturbed;
    bound[1] += perturbed;
  } else {
    bound[1] = HUGE_VAL; /* what follows depends on the condition */
  }
  /* These take the preconditioner for linear, which it is to its own rounding only, and go on with a residual that they
     do not compute anew: what they call the residual is not better than that */
  if (single && !strcmp(solver->type, KSPGMRES)) rtol = PetscMax(rtol, 1e-8);
  if (!strcmp(solver->type, KSPBCGS)) rtol = PetscMax(rtol, single ? 1e-7 : 1e-8);
  for (PetscInt m = 0; m < c->dof && single; ++m)
    for (PetscInt a = 0; a < c->dim; ++a) /* more than 7 digits between couplings */
      if (s->op[m].axis[a].stretch > 3) return;
  /* has 7 digits */
  if (single && !Single() && Spread(c, r->ref) > 1e6 && strcmp(solver->type, KSPCG) && !unpreconditioned) return;
  /* the others solve column after column, and the reason is that of the last */
  for (PetscInt k = direct || !strcmp(solver->type, KSPBCRPOISSON) ? 0 : columns - 1; k < columns; ++k) {
    const PetscInt fields = PetscDefined(USE_COMPLEX) ? 2 * c->dof : c->dof, N = c->N;
    double size = 0, xsize = 0; /* of all fields: what a Krylov method measures its residuals by */

    for (PetscInt f = 0; f < fields; ++f) {
      const Reference *ref = &r->ref[f % c->dof];
      const double *b = r->b + (k * 2 * c->dof + f) * N, *x = r->x + (k * 2 * c->dof + f) * N;

      TestLargest(&size, ref->norm[how == TRANSPOSE] * Largest(N, x) + Largest(N, b));
      TestLargest(&xsize, Largest(N, x));
    }
    for (PetscInt f = 0; f < fields; ++f) {
      const Reference *ref = &r->ref[f % c->dof];
      const double *b = r->b + (k * 2 * c->dof + f) * N, *x = r->x + (k * 2 * c->dof + f) * N,
                   condition = 4 / ref->sigma;
      Verdict v;

      if (direct) {
        xsize = Largest(N, x);
        size = ref->norm[how == TRANSPOSE] * xsize + Largest(N, b);
        bound[2] = 10 * condition * bound[1];
        if (condition > 1e8) bound[0] = PetscMax(bound[0], 1e-12);
      } else {
        bound[0] = PetscMin(PetscMax(1e2, condition), 1e6) * rtol;
        bound[2] = PetscMax(1e3, condition) * rtol * (unpreconditioned ? Spread(c, r->ref) : 100);
      }
      Judge(ref, (PetscBool)(how == TRANSPOSE), b, x, size, xsize, r->work, &v);
      if (promised && direct) {
        const int p = (int)solver->precision;

        ++Count.exact;
        TestLargest(&Count.worst[p][0], v.backward);
        TestLargest(&Count.worst[p][1], v.row);
        TestLargest(&Count.worst[p][2], v.error / condition);
      }
      if (v.backward <= bound[0] && v.row <= bound[1] && v.error <= bound[2]) continue;
      Fail(r,
           "%s, column %d, component %d, backward error %.3g (bound %.1g)%s, of a row %.3g (%.1g)%s,"
           " error %.3g (%.1g)%s, condition %.3g%s%s",
           KSPConvergedReasons[reason], (int)k, (int)f, v.backward, bound[0], Verb(v.backward, bound[0]), v.row,
           bound[1], Verb(v.row, bound[1]), v.error, bound[2], Verb(v.error, bound[2]), condition,
           ref->near ? ", (nearly) singular" : "", promised ? ", promised" : "");
      return;
    }
  }
  ++Count.right;
}

/* Errors that are the user's own: an option that does not go with the operator */
static PetscBool ErrorAllowed(const Case *c, const Step *s, const Solver *solver, PetscBool several)
{
  if (Refused(c, s)) return PETSC_TRUE;
  for (PetscInt m = 0; m < c->dof; ++m) {
    if (!Promised(c, &s->op[m], several)) return PETSC_TRUE;
    for (PetscInt a = 0; a < c->dim; ++a) {
      const Axis *x = &s->op[m].axis[a];

      if ((solver->radix != PCBCRPOISSON_RADIX_AUTO || solver->nlevels) && (x->stretch || x->robin[0] || x->robin[1]))
        return PETSC_TRUE;
    }
  }
  return PETSC_FALSE;
}

/* Vectors are those of a device */
static PetscErrorCode OnDevice(Run *r, PetscBool *device)
{
  VecType type;

  PetscFunctionBegin;
  PetscCall(DMGetVecType(r->da, &type));
  *device = (PetscBool)(strstr(type, "cuda") != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Devices of several ranks solve, wherever the vectors are: periodic axes that vary are not promised there */
static PetscErrorCode OnDevices(Run *r, PetscBool *devices)
{
  char backend[16] = "";
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(r->comm, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc_bcrpoisson_backend", backend, sizeof(backend), NULL));
  *devices = (PetscBool)(size > 1 && !strcmp(backend, "cuda"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSolve(Run *r, PetscInt stepnumber, PetscInt solve, Dice *d, PetscBool verbose)
{
  const Case *c = r->c;
  const Step *s = &c->step[stepnumber];
  const PetscInt which = RollInt(d, SOLVERS);
  const Solver *solver = &c->solver[which];
  const PetscBool direct = (PetscBool)!strcmp(solver->type, KSPPREONLY);
  How how = OneIn(d, 2) ? SOLVE : (How)RollInt(d, 5);
  PetscInt columns = 1;
  TestCaught caught;
  PetscErrorCode code = PETSC_SUCCESS;
  KSPConvergedReason reason;
  int codes[4], all[4], failed;
  PetscBool device = PETSC_FALSE, devices = PETSC_FALSE, several;

  PetscFunctionBegin;
  PetscCall(OnDevice(r, &device));
  PetscCall(OnDevices(r, &devices));
  several =
    (PetscBool)(!device && !devices && (solver->fit == PCBCRPOISSON_FIT_AUTO || solver->fit == PCBCRPOISSON_FIT_EXACT));
  /* PETSc's products with columns of a dense matrix are wrong there (ksp/refine) */
  if (how == COLUMNWISE && device && !direct && strcmp(solver->type, KSPBCRPOISSON)) how = SOLVE;
  if (how == COLUMNWISE) columns = COLUMNS;
  if ((how == IN_PLACE || how == GUESS) && direct == (how == GUESS)) how = SOLVE; /* of preonly, and not of it */
  PetscCall(PetscSNPrintf(r->where, sizeof(r->where), "step %d, solve %d, solver %d (%s), %s", (int)stepnumber,
                          (int)solve, (int)which, solver->type, HowNames[how]));
  (void)alarm(300); /* on machines that are busy with other things, too */
  DrawRightHandSides(r, s, solver, columns, how, d);
  if (!r->ksp[which]) PetscCall(CreateSolver(r, solver, &r->ksp[which]));
  PetscCall(Solve(r, r->ksp[which], how, columns, &caught, &code, &reason));
  ++Count.solves;
  codes[0] = (int)code;
  codes[1] = -(int)code;
  codes[2] = (int)reason;
  codes[3] = -(int)reason;
  PetscCallMPI(MPI_Allreduce(codes, all, 4, MPI_INT, MPI_MIN, r->comm));
  if (verbose && !r->rank)
    printf("  %s: %s%s\n", r->where, code ? caught.message : "", code ? "" : KSPConvergedReasons[reason]);
  if (all[0] != -all[1]) Fail(r, "ranks have different error codes, %d to %d: %s", all[0], -all[1], caught.message);
  else if (all[2] != -all[3]) Fail(r, "ranks have different reasons, %d to %d", all[2], -all[3]);
  else if (code) {
    ++Count.errors[PetscMin((int)code, 199)];
    if (!ErrorAllowed(c, s, solver, several))
      Fail(r, "error %d for a matrix that is promised to be solved: %s", (int)code, caught.message);
  } else if (!r->rank) JudgeAnswers(r, s, solver, how, columns, several, reason);
  failed = r->failed;
  PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, r->comm));
  r->failed = failed ? PETSC_TRUE : PETSC_FALSE;
  if (code) r->erred = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(MPI_Comm comm, Case *c, PetscBool verbose)
{
  Run r;

  PetscFunctionBegin;
  memset(&r, 0, sizeof(r));
  r.c = c;
  r.comm = comm;
  PetscCallMPI(MPI_Comm_rank(comm, &r.rank));
  DescribeCase(c);
  if (verbose && !r.rank) printf("%s", Text);
  PetscCall(CreateGrid(&r));
  PetscCall(PetscMalloc3(2 * COLUMNS * c->dof * c->N, &r.b, 2 * COLUMNS * c->dof * c->N, &r.x, 2 * c->N, &r.work));
  for (PetscInt m = 0; m < c->dof; ++m) PetscCall(ReferenceCreate(c->N, &r.ref[m]));
  for (PetscInt k = 0; k < c->nsteps && !r.failed; ++k) {
    PetscCall(SetStep(&r, &c->step[k]));
    for (PetscInt q = 0; q < c->nsolves && !r.failed; ++q) PetscCall(RunSolve(&r, k, q, &c->dice, verbose));
  }
  (void)alarm(0);
  ++Count.cases;
  if (!r.failed) ++TestPassed;
  for (PetscInt k = 0; k < SOLVERS; ++k) PetscCall(KSPDestroy(&r.ksp[k]));
  for (PetscInt m = 0; m < c->dof; ++m) PetscCall(ReferenceDestroy(&r.ref[m]));
  PetscCall(PetscFree3(r.b, r.x, r.work));
  PetscCall(PetscFree(r.number));
  PetscCall(MatDestroy(&r.A));
  PetscCall(DMDestroy(&r.da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Report(void)
{
  printf("%d cases, %d solves, of which %d right", (int)Count.cases, (int)Count.solves, (int)Count.right);
  for (int k = 0; k < 200; ++k)
    if (Count.errors[k]) printf(", %d error %d", (int)Count.errors[k], k);
  for (int k = 0; k < 20; ++k)
    if (Count.reasons[k]) printf(", %d %s", (int)Count.reasons[k], KSPConvergedReasons[k - 20]);
  printf("\n%d promised direct answers; largest backward error, that of a row, error / condition:", (int)Count.exact);
  for (int k = 0; k < 3; ++k)
    if (Count.worst[k][0] > 0)
      printf(" %s %.2g %.2g %.2g", PCBCRPoissonPrecisions[k], Count.worst[k][0], Count.worst[k][1], Count.worst[k][2]);
  printf("\n");
}

int main(int argc, char **argv)
{
  PetscInt cases = 120, first = 0, seed = 1;
  PetscBool longer = PETSC_FALSE, verbose = PETSC_FALSE, given = PETSC_FALSE;
  PetscMPIInt rank, size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, &given));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-long", &longer, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  if (longer && !given) cases *= 50;
  if (!rank) printf("seed %d, cases %d to %d, %d ranks\n", (int)seed, (int)first, (int)(first + cases - 1), (int)size);
  (void)fflush(stdout);
  (void)signal(SIGALRM, Watchdog);
  (void)signal(SIGSEGV, Watchdog);
  (void)signal(SIGFPE, Watchdog);
  (void)signal(SIGABRT, Watchdog);
  for (PetscInt k = first; k < first + cases; ++k) {
    Case c;

    DrawCase(seed, k, (PetscInt)size, &c);
    PetscCall(RunCase(PETSC_COMM_WORLD, &c, verbose));
  }
  if (!rank) Report();
  {
    PetscInt bad = TestFailed;

    if (!rank) printf("%d cases passed, %d failed\n", (int)TestPassed, (int)TestFailed);
    PetscCallMPI(MPI_Bcast(&bad, 1, MPIU_INT, 0, PETSC_COMM_WORLD));
    PetscCall(PetscFinalize());
    return bad ? 1 : 0;
  }
}
