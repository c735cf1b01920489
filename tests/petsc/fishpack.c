/*
  ranks: 1 2 3 5
  quick: 1
  args: -ksp_type preonly -pc_type bcrpoisson -pc_bcrpoisson_fit exact

  What FISHPACK's separable drivers solve, each as a PETSc program would write it: a DMDA, a matrix, options. The
  problems are those that its documentation gives with exact solutions and with the discretisation errors that its test
  programs print; docs/fishpack.md has them as a table. Three answers each: the documented error, PETSc's LU, and the
  equations, to rounding. -driver hwscrt: that one alone.
*/
#include "testing.h"

/* The equation at a point: coefficients of the neighbours below and above along each axis, in differences of second
   order; returns that of u itself */
typedef double (*Equation)(const double x[3], const double h[3], double low[3], double up[3]);
typedef double (*Function)(const double x[3]);
typedef double (*Derivative)(int axis, const double x[3]);

/* Ends: d Dirichlet, rows kept (on nodes), n Neumann, p periodic, i Dirichlet, only nodes inside, r Robin, u' + u is
   given, a the axis of coordinates, beyond which there is nothing, o the origin or pole: one unknown beyond all nodes */
typedef struct {
  const char *name;
  int dim;
  PetscBool cells; /* else nodes */
  double lo[3], hi[3];
  PetscInt panels[3];
  const char *ends;
  Equation equation;
  Function f, u; /* right-hand side and solution */
  Derivative du;
  double documented; /* error */
  enum {
    ABSOLUTE,
    RELATIVE,
    MEAN,
    FIRST
  } measure;              /* of the error; without its mean, or what it is at the first node */
  double perturbation;    /* MEAN, FIRST: the constant that comes off the right-hand side; 0: not documented */
  double (*pole)(double); /* o: its equation is (mean around it - u) pole(h) */
  PetscBool imaginary;    /* with - i u on the left */
} Driver;

#define PI 3.14159265358979323846

static double Power(double x, int n)
{
  return n ? x * Power(x, n - 1) : 1;
}

static double Zero(const double x[3])
{
  (void)x;
  return 0;
}

/* ---- equations ---- */

static void Plain(const double h[3], double low[3], double up[3])
{
  for (int d = 0; d < 3; d++) low[d] = up[d] = 1 / (h[d] * h[d]);
}

static double Cartesian4(const double x[3], const double h[3], double low[3], double up[3])
{
  (void)x;
  Plain(h, low, up);
  return -4;
}
static double Cartesian3(const double x[3], const double h[3], double low[3], double up[3])
{
  (void)Cartesian4(x, h, low, up);
  return -3;
}
static double Cartesian2(const double x[3], const double h[3], double low[3], double up[3])
{
  (void)Cartesian4(x, h, low, up);
  return -2;
}

/* (r u_r)_r / r; on the axis itself 2 u_rr */
static void Radial(double r, double h, double *low, double *up)
{
  *low = r > 0 ? (r - h / 2) / (r * h * h) : 0;
  *up = r > 0 ? (r + h / 2) / (r * h * h) : 4 / (h * h);
}

/* (sin u_t)_t / sin; at the pole itself 2 u_tt */
static void Polar(double t, double h, double *low, double *up)
{
  *low = t > 0 ? sin(t - h / 2) / (sin(t) * h * h) : 0;
  *up = t > 0 ? sin(t + h / 2) / (sin(t) * h * h) : 4 / (h * h);
  if (fabs(*low) < 1e-12 / (h * h)) *low = 0;
  if (fabs(*up) < 1e-12 / (h * h)) *up = 0;
}

static double Disc(const double x[3], const double h[3], double low[3], double up[3])
{
  Radial(x[0], h[0], &low[0], &up[0]);
  low[1] = up[1] = 1 / (x[0] * x[0] * h[1] * h[1]);
  return 0;
}

static double Cylinder(const double x[3], const double h[3], double low[3], double up[3])
{
  Plain(h, low, up);
  Radial(x[0], h[0], &low[0], &up[0]);
  return 0;
}

static double Sphere(const double x[3], const double h[3], double low[3], double up[3])
{
  Polar(x[0], h[0], &low[0], &up[0]);
  low[1] = up[1] = 1 / (Power(sin(x[0]), 2) * h[1] * h[1]);
  return 0;
}

