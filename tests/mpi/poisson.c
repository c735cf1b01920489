/*
  ranks: 1 2 3 4 5 7 8
  turns: 3
  quick: 2

  PCBCRPOISSON and KSPBCRPOISSON across ranks, against the same problem on one rank (and PETSc's LU
  there): every end, every way to cut a DMDA, grids with fewer rows than ranks, uneven parts,
  singular operators, new values, transposes, several right-hand sides.
*/
#include "distribute.h"

static PetscMPIInt rank, size;

static PetscReal Bound(PetscReal factor)
{
  return factor * (sizeof(PetscReal) < sizeof(double) ? (PetscReal)5e-4 : (PetscReal)1e-11);
}

/* One application, against that of one rank and against the matrix */
static PetscErrorCode CompareApply(Case *c, PC pc, PC one, PetscBool transpose, PetscReal factor, const char *how)
{
  PetscReal difference, backward = 0;

  PetscFunctionBegin;
  PetscCall(CaseDeal(c, c->b1, c->b));
  PetscCall(VecSet(c->x, 7));
  if (transpose) {
    PetscCall(PCApplyTranspose(one, c->b1, c->y1));
    PetscCall(PCApplyTranspose(pc, c->b, c->x));
  } else {
    PetscCall(PCApply(one, c->b1, c->y1));
    PetscCall(PCApply(pc, c->b, c->x));
  }
  PetscCall(CaseDifference(c, c->x, c->y1, &difference));
  Check(difference <= Bound(factor), "rank %d: %s, %s: differs from one rank by %g", (int)rank, c->what, how,
        (double)difference);
  if (factor == 1) {
    PetscCall(TestBackwardError(c->A, transpose, c->b, c->x, &backward));
    Check(backward <= TestBackwardBound(), "rank %d: %s, %s: backward error %g", (int)rank, c->what, how,
          (double)backward);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every way to cut the grid */
static PetscErrorCode AllCuts(const TestProblem *p)
{
  Case c;
  PC pc, one;
  PetscInt parts[3] = {0, 0, 0};

  PetscFunctionBegin;
  PetscCall(CaseCreate(p, &c));
  PetscCall(CasePC(c.da1, c.A1, &one));
  PetscCall(PCSetUp(one));
  while (TestNextCut(p, (PetscInt)size, parts)) {
    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
    PetscCall(CasePC(c.da, c.A, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(CompareApply(&c, pc, one, PETSC_FALSE,
                           p->shift == 0 && strspn(p->ends, "ncp") >= 2 * (size_t)p->dim ? 2 : 1, "apply"));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(PCDestroy(&one));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllEnds(void)
{
  static const char letters[] = "dncDr";

  PetscFunctionBegin;
  for (PetscInt pair = 0; pair < 26; ++pair) {
    const char low = pair < 25 ? letters[pair / 5] : 'p', high = pair < 25 ? letters[pair % 5] : 'p';

    for (PetscInt dim = 1; dim <= 3; ++dim) {
      const PetscInt axis = pair % dim; /* the axis that has this pair; the others another */
      char ends[7] = "dddddd";
      TestProblem p = {
        .dim = dim,
        .n = {11, 9,   8   },
        .dof = 1,
        .ends = ends,
        .a = {1,  1.5, 0.75},
        .shift = pair % 3 ? 0.25 : 0,
        .scale = pair % 2 ? 2 : -1,
        .row = 3
      };

      for (PetscInt d = 0; d < dim; ++d) {
        const PetscInt other = (pair * 7 + d * 11 + 3) % 26;

        ends[2 * d] = d == axis ? low : (other < 25 ? letters[other / 5] : 'p');
        ends[2 * d + 1] = d == axis ? high : (other < 25 ? letters[other % 5] : 'p');
      }
      ends[2 * dim] = 0;
      if (TestTurn()) PetscCall(AllCuts(&p));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids of few rows; ranks with one row, with a boundary plane only, with nothing */
static PetscErrorCode FewRows(void)
{
  static const char *const ends[] = {"rrdd", "rrrr", "ddrr", "ccpp", "nndd", "ppcD"};
  const PetscInt P = (PetscInt)size;

  PetscFunctionBegin;
  for (PetscInt few = PetscMax(1, P - 1); few <= P + 2; ++few) {
    for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(ends); ++e) {
      for (PetscInt turn = 0; turn < 2; ++turn) {
        TestProblem p = {
          .dim = 2,
          .n = {turn ? 6 : few, turn ? few : 6},
          .dof = 1,
          .ends = ends[e],
          .a = {1,              2             },
          .shift = 1,
          .scale = 1,
          .row = 2
        };

        if (p.n[0] == 2 && ends[e][0] == 'r') continue; /* nothing but boundary rows */
        if (p.n[1] == 2 && ends[e][2] == 'r') continue;
        if ((p.n[0] == 1 && ends[e][0] == 'r') || (p.n[1] == 1 && ends[e][2] == 'r')) continue;
        if (TestTurn()) PetscCall(AllCuts(&p));
      }
    }
  }
  { /* both axes shorter than the number of ranks: slabs with nothing in them */
    TestProblem p = {
      .dim = 2, .n = {3, 3},
           .dof = 1, .ends = "ddcD", .a = {1, 2},
           .shift = 0, .scale = 1, .row = 2
    };
    TestProblem q = {
      .dim = 3,
      .n = {3, 2, 4},
      .dof = 2,
      .ends = "ddccpp",
      .a = {1, 2, 1},
      .shift = 0.5,
      .scale = 1,
      .row = 2,
      .contrast = 1
    };

    PetscCall(AllCuts(&p));
    PetscCall(AllCuts(&q));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Parts of very different size */
static PetscErrorCode Uneven(void)
{
  PetscFunctionBegin;
  for (PetscInt dim = 1; dim <= 3; ++dim) {
    for (PetscInt d = 0; d < dim; ++d) {
      for (PetscInt big = 0; big < 3; ++big) {
        TestProblem p = {
          .dim = dim,
          .n = {5, 6,   4   },
          .dof = 1,
          .ends = big == 1 ? "rdcrnr" : "cdrrpp",
          .a = {1, 1.5, 0.75},
          .shift = 0.25,
          .scale = 1,
          .row = 3
        };
        PetscInt parts[3] = {1, 1, 1}, l[3][8] = {{p.n[0]}, {p.n[1]}, {p.n[2]}}, whole = (PetscInt)size + 9;
        const PetscInt *pl[3] = {l[0], l[1], l[2]};
        Case c;
        PC pc, one;

        if (!TestTurn()) continue;
        p.n[d] = whole;
        parts[d] = (PetscInt)size;
        for (PetscInt r = 0; r < (PetscInt)size; ++r) l[d][r] = 1;
        l[d][big == 0 ? 0 : (big == 1 ? (PetscInt)size - 1 : (PetscInt)size / 2)] += whole - (PetscInt)size;
        PetscCall(CaseCreate(&p, &c));
        PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, pl));
        PetscCall(CasePC(c.da1, c.A1, &one));
        PetscCall(CasePC(c.da, c.A, &pc));
        PetscCall(CompareApply(&c, pc, one, PETSC_FALSE, 1, "uneven"));
        PetscCall(CompareApply(&c, pc, one, PETSC_TRUE, 1, "uneven, transposed"));
        PetscCall(PCDestroy(&pc));
        PetscCall(PCDestroy(&one));
        PetscCall(CaseDestroy(&c));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Stretched(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  const PetscInt d = *(const PetscInt *)ctx;
  const PetscReal t = d == 0 ? x : (d == 1 ? y : z);

  return 1 + t * t;
}

static PetscReal Smooth(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)ctx;
  return PetscExpReal(PetscSinReal(6 * x) * PetscCosReal(5 * y) + z / 2);
}

/* All that a PC can do, for some operators: transposes, several right-hand sides, precisions, new values */
static PetscErrorCode Everything(void)
{
  static const char *const ends[] = {"ddccpp", "rrnDdr", "cDpprc"};

  PetscFunctionBegin;
  for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(ends); ++e) {
    for (PetscInt dim = 2; dim <= 3; ++dim) {
      for (PetscInt kind = 0; kind < 4; ++kind) { /* plain; two components; a general axis; fitted */
        PetscInt along = 0, parts[3] = {0, 0, 0};
        TestProblem p = {
          .dim = dim,
          .n = {9, 10,  8   },
          .dof = kind == 1 ? 2 : 1,
          .ends = ends[e],
          .a = {1, 1.5, 0.75},
          .shift = 0.5,
          .scale = 2,
          .row = 3,
          .contrast = 0.5
        };
        Case c;
        PC pc, one;

        if (!TestTurn()) continue;
        while (kind == 2 && ends[e][2 * along] == 'p') ++along;
        p.k = kind == 2 ? Stretched : (kind == 3 ? Smooth : NULL);
        p.ctx = &along;
        PetscCall(CaseCreate(&p, &c));
        while (TestNextCut(&p, (PetscInt)size, parts)) {
          Mat B1, X1, B, X;
          PetscInt columns = 3;

          PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
          PetscCall(CasePC(c.da1, c.A1, &one));
          PetscCall(CasePC(c.da, c.A, &pc));
          PetscCall(CompareApply(&c, pc, one, PETSC_FALSE, kind == 3 ? 2 : 1, "apply"));
          PetscCall(CompareApply(&c, pc, one, PETSC_TRUE, kind == 3 ? 2 : 1, "transpose"));
          /* several at once */
          PetscCall(MatCreateDense(PETSC_COMM_SELF, PETSC_DECIDE, PETSC_DECIDE,
                                   p.dof * p.n[0] * p.n[1] * (dim > 2 ? p.n[2] : 1), columns, NULL, &B1));
          PetscCall(MatDuplicate(B1, MAT_DO_NOT_COPY_VALUES, &X1));
          PetscCall(MatCreateDense(PETSC_COMM_WORLD, c.n, PETSC_DECIDE, PETSC_DECIDE, columns, NULL, &B));
          PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
          for (PetscInt k = 0; k < columns; ++k) {
            Vec v1, v;

            PetscCall(MatDenseGetColumnVecWrite(B1, k, &v1));
            PetscCall(VecCopy(c.b1, v1));
            PetscCall(VecShift(v1, (PetscScalar)k));
            PetscCall(MatDenseGetColumnVecWrite(B, k, &v));
            PetscCall(CaseDeal(&c, v1, v));
            PetscCall(MatDenseRestoreColumnVecWrite(B, k, &v));
            PetscCall(MatDenseRestoreColumnVecWrite(B1, k, &v1));
          }
          if (kind == 3) { /* PCMatApply() may be asked for a solution: not that of a fit that nobody has chosen */
            PetscCall(PCBCRPoissonSetFit(one, PCBCRPOISSON_FIT_SCALED));
            PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_SCALED));
          }
          PetscCall(PCMatApply(one, B1, X1));
          PetscCall(PCMatApply(pc, B, X));
          for (PetscInt k = 0; k < columns; ++k) {
            Vec v1, v;
            PetscReal difference;

            PetscCall(MatDenseGetColumnVecRead(X1, k, &v1));
            PetscCall(MatDenseGetColumnVecRead(X, k, &v));
            PetscCall(CaseDifference(&c, v, v1, &difference));
            Check(difference <= Bound(1), "rank %d: %s, column %d of several: differs by %g", (int)rank, c.what, (int)k,
                  (double)difference);
            PetscCall(MatDenseRestoreColumnVecRead(X, k, &v));
            PetscCall(MatDenseRestoreColumnVecRead(X1, k, &v1));
          }
          PetscCall(TestDestroy(&B1, &X1, &B, &X));
          /* new values, of the same form and of another */
          for (PetscInt again = 0; again < 2; ++again) {
            TestProblem q = p;

            q.shift = again ? 0.125 : 2;
            q.scale = again ? -1 : 2;
            q.a[1] = again ? 4 : p.a[1];
            PetscCall(TestFill(&q, c.A1));
            PetscCall(TestDeal(c.da, c.A1, PETSC_TRUE, &c.A));
            PetscCall(PCSetOperators(one, c.A1, c.A1));
            PetscCall(PCSetOperators(pc, c.A, c.A));
            PetscCall(
              CompareApply(&c, pc, one, PETSC_FALSE, kind == 3 ? 2 : 1, again ? "other values" : "another shift"));
          }
          PetscCall(TestFill(&p, c.A1));
          PetscCall(TestDeal(c.da, c.A1, PETSC_TRUE, &c.A));
          PetscCall(PCSetOperators(pc, c.A, c.A));
          PetscCall(PCSetOperators(one, c.A1, c.A1));
          PetscCall(PCBCRPoissonSetPrecision(pc, PCBCRPOISSON_PRECISION_MIXED));
          PetscCall(CompareApply(&c, pc, one, PETSC_FALSE, kind == 3 ? 2 : 1, "mixed"));
          PetscCall(PCBCRPoissonSetPrecision(pc, PCBCRPOISSON_PRECISION_SINGLE));
          PetscCall(
            CompareApply(&c, pc, one, PETSC_FALSE, sizeof(PetscReal) < sizeof(double) ? 2 : (PetscReal)5e7, "single"));
          PetscCall(PCDestroy(&pc));
          PetscCall(PCDestroy(&one));
        }
        PetscCall(CaseDestroy(&c));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int bad;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(AllEnds());
  PetscCall(FewRows());
  PetscCall(Uneven());
  PetscCall(Everything());
  bad = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return bad;
}
