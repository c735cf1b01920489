/*
  ranks: 1 2 3 4 5 7
  turns: 2
  quick: 2

  The operator reader across ranks. Each matrix is read whole on one rank, and dealt out over all
  ranks in every way that a DMDA can be cut: what is read must be the same, on every rank, and what
  belongs to single nodes must be that of the rank's own. Then boxes to slabs, and errors, which all
  ranks have to raise.
*/
#include "distribute.h"
#include "src/operator/read.h"
#include "src/operator/moves.h"

static PetscReal Same(PetscReal a, PetscReal b)
{
  return PetscAbsReal(a - b) / PetscMax(1, PetscMax(PetscAbsReal(a), PetscAbsReal(b)));
}

static double SameArray(PetscInt n, const PetscReal *a, const PetscReal *b)
{
  double worst = 0;

  if (!a || !b) return a == b ? 0 : 1;
  for (PetscInt i = 0; i < n; ++i) TestLargest(&worst, Same(a[i], b[i]));
  return worst;
}

static PetscReal Bound(void)
{
  return sizeof(PetscReal) < sizeof(double) ? (PetscReal)2e-5 : (PetscReal)1e-12;
}

static PetscInt Full(const BCRAxis *x)
{
  return x->n + (x->plane[0].present ? 1 : 0) + (x->plane[1].present ? 1 : 0);
}

/* What all ranks must know alike */
static double CompareGlobal(const BCROperator *a, const BCROperator *b)
{
  double worst = Same(a->shift, b->shift);
  PetscBool same = PETSC_FALSE;

  TestLargest(&worst, Same(a->scale / b->scale, 1));
  (void)PetscStrcmp(a->fit, b->fit, &same);
  if (!same || a->dim != b->dim || a->singular != b->singular || a->left != b->left || !a->rowscale != !b->rowscale)
    return 1;
  TestLargest(&worst, Same(a->deviation, b->deviation));
  for (PetscInt d = 0; d < 3; ++d) {
    const BCRAxis *x = &a->axis[d], *y = &b->axis[d];

    if (x->n != y->n || x->end[0] != y->end[0] || x->end[1] != y->end[1]) return 1;
    for (PetscInt place = 0; place < 27; ++place) TestLargest(&worst, Same(a->corner[place][d], b->corner[place][d]));
    TestLargest(&worst, Same(x->a, y->a));
    TestLargest(&worst, SameArray(x->n, x->lower, y->lower));
    TestLargest(&worst, SameArray(x->n, x->diag, y->diag));
    TestLargest(&worst, SameArray(x->n, x->upper, y->upper));
    TestLargest(&worst, SameArray(x->n, x->weight, y->weight));
    for (PetscInt s = 0; s < 2; ++s) {
      const BCRPlane *p = &x->plane[s], *q = &y->plane[s];

      if (p->present != q->present) return 1;
      if (!p->present) continue;
      if (p->couple != q->couple || !p->couplings != !q->couplings) return 1;
      TestLargest(&worst,
                  PetscMax(Same(p->coupling, q->coupling), PetscMax(Same(p->slope, q->slope), Same(p->inv0, q->inv0))));
    }
  }
  return worst;
}