/* (r^2 u_r)_r / r^2 + (sin u_t)_t / (r^2 sin): x is the angle, y the radius */
static double Ball(const double x[3], const double h[3], double low[3], double up[3])
{
  const double r = x[1];

  Polar(x[0], h[0], &low[0], &up[0]);
  low[0] /= r * r;
  up[0] /= r * r;
  low[1] = Power((r - h[1] / 2) / (r * h[1]), 2);
  up[1] = Power((r + h[1] / 2) / (r * h[1]), 2);
  return 0;
}

/* a wave exp(i longitude), in differences of pi/72 */
static double BallWave(const double x[3], const double h[3], double low[3], double up[3])
{
  const double wave = PI / 72;

  (void)Ball(x, h, low, up);
  return -2 * (1 - cos(wave)) / Power(wave * x[1] * sin(x[0]), 2);
}

/* (1 + x)^2 u_xx - 2 (1 + x) u_x along axis d */
static double Growing(int d, const double x[3], const double h[3], double low[3], double up[3])
{
  const double t = 1 + x[d];

  Plain(h, low, up);
  low[d] = t * t / (h[d] * h[d]) + t / h[d];
  up[d] = t * t / (h[d] * h[d]) - t / h[d];
  return 0;
}
static double GrowingX(const double x[3], const double h[3], double low[3], double up[3])
{
  return Growing(0, x, h, low, up);
}
static double GrowingZ(const double x[3], const double h[3], double low[3], double up[3])
{
  return Growing(2, x, h, low, up);
}

static double Cosine(const double x[3], const double h[3], double low[3], double up[3])
{
  Plain(h, low, up);
  Polar(x[0] + PI / 2, h[0], &low[0], &up[0]);
  return 0;
}

/* (u_s / 2s)_s / 2s, and the same along t */
static double Halves(const double x[3], const double h[3], double low[3], double up[3])
{
  for (int d = 0; d < 2; d++) {
    low[d] = 1 / (4 * x[d] * (x[d] - h[d] / 2) * h[d] * h[d]);
    up[d] = 1 / (4 * x[d] * (x[d] + h[d] / 2) * h[d] * h[d]);
  }
  return 0;
}

/* (x + 1)^2 u_xx + 2 (x + 1) u_x - x u + u_yy */
static double Mixed(const double x[3], const double h[3], double low[3], double up[3])
{
  const double t = x[0] + 1;

  Plain(h, low, up);
  low[0] = t * t / (h[0] * h[0]) - t / h[0];
  up[0] = t * t / (h[0] * h[0]) + t / h[0];
  return -x[0];
}

/* the same with exp(y) u_yy - y u */
static double MixedBoth(const double x[3], const double h[3], double low[3], double up[3])
{
  const double c = Mixed(x, h, low, up);

  low[1] *= exp(x[1]);
  up[1] *= exp(x[1]);
  return c - x[1];
}

/* ---- solutions, their right-hand sides and derivatives across ends ---- */

static double HwscrtU(const double x[3])
{
  return x[0] * x[0] * cos((x[1] + 1) * PI / 2);
}
static double HwscrtF(const double x[3])
{
  return (2 - (4 + PI * PI / 4) * x[0] * x[0]) * cos((x[1] + 1) * PI / 2);
}
static double HwscrtD(int axis, const double x[3])
{
  return axis ? NAN : 2 * x[0] * cos((x[1] + 1) * PI / 2);
}

static double HstcrtU(const double x[3])
{
  return sin(PI * x[0]) * cos(PI * x[1]);
}
static double HstcrtF(const double x[3])
{
  return -2 * (PI * PI + 1) * HstcrtU(x);
}
static double HstcrtD(int axis, const double x[3])
{
  return axis ? NAN : PI * cos(PI * x[0]) * cos(PI * x[1]);
}

static double DiscU(const double x[3])
{
  return Power(x[0], 4) * (1 - cos(4 * x[1]));
}
static double DiscF(const double x[3])
{
  return 16 * x[0] * x[0];
}
static double DiscD(int axis, const double x[3])
{
  return axis ? 4 * Power(x[0], 4) * sin(4 * x[1]) : NAN;
}

static double CylinderU(const double x[3])
{
  return Power(x[0] * x[1], 4);
}
static double CylinderF(const double x[3])
{
  return 4 * Power(x[0] * x[1], 2) * (4 * x[1] * x[1] + 3 * x[0] * x[0]);
}
static double CylinderD(int axis, const double x[3])
{
  return 4 * Power(x[axis], 3) * Power(x[1 - axis], 4);
}

static double SphereU(const double x[3])
{
  return Power(sin(x[0]) * sin(x[1]), 2);
}
static double SphereF(const double x[3])
{
  return 2 - 6 * SphereU(x);
}
static double SphereD(int axis, const double x[3])
{
  return axis ? NAN : 2 * sin(x[0]) * cos(x[0]) * Power(sin(x[1]), 2);
}

static double BallU(const double x[3])
{
  return Power(x[1] * cos(x[0]), 4);
}
static double BallF(const double x[3])
{
  return 12 * Power(x[1] * cos(x[0]), 2);
}
static double BallD(int axis, const double x[3])
{
  return axis ? NAN : -4 * Power(x[1], 4) * Power(cos(x[0]), 3) * sin(x[0]);
}
static double WaveU(const double x[3])
{
  return x[1] * sin(x[0]);
}
static double WaveD(int axis, const double x[3])
{
  return axis ? NAN : x[1] * cos(x[0]);
}

/* the right-hand side as it is documented, which is that of the solution for 2 u on the left, not for 3 u: most of the
   documented error is this */
static double Hw3crtU(const double x[3])
{
  return Power(x[0], 4) * sin(x[1]) * cos(x[2]);
}
static double Hw3crtF(const double x[3])
{
  return 4 * x[0] * x[0] * (3 - x[0] * x[0]) * sin(x[1]) * cos(x[2]);
}
static double Hw3crtD(int axis, const double x[3])
{
  return axis < 2 ? NAN : -Power(x[0], 4) * sin(x[1]) * sin(x[2]);
}

static double Pois3dU(const double x[3])
{
  return sin(x[0]) * sin(x[1]) * Power(1 + x[2], 4);
}
static double Pois3dF(const double x[3])
{
  return 2 * Pois3dU(x);
}
static double Pois3dD(int axis, const double x[3])
{
  return axis < 2 ? NAN : 4 * sin(x[0]) * sin(x[1]) * Power(1 + x[2], 3);
}

static double GenbunU(const double x[3])
{
  return Power(1 + x[0], 4) * sin(x[1]);
}
static double GenbunF(const double x[3])
{
  return 3 * GenbunU(x);
}
static double GenbunD(int axis, const double x[3])
{
  return axis ? NAN : 4 * Power(1 + x[0], 3) * sin(x[1]);
}

static double PoistgU(const double x[3])
{
  return Power(x[1], 4) * sin(x[0]);
}
static double PoistgF(const double x[3])
{
  return 2 * x[1] * x[1] * (6 - x[1] * x[1]) * sin(x[0]);
}
static double PoistgD(int axis, const double x[3])
{
  return axis ? 4 * Power(x[1], 3) * sin(x[0]) : Power(x[1], 4) * cos(x[0]);
}

static double BlktriU(const double x[3])
{
  return Power(x[0] * x[1], 5);
}
static double BlktriF(const double x[3])
{
  return 3.75 * x[0] * x[1] * (Power(x[0], 4) + Power(x[1], 4));
}

static double MixedU(const double x[3])
{
  return Power(x[0] * x[1], 3) + 1;
}
static double MixedD(int axis, const double x[3])
{
  return 3 * Power(x[axis], 2) * Power(x[1 - axis], 3);
}
static double Sepx4F(const double x[3])
{
  const double t = x[0] + 1;

  return t * t * 6 * x[0] * Power(x[1], 3) + 2 * t * MixedD(0, x) - x[0] * MixedU(x) + 6 * Power(x[0], 3) * x[1];
}
static double SepeliF(const double x[3])
{
  return Sepx4F(x) + (exp(x[1]) - 1) * 6 * Power(x[0], 3) * x[1] - x[1] * MixedU(x);
}

/* Equations of poles: u_xx + u_yy in the plane that touches there, u_xx + u_yy + u_zz */
static double DiscPole(double h)
{
  return 4 / (h * h);
}
static double BallPole(double h)
{
  return 6 / (h * h);
}