/* What belongs to nodes lo .. lo + n, against the whole */
static double CompareNodes(const BCROperator *a, const BCROperator *whole, const PetscInt lo[3], const PetscInt n[3])
{
  PetscInt N[3], b[3], from[3], size[3], at[3];
  double worst = 0;

  for (PetscInt d = 0; d < 3; ++d) {
    N[d] = Full(&whole->axis[d]);
    b[d] = whole->axis[d].plane[0].present ? 1 : 0;
    from[d] = PetscMax(lo[d], b[d]);
    size[d] = PetscMax(0, PetscMin(lo[d] + n[d], b[d] + whole->axis[d].n) - from[d]);
  }
  for (PetscInt k = 0; k < size[2] && whole->rowscale; ++k) {
    for (PetscInt j = 0; j < size[1]; ++j) {
      for (PetscInt i = 0; i < size[0]; ++i) {
        const PetscInt q =
          from[0] - b[0] + i + whole->axis[0].n * (from[1] - b[1] + j + whole->axis[1].n * (from[2] - b[2] + k));

        TestLargest(&worst, Same(a->rowscale[i + size[0] * (j + size[1] * k)], whole->rowscale[q]));
      }
    }
  }
  for (PetscInt d = 0; d < 3; ++d) {
    for (PetscInt s = 0; s < 2; ++s) {
      const BCRPlane *p = &a->axis[d].plane[s], *q = &whole->axis[d].plane[s];
      PetscInt here = 0;

      for (at[2] = lo[2]; at[2] < lo[2] + n[2] && q->present; ++at[2]) {
        for (at[1] = lo[1]; at[1] < lo[1] + n[1]; ++at[1]) {
          for (at[0] = lo[0]; at[0] < lo[0] + n[0]; ++at[0]) {
            PetscInt there = 0;
            PetscBool edge = PETSC_FALSE;

            if (at[d] != (s ? N[d] - 1 : 0)) continue;
            for (PetscInt e = 2; e >= 0; --e) {
              if (e == d) continue;
              there = there * N[e] + at[e];
              edge = (PetscBool)(edge || at[e] < b[e] || at[e] >= b[e] + whole->axis[e].n);
            }
            TestLargest(&worst, Same(p->inv ? p->inv[here] : p->inv0, q->inv ? q->inv[there] : q->inv0));
            if (q->couplings && !edge) TestLargest(&worst, Same(p->couplings[here], q->couplings[there]));
            ++here;
          }
        }
      }
    }
  }
  return worst;
}