/* clang-format off */
static const Driver drivers[] = {
  {"hwscrt", 2, PETSC_FALSE, {0, -1}, {2, 3}, {40, 80}, "dnpp", Cartesian4, HwscrtF, HwscrtU, HwscrtD,
   .documented = 0.536508247e-3},
  {"hstcrt", 2, PETSC_TRUE, {1, -1}, {3, 1}, {48, 53}, "dnpp", Cartesian2, HstcrtF, HstcrtU, HstcrtD,
   .documented = 0.126000790e-2},
  {"hwsplr", 2, PETSC_FALSE, {0, 0}, {1, PI / 2}, {50, 48}, "odnn", Disc, DiscF, DiscU, DiscD,
   .documented = 0.619134228e-3, .pole = DiscPole},
  {"hstplr", 2, PETSC_TRUE, {0, 0}, {1, PI / 2}, {50, 48}, "adnn", Disc, DiscF, DiscU, DiscD,
   .documented = 1.1303e-3},
  {"hwscyl", 2, PETSC_FALSE, {0, 0}, {1, 1}, {50, 100}, "annn", Cylinder, CylinderF, CylinderU, CylinderD,
   .documented = 3.7367e-4, .measure = MEAN, .perturbation = 2.2674e-4},
  {"hstcyl", 2, PETSC_TRUE, {0, 0}, {1, 1}, {50, 52}, "annn", Cylinder, CylinderF, CylinderU, CylinderD,
   .documented = 0.752796331e-4, .measure = MEAN, .perturbation = -0.443113920e-3},
  {"hwsssp", 2, PETSC_FALSE, {0, 0}, {PI / 2, 2 * PI}, {18, 72}, "onpp", Sphere, SphereF, SphereU, SphereD,
   .documented = 0.338107339e-2, .measure = FIRST, .pole = DiscPole},
  {"hstssp", 2, PETSC_TRUE, {0, 0}, {PI / 2, 2 * PI}, {18, 72}, "anpp", Sphere, SphereF, SphereU, SphereD,
   .documented = 3.37523e-3, .measure = FIRST, .perturbation = 6.35830e-4},
  {"hwscsp", 2, PETSC_FALSE, {0, 0}, {PI / 2, 1}, {36, 32}, "anod", Ball, BallF, BallU, BallD,
   .documented = 0.799841637e-3, .pole = BallPole},
  {"hwscsp-2", 2, PETSC_FALSE, {0, 0}, {PI / 2, 1}, {36, 32}, "dndd", BallWave, Zero, WaveU, WaveD,
   .documented = 0.586824289e-4},
  {"hstcsp", 2, PETSC_TRUE, {0, 0}, {PI, 1}, {45, 15}, "aaad", Ball, BallF, BallU, BallD,
   .documented = 0.558432376e-2},
  {"hw3crt", 3, PETSC_FALSE, {0, 0, 0}, {1, 2 * PI, PI / 2}, {10, 40, 15}, "ddppdn", Cartesian3, Hw3crtF, Hw3crtU, Hw3crtD,
   .documented = 0.964801952e-2},
  {"pois3d", 3, PETSC_FALSE, {-PI, -PI, 0}, {PI, PI, 1}, {30, 30, 10}, "ppppnd", GrowingZ, Pois3dF, Pois3dU, Pois3dD,
   .documented = 0.293277050e-1},
  {"genbun", 2, PETSC_FALSE, {0, -PI}, {1, PI}, {20, 40}, "ndpp", GrowingX, GenbunF, GenbunU, GenbunD,
   .documented = 9.6406e-3},
  {"poistg", 2, PETSC_TRUE, {-PI / 2, 0}, {PI / 2, 1}, {40, 20}, "nndn", Cosine, PoistgF, PoistgU, PoistgD,
   .documented = 5.6417e-4},
  {"blktri", 2, PETSC_FALSE, {0, 0}, {1, 1}, {51, 64}, "iiii", Halves, BlktriF, BlktriU, NULL,
   .documented = 1.6478e-5},
  {"sepeli", 2, PETSC_FALSE, {0, 0}, {1, 1}, {32, 32}, "rrdd", MixedBoth, SepeliF, MixedU, MixedD,
   .documented = 9.7891e-5, .measure = RELATIVE},
  {"sepx4", 2, PETSC_FALSE, {0, 0}, {1, 1}, {32, 32}, "rrdd", Mixed, Sepx4F, MixedU, MixedD,
   .documented = 1.5985e-4, .measure = RELATIVE},
#if defined(PETSC_USE_COMPLEX)
  {"cmgnbn", 2, PETSC_FALSE, {0, -PI}, {1, PI}, {20, 40}, "ndpp", GrowingX, GenbunF, GenbunU, GenbunD,
   .documented = 9.1620e-3, .imaginary = PETSC_TRUE},
  {"cblktri", 2, PETSC_FALSE, {0, 0}, {1, 1}, {51, 64}, "iiii", Halves, BlktriF, BlktriU, NULL,
   .documented = 1.6457e-5, .imaginary = PETSC_TRUE},
#endif
};
/* clang-format on */


/* ---- grid ---- */

typedef struct {
  const Driver *driver;
  PetscInt n[3], first[3]; /* the point that node 0 is */
  double h[3], *weight[3]; /* [n] along each axis, their product is the null vector of the transpose, if there is one */
  double around;           /* sum of the weights around the pole */
  PetscInt pole;           /* the axis that begins there, -1: none does */
} Grid;

static void Point(const Grid *g, const PetscInt ix[3], double x[3])
{
  for (int d = 0; d < 3; d++)
    x[d] = g->driver->lo[d] + g->h[d] * ((double)(ix[d] + g->first[d]) + (g->driver->cells ? .5 : 0));
}

/* Where the ghost node beyond an end of axis d has the value  inner * (first inside) + own * (this) + given */
static void Ghost(const Grid *g, int d, int side, const double x[3], double *inner, double *own, double *given)
{
  const Driver *p = g->driver;
  const double out = side ? 1 : -1, h = g->h[d];
  double at[3] = {x[0], x[1], x[2]};

  at[d] = side ? p->hi[d] : p->lo[d];
  *inner = *own = *given = 0;
  switch (p->ends[2 * d + side]) {
  case 'd': /* cells */
    *own = -1;
    *given = 2 * p->u(at);
    break;
  case 'i':
    *given = p->u(at);
    break;
  case 'n':
    if (p->cells) *own = 1;
    else *inner = 1;
    *given = out * (p->cells ? 1 : 2) * h * p->du(d, at);
    break;
  case 'r':
    *inner = 1;
    *own = -out * 2 * h;
    *given = out * 2 * h * (p->du(d, at) + p->u(at));
    break;
  default: /* a: nothing is coupled to it */
    break;
  }
}