static PetscErrorCode ReadCase(const TestProblem *p, Mat whole, DM da1, BCRFit fit, const char *what)
{
  BCROperator *one;
  PetscInt dof, parts[3] = {0, 0, 0};
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(BCROperatorRead(da1, whole, fit, &dof, &one));
  while (TestNextCut(p, (PetscInt)size, parts)) {
    BCROperator *ops;
    BCRGrid grid;
    BCRMoves slabs;
    Mat A;
    DM da;
    PetscInt n, *natural, lo[3], m[3], start[3] = {0, 0, 0};
    PetscScalar *box, *back;
    double worst = 0, nodes = 0, moved = 0, vector = 0;

    PetscCall(TestCutDMDA(PETSC_COMM_WORLD, p, parts, NULL, &da));
    PetscCall(TestDeal(da, whole, PETSC_FALSE, &A));
    PetscCall(BCROperatorRead(da, A, fit, &n, &ops));
    PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &m[0], &m[1], &m[2]));
    for (PetscInt c = 0; c < dof && n == dof; ++c) {
      TestLargest(&worst, CompareGlobal(&ops[c], &one[c]));
      if (worst <= Bound()) TestLargest(&nodes, CompareNodes(&ops[c], &one[c], lo, m));
    }
    Check(n == dof && worst <= Bound() && nodes <= Bound(),
          "rank %d: %s, %d x %d x %d, ends %s, cut %d x %d x %d: differs from one rank by %g, at nodes by %g (fits %s "
          "and %s)",
          (int)rank, what, (int)p->n[0], (int)p->n[1], (int)p->n[2], p->ends, (int)parts[0], (int)parts[1],
          (int)parts[2], (double)worst, (double)nodes, ops[0].fit, one[0].fit);

    PetscCall(BCRGridCreate(da, PETSC_COMM_WORLD, &grid));
    PetscCall(TestNatural(da, &n, &natural));
    for (PetscInt axis = -1; axis < p->dim; ++axis) {
      PetscInt where = axis;
      PetscBool inplace = PETSC_FALSE; /* an axis that is given is cut, though the boxes may be slabs of it already */

      if (axis < 0) PetscCall(BCRMovesChoose(&grid, -1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, &where, &inplace));
      PetscCall(BCRMovesCreate(&grid, where, inplace, 1, &slabs));
      start[0] = start[1] = start[2] = 0;
      start[slabs.axis] = slabs.start;
      if (slabs.inplace)
        Check(slabs.n[0] == m[0] && slabs.n[1] == m[1] && slabs.n[2] == m[2] && slabs.start == lo[slabs.axis],
              "rank %d: a slab in place that is not the box", (int)rank);
      else {
        PetscCall(PetscMalloc2(n, &box, n, &back));
        for (PetscInt i = 0; i < n; ++i) box[i] = (PetscScalar)(PetscReal)natural[i];
        PetscCall(BCRMovesTake(&slabs, box));
        for (PetscInt i = 0; i < slabs.nodes; ++i) {
          const PetscInt at[3] = {start[0] + i % slabs.n[0], start[1] + i / slabs.n[0] % slabs.n[1],
                                  start[2] + i / slabs.n[0] / slabs.n[1]};

          for (PetscInt c = 0; c < dof; ++c)
            TestLargest(&vector,
                        PetscAbsScalar(slabs.slab[c + dof * i] - (PetscReal)(c + dof * BCRGridNatural(&grid, at))));
        }
        PetscCall(PetscArrayzero(back, n));
        PetscCall(BCRMovesGive(&slabs, back));
        for (PetscInt i = 0; i < n; ++i) TestLargest(&vector, PetscAbsScalar(box[i] - back[i]));
        PetscCall(PetscFree2(box, back));
        if (axis == (p->n[0] + p->n[1]) % p->dim) {
          for (PetscInt c = 0; c < dof; ++c) {
            PetscCall(BCRMovesTakeOperator(&grid, &slabs, &ops[c]));
            TestLargest(&moved, CompareNodes(&ops[c], &one[c], start, slabs.n));
          }
        }
        Check(vector == 0, "rank %d: cut %d x %d x %d to slabs of axis %d and back: off by %g", (int)rank,
              (int)parts[0], (int)parts[1], (int)parts[2], (int)slabs.axis, (double)vector);
        Check(moved <= Bound(), "rank %d: %s, ends %s, cut %d x %d x %d, operator to slabs of axis %d: off by %g",
              (int)rank, what, p->ends, (int)parts[0], (int)parts[1], (int)parts[2], (int)slabs.axis, (double)moved);
      }
      PetscCall(BCRMovesDestroy(&slabs));
    }
    PetscCall(PetscFree(natural));
    PetscCall(BCRGridDestroy(&grid));
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscCall(BCROperatorDestroy(dof, &one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How the matrix of a problem is made less plain */
typedef enum {
  PLAIN,
  LEFT,   /* each row times a random factor */
  PLANES, /* diagonals of kept rows differ */
  ONE,    /* that of one kept row, the last; those of high planes are others than those of low ones */
  WRONG   /* one kept row of each plane, not in its middle, is coupled along the plane */
} Twist;

static PetscErrorCode ReadProblem(const TestProblem *p, Twist twist, BCRFit fit, const char *what)
{
  DM da;
  Mat A;
  Vec v;

  PetscFunctionBegin;
  PetscCall(TestMatrix(p, &da, &A));
  if (twist != PLAIN) {
    PetscScalar *s;
    PetscInt n;

    PetscCall(DMCreateGlobalVector(da, &v));
    PetscCall(TestRandom(v));
    PetscCall(VecGetLocalSize(v, &n));
    PetscCall(VecGetArray(v, &s));
    for (PetscInt i = 0; i < n; ++i) {
      const PetscInt at[3] = {i / p->dof % p->n[0], p->dim > 1 ? i / p->dof / p->n[0] % p->n[1] : 0,
                              p->dim > 2 ? i / p->dof / p->n[0] / p->n[1] : 0};
      PetscBool kept = PETSC_FALSE;

      for (PetscInt d = 0; d < p->dim; ++d)
        kept = (PetscBool)(kept || (p->ends[2 * d] == 'r' && at[d] == 0) ||
                           (p->ends[2 * d + 1] == 'r' && at[d] == p->n[d] - 1));
      if (twist == ONE || twist == WRONG) {
        PetscBool high = PETSC_FALSE;

        for (PetscInt d = 0; d < p->dim; ++d)
          high = (PetscBool)(high || (p->ends[2 * d + 1] == 'r' && at[d] == p->n[d] - 1));
        s[i] = (high ? 1.5 : 1) * (kept && i == n - 1 ? 2 : 1);
      } else s[i] = twist == LEFT || kept ? 1.5 + PetscRealPart(s[i]) : 1;
    }
    PetscCall(VecRestoreArray(v, &s));
    PetscCall(MatDiagonalScale(A, v, NULL));
    PetscCall(VecDestroy(&v));
  }
  for (PetscInt d = 0; d < 2 * p->dim && twist == WRONG; ++d) {
    const PetscInt step[3] = {1, p->n[0], p->n[0] * p->n[1]}, along = d / 2 ? 0 : 1;
    PetscInt row = d % 2 ? (p->n[d / 2] - 1) * step[d / 2] : 0;

    if (p->ends[d] != 'r' || p->n[along] < 3) continue;
    for (PetscInt e = 0; e < p->dim; ++e) row += e == d / 2 ? 0 : step[e];
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetValue(A, p->dof * row, p->dof * (row + step[along]), -p->row / 4, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(ReadCase(p, A, da, fit, what));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Smooth(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)ctx;
  return PetscExpReal(PetscSinReal(6 * x) * PetscCosReal(5 * y) + z);
}

static PetscReal Along(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  const PetscInt d = *(const PetscInt *)ctx;
  const PetscReal t = d == 0 ? x : (d == 1 ? y : z);

  return 1 + 2 * t * t;
}

/* There is an axis with ends, and there are three unknowns along each, kept rows apart */
static PetscBool Layers(const TestProblem *p)
{
  PetscBool ends = PETSC_FALSE;

  for (PetscInt d = 0; d < p->dim; ++d) {
    if (p->dim < 2 || p->n[d] < 5) return PETSC_FALSE;
    ends = (PetscBool)(ends || p->ends[2 * d] != 'p');
  }
  return ends;
}

static PetscErrorCode Reads(void)
{
  static const char *const ends[] = {"dddddd", "ncnDcc", "ppddnn", "pppppp", "rrrrrr",
                                     "rdpprc", "ssssss", "DDccdr", "nnrrpp", "ccnnpp"};
  static const PetscInt size[][3] = {
    {9,  7,  8},
    {30, 5,  4},
    {3,  2,  7},
    {5,  24, 3}
  };

  PetscFunctionBegin;
  for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(ends); ++e) {
    for (PetscInt dim = 1; dim <= 3; ++dim) {
      const PetscInt *n = size[(e + (size_t)dim) % PETSC_STATIC_ARRAY_LENGTH(size)];
      TestProblem p = {
        .dim = dim,
        .n = {n[0], n[1], n[2]},
        .dof = e % 3 == 1 ? 2 : 1,
        .ends = ends[e],
        .a = {1,    2.5,  0.75},
        .shift = 0.5,
        .scale = e % 2 ? -3 : 2,
        .row = 4,
        .contrast = 0.5
      };
      PetscInt along = (PetscInt)e % dim;

      if (!TestTurn() || (dim == 1 && ends[e][0] == 's')) continue; /* no planes of rows, but ordinary ends */
      if (dim == 1) p.n[0] = 23;
      if (e >= 8) p.shift = 0;
      PetscCall(ReadProblem(&p, PLAIN, BCR_FIT_EXACT, "plain"));
      PetscCall(ReadProblem(&p, PLANES, BCR_FIT_EXACT, "planes vary"));
      PetscCall(ReadProblem(&p, LEFT, BCR_FIT_EXACT, "rows scaled"));
      if (dim > 1 && strchr(ends[e], 'r')) {
        PetscCall(ReadProblem(&p, ONE, BCR_FIT_EXACT, "one row of the planes differs"));
        PetscCall(ReadProblem(&p, WRONG, BCR_FIT_AUTO, "one row of each plane is wrong"));
      }
      if (ends[e][2 * along] != 'p') {
        p.k = Along;
        p.ctx = &along;
        PetscCall(ReadProblem(&p, PLAIN, BCR_FIT_AUTO, "stretched"));
      }
      p.k = Smooth;
      PetscCall(ReadProblem(&p, PLANES, BCR_FIT_SCALED, "fit scaled"));
      PetscCall(ReadProblem(&p, PLAIN, BCR_FIT_AVERAGE, "fit average"));
      PetscCall(ReadProblem(&p, LEFT, BCR_FIT_AUTO, "fit auto, rows scaled"));
      if (Layers(&p)) {
        PetscCall(ReadProblem(&p, PLANES, BCR_FIT_PROFILE, "fit profile"));
        PetscCall(ReadProblem(&p, LEFT, BCR_FIT_PROFILE, "fit profile, rows scaled"));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(Reads());
  {
    const int bad = TestEndAll(PETSC_COMM_WORLD);

    PetscCall(PetscFinalize());
    return bad;
  }
}