/* The row of a node: *m columns, the node itself first, the coupling to the pole, and the right-hand side */
static PetscErrorCode Row(const Grid *g, const PetscInt ix[3], PetscInt *m, MatStencil col[7], double v[7],
                          double *pole, double *f)
{
  const Driver *p = g->driver;
  double x[3], low[3] = {0}, up[3] = {0};

  PetscFunctionBegin;
  Point(g, ix, x);
  *m = 1;
  *pole = 0;
  col[0] = (MatStencil){.i = ix[0], .j = ix[1], .k = ix[2]};
  v[0] = 1;
  *f = p->u(x);
  for (int d = 0; d < p->dim && !p->cells; d++)
    for (int s = 0; s < 2; s++)
      if (p->ends[2 * d + s] == 'd' && ix[d] == (s ? g->n[d] - 1 : 0)) PetscFunctionReturn(PETSC_SUCCESS);
  v[0] = p->equation(x, g->h, low, up);
  *f = p->f(x);
  for (int d = 0; d < p->dim; d++)
    for (int s = 0; s < 2; s++) {
      const double coupling = s ? up[d] : low[d];
      const PetscBool last = (PetscBool)(ix[d] == (s ? g->n[d] - 1 : 0));
      PetscInt to[3] = {ix[0], ix[1], ix[2]};
      double inner = 1, own = 0, given = 0;

      v[0] -= coupling;
      to[d] += s ? 1 : -1;
      if (coupling == 0) continue;
      if (last && p->ends[2 * d + s] == 'o') {
        *pole = coupling;
        continue;
      }
      PetscCheck(!last || p->ends[2 * d + s] != 'a', PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: coupled beyond its axis",
                 p->name);
      if (last && p->ends[2 * d + s] != 'p') {
        to[d] += s ? -2 : 2;
        Ghost(g, d, s, x, &inner, &own, &given);
      }
      v[0] += coupling * own;
      *f -= coupling * given;
      if (inner == 0) continue;
      col[*m] = (MatStencil){.i = to[0], .j = to[1], .k = to[2]};
      v[(*m)++] = coupling * inner;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights w along each axis, w_(i+1) low_(i+1) = w_i up_i: those of cells, but for a factor */
static PetscErrorCode Weights(Grid *g)
{
  const Driver *p = g->driver;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    double up = 0;

    PetscCall(PetscMalloc1(g->n[d], &g->weight[d]));
    for (PetscInt i = 0; i < g->n[d]; i++) {
      PetscInt ix[3] = {g->n[0] / 2, g->n[1] / 2, g->n[2] / 2};
      double x[3], low[3] = {0}, high[3] = {0};

      ix[d] = i;
      Point(g, ix, x);
      (void)p->equation(x, g->h, low, high);
      if (p->ends[2 * d] == 'n' && !p->cells && i == 0) high[d] += low[d];
      if (p->ends[2 * d + 1] == 'n' && !p->cells && i == g->n[d] - 1) low[d] += high[d];
      g->weight[d][i] = i ? g->weight[d][i - 1] * up / low[d] : 1;
      up = high[d];
    }
  }
  for (PetscInt i = 0; g->pole >= 0 && i < g->n[1 - g->pole]; i++) g->around += g->weight[1 - g->pole][i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridCreate(const Driver *p, Grid *g, DM *da)
{
  DMBoundaryType b[3] = {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(g, sizeof(*g)));
  g->driver = p;
  g->pole = -1;
  for (int d = 0; d < 3; d++) {
    const char *end = &p->ends[2 * d];

    g->n[d] = 1;
    g->h[d] = 1;
    if (d >= p->dim) continue;
    g->n[d] = p->panels[d] + (p->cells || end[0] == 'p' ? 0 : 1);
    g->h[d] = (p->hi[d] - p->lo[d]) / (double)p->panels[d];
    g->first[d] = strchr("io", end[0]) ? 1 : 0;
    for (int s = 0; s < 2; s++) g->n[d] -= strchr("io", end[s]) ? 1 : 0;
    if (end[0] == 'p') b[d] = DM_BOUNDARY_PERIODIC;
    if (end[0] == 'o') g->pole = d;
  }
  PetscCall(Weights(g));
  if (p->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b[0], b[1], DMDA_STENCIL_STAR, g->n[0], g->n[1], PETSC_DECIDE,
                           PETSC_DECIDE, 1, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b[0], b[1], b[2], DMDA_STENCIL_STAR, g->n[0], g->n[1], g->n[2],
                           PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- matrix, right-hand side, solution ---- */

/* The nodes' matrix, with a row more for the pole, which the last rank has */
static PetscErrorCode Create(const Grid *g, DM da, Mat *A)
{
  ISLocalToGlobalMapping map;
  PetscInt lo[3], n[3], size[3];
  PetscMPIInt rank, ranks;
  Vec v;
  PetscInt m;

  PetscFunctionBegin;
  if (g->pole < 0) {
    PetscCall(DMCreateMatrix(da, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(DMCreateGlobalVector(da, &v));
  PetscCall(VecGetLocalSize(v, &m));
  PetscCall(VecDestroy(&v));
  if (rank == ranks - 1) m++;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, 6, NULL, 6, NULL, A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE)); /* the row of the pole */
  PetscCall(DMGetLocalToGlobalMapping(da, &map));
  PetscCall(MatSetLocalToGlobalMapping(*A, map, map));
  PetscCall(DMDAGetGhostCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (int d = 0; d < 3; d++) size[d] = n[d];
  PetscCall(MatSetStencil(*A, 2, size, lo, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* weight: the null vector of the transpose, or NULL */
static PetscErrorCode Assemble(const Grid *g, DM da, Mat A, Vec b, Vec exact, Vec weight)
{
  const Driver *p = g->driver;
  const PetscInt last = g->n[0] * g->n[1] * g->n[2];
  PetscScalar *vb, *vu, *vw;
  PetscInt lo[3], n[3], ix[3], k = 0, end;
  double total = 0; /* the pole's weight */

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(VecGetArray(b, &vb));
  PetscCall(VecGetArray(exact, &vu));
  PetscCall(VecGetArray(weight, &vw));
  for (ix[2] = lo[2]; ix[2] < lo[2] + n[2]; ix[2]++)
    for (ix[1] = lo[1]; ix[1] < lo[1] + n[1]; ix[1]++)
      for (ix[0] = lo[0]; ix[0] < lo[0] + n[0]; ix[0]++, k++) {
        MatStencil col[7];
        PetscScalar v[7], w;
        double value[7], pole, f, x[3];
        PetscInt m;

        PetscCall(Row(g, ix, &m, col, value, &pole, &f));
        for (PetscInt i = 0; i < m; i++) v[i] = (PetscScalar)value[i];
        Point(g, ix, x);
        vu[k] = (PetscScalar)p->u(x);
        vb[k] = (PetscScalar)f;
#if defined(PETSC_USE_COMPLEX)
        if (p->imaginary) v[0] -= PETSC_i;
        if (p->imaginary) vb[k] -= PETSC_i * vu[k];
#endif
        vw[k] = (PetscScalar)(g->weight[0][ix[0]] * g->weight[1][ix[1]] * g->weight[2][ix[2]]);
        PetscCall(MatSetValuesStencil(A, 1, col, m, col, v, ADD_VALUES));
        if (pole == 0) continue;
        PetscCall(DMDAMapMatStencilToGlobal(da, 1, col, &end));
        w = (PetscScalar)pole;
        PetscCall(MatSetValues(A, 1, &end, 1, &last, &w, ADD_VALUES));
        w = (PetscScalar)(p->pole(g->h[g->pole]) * g->weight[1 - g->pole][ix[1 - g->pole]] / g->around);
        PetscCall(MatSetValues(A, 1, &last, 1, &end, &w, ADD_VALUES));
        total = pole / p->pole(g->h[g->pole]) * g->around;
      }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(VecGetOwnershipRange(b, NULL, &end));
  if (g->pole >= 0 && end == last + 1) {
    double x[3] = {p->lo[0], p->lo[1], p->lo[2]};
    const PetscScalar d = (PetscScalar)(-p->pole(g->h[g->pole]));

    PetscCall(MatSetValues(A, 1, &last, 1, &last, &d, ADD_VALUES));
    vb[k] = (PetscScalar)p->f(x);
    vu[k] = (PetscScalar)p->u(x);
    vw[k] = (PetscScalar)total;
  }
  PetscCall(VecRestoreArray(b, &vb));
  PetscCall(VecRestoreArray(exact, &vu));
  PetscCall(VecRestoreArray(weight, &vw));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constant that makes the right-hand side one of a singular system comes off it */
static PetscErrorCode Perturb(const Driver *p, Vec b, Vec weight)
{
  PetscScalar sum, all;
  double off;

  PetscFunctionBegin;
  PetscCall(VecDot(b, weight, &sum));
  PetscCall(VecSum(weight, &all));
  PetscCall(VecShift(b, -sum / all));
  off = (double)PetscRealPart(sum / all);
  if (p->perturbation != 0 && sizeof(PetscReal) >= sizeof(double))
    Check(fabs(off - p->perturbation) <= 1e-4 * fabs(p->perturbation),
          "%s: %.9e comes off the right-hand side, not %.9e", p->name, off, p->perturbation);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Error(const Driver *p, Vec x, Vec exact, double *error)
{
  Vec e;
  PetscReal norm;
  PetscScalar first = 0;
  PetscInt begin, n;
  const PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &e));
  PetscCall(VecWAXPY(e, -1, exact, x));
  PetscCall(VecGetOwnershipRange(x, &begin, NULL));
  PetscCall(VecGetSize(x, &n));
  PetscCall(VecGetArrayRead(x, &v));
  if (begin == 0) first = v[0];
  PetscCall(VecRestoreArrayRead(x, &v));
  PetscCallMPI(MPI_Bcast(&first, 1, MPIU_SCALAR, 0, PETSC_COMM_WORLD));
  if (p->measure == MEAN) {
    PetscCall(VecSum(e, &first));
    first /= (PetscReal)n;
  }
  if (p->measure == MEAN || (p->measure == FIRST && !p->pole)) PetscCall(VecShift(e, -first));
  if (p->measure == RELATIVE) PetscCall(VecPointwiseDivide(e, e, exact));
  PetscCall(TestMaxNorm(e, &norm));
  *error = (double)norm;
  PetscCall(VecDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a user gives for a pole: the grid is solved directly, and the pole is the Schur complement, of one unknown. That of
   a singular system is zero, and so is the pole */
static const char *const splits =
  "-pole_ksp_type preonly -pole_pc_type fieldsplit -pole_pc_fieldsplit_type schur "
  "-pole_pc_fieldsplit_schur_fact_type full -pole_fieldsplit_grid_ksp_type preonly "
  "-pole_fieldsplit_grid_pc_type bcrpoisson -pole_fieldsplit_grid_pc_bcrpoisson_fit exact "
  "-pole_fieldsplit_pole_pc_type none";

static PetscErrorCode Solver(const Grid *g, DM da, Mat A, KSP *ksp)
{
  PC pc;
  IS is[2];
  PetscInt begin, end, last = g->n[0] * g->n[1] * g->n[2];

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  if (g->pole >= 0) {
    PetscCall(PetscOptionsInsertString(NULL, splits));
    PetscCall(PetscOptionsInsertString(
      NULL, g->driver->measure == FIRST ? "-pole_fieldsplit_pole_ksp_type preonly"
                                        : "-pole_fieldsplit_pole_ksp_type gmres -pole_fieldsplit_pole_ksp_max_it 1"));
    PetscCall(KSPSetOptionsPrefix(*ksp, "pole_"));
    PetscCall(KSPGetPC(*ksp, &pc));
    PetscCall(PCSetType(pc, PCFIELDSPLIT));
    PetscCall(MatGetOwnershipRange(A, &begin, &end));
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, PetscMin(end, last) - begin, begin, 1, &is[0]));
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, end > last ? 1 : 0, last, 1, &is[1]));
    PetscCall(PCFieldSplitSetIS(pc, "grid", is[0]));
    PetscCall(PCFieldSplitSetIS(pc, "pole", is[1]));
    PetscCall(ISDestroy(&is[0]));
    PetscCall(ISDestroy(&is[1]));
  } else {
    PetscCall(KSPSetDM(*ksp, da));
    PetscCall(TestKSPSetDMInactive(*ksp));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const Driver *p, PetscBool verbose)
{
  const PetscBool singular = (PetscBool)(p->measure == MEAN || p->measure == FIRST);
  Grid g;
  DM da;
  Mat A;
  Vec x, b, exact, weight;
  KSP ksp;
  PetscReal backward = 1, difference = 0;
  double error = 1;

  PetscFunctionBegin;
  PetscCall(GridCreate(p, &g, &da));
  PetscCall(Create(&g, da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &exact));
  PetscCall(VecDuplicate(x, &weight));
  PetscCall(Assemble(&g, da, A, b, exact, weight));
  if (singular) PetscCall(Perturb(p, b, weight));
  PetscCall(Solver(&g, da, A, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &backward));
  if (!singular) PetscCall(TestAgainstReference(A, PETSC_FALSE, b, x, &difference));
  PetscCall(Error(p, x, exact, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%-9s error %.4e (documented %.4e), backward error %.1e, differs from LU by %.1e\n", p->name,
                        error, p->documented, (double)backward, (double)difference));
  if (verbose) PetscCall(KSPView(ksp, PETSC_VIEWER_STDOUT_WORLD));
  Check(backward <= TestBackwardBound(), "%s: backward error %g", p->name, (double)backward);
  Check(difference <= TestDifferenceBound(), "%s: differs from LU by %g", p->name, (double)difference);
  if (sizeof(PetscReal) >= sizeof(double))
    Check(fabs(error - p->documented) <= 1e-4 * p->documented, "%s: discretisation error %.9e, not %.9e", p->name,
          error, p->documented);
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(g.weight[d]));
  PetscCall(TestDestroy(&ksp, &x, &b, &exact, &weight, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char name[32] = "";
  PetscBool given, same;

  PetscCall(PetscInitialize(&argc, &argv, NULL, "FISHPACK's separable drivers"));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-driver", name, sizeof(name), &given));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(drivers); k++) {
    PetscCall(PetscStrcmp(name, drivers[k].name, &same));
    if (same || !given) PetscCall(Solve(&drivers[k], given));
  }
  PetscCall(PetscFinalize());
  return TestEnd();
}
