/*
  ranks: 2 3

  PCBCRPOISSON with coefficients that vary along an axis, on a DMDA that is cut along another: slabs
  as the DMDA has them, with eigenvectors of the axis, or along the axis after all, whichever costs
  less, as PCView() says. Solutions, those of new shifts and transposed ones included, against
  PETSc's LU and the matrix; the same preconditioner when the coefficients become constant, and vary
  again.
*/
#include "distribute.h"

static PetscMPIInt rank, size;

static PetscReal Stretched(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  const PetscInt d = *(const PetscInt *)ctx;
  const PetscReal t = d == 0 ? x : (d == 1 ? y : z);

  return 1 + 3 * t * t;
}

/* One solve, against LU on each rank alone and the equations */
static PetscErrorCode Compare(Case *c, PC pc, PetscBool transpose, const char *how)
{
  KSP lu;
  PetscReal difference, backward = 0;

  PetscFunctionBegin;
  PetscCall(TestReference(c->A1, &lu));
  PetscCall(CaseDeal(c, c->b1, c->b));
  PetscCall(VecSet(c->x, 7));
  if (transpose) {
    PetscCall(KSPSolveTranspose(lu, c->b1, c->y1));
    PetscCall(PCApplyTranspose(pc, c->b, c->x));
  } else {
    PetscCall(KSPSolve(lu, c->b1, c->y1));
    PetscCall(PCApply(pc, c->b, c->x));
  }
  PetscCall(CaseDifference(c, c->x, c->y1, &difference));
  Check(difference <= TestDifferenceBound(), "rank %d: %s, %s: differs from LU by %g", (int)rank, c->what, how,
        (double)difference);
  PetscCall(TestBackwardError(c->A, transpose, c->b, c->x, &backward));
  Check(backward <= TestBackwardBound(), "rank %d: %s, %s: backward error %g", (int)rank, c->what, how,
        (double)backward);
  PetscCall(KSPDestroy(&lu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewValues(const TestProblem *p, Case *c, PC pc)
{
  PetscFunctionBegin;
  PetscCall(TestFill(p, c->A1));
  PetscCall(TestDeal(c->da, c->A1, PETSC_TRUE, &c->A));
  PetscCall(PCSetOperators(pc, c->A, c->A));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    PetscInt dim, n[3], dof, along, cut;
    const char *ends;
    PetscBool stays; /* on two ranks */
  } cases[] = {
    {2, {400, 9, 1},  1, 0, 1, "ddrr",   PETSC_FALSE},
    {2, {8, 300, 1},  1, 1, 0, "ccDd",   PETSC_FALSE},
    {2, {70, 240, 1}, 1, 0, 1, "nddn",   PETSC_TRUE },
    {2, {20, 9, 1},   2, 0, 1, "rdcc",   PETSC_TRUE },
    {3, {90, 5, 8},   1, 0, 2, "cdddpp", PETSC_FALSE},
    {3, {5, 10, 80},  2, 2, 1, "ddccDr", PETSC_FALSE},
  };
  int bad;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); ++i) {
    PetscInt along = cases[i].along, parts[3] = {1, 1, 1};
    TestProblem p =
                  {
                    .dim = cases[i].dim,
                    .n = {cases[i].n[0], cases[i].n[1], cases[i].n[2]},
                    .dof = cases[i].dof,
                    .ends = cases[i].ends,
                    .a = {1,             1.5,           0.75         },
                    .shift = 0.5,
                    .scale = 2,
                    .row = 3,
                    .contrast = 0.5,
                    .k = Stretched,
                    .ctx = &along
    },
                q = p;
    char *text;
    Case c;
    PC pc;

    parts[cases[i].cut] = (PetscInt)size;
    q.a[0] = q.a[1] = q.a[2] = 1; /* k multiplies all couplings */
    PetscCall(CaseCreate(&p, &c));
    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
    PetscCall(CasePC(c.da, c.A, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(TestViewText((PetscObject)pc, &text));
    if (!rank && size == 2) {
      if (cases[i].stays)
        Check(strstr(text, "as the DMDA has them") && strstr(text, "eigenvectors of the coefficients along") &&
                !strstr(text, "redistributed"),
              "%s: PCView() of slabs in place:\n%s", c.what, text);
      else
        Check(strstr(text, "redistributed: coefficients vary along") && strstr(text, "bytes between ranks"),
              "%s: PCView() of slabs that are not in place:\n%s", c.what, text);
    }
    free(text);
    PetscCall(Compare(&c, pc, PETSC_FALSE, "apply"));
    PetscCall(Compare(&c, pc, PETSC_TRUE, "transpose"));
    for (PetscInt again = 0; again < 3; ++again) {
      p.shift = again == 1 ? 0 : (PetscReal)0.3 + (PetscReal)again;
      PetscCall(NewValues(&p, &c, pc));
      PetscCall(Compare(&c, pc, PETSC_FALSE, "another shift"));
    }
    q.k = NULL;
    PetscCall(NewValues(&q, &c, pc));
    PetscCall(TestViewText((PetscObject)pc, &text));
    if (!rank)
      Check((strstr(text, "as the DMDA has them") || (cases[i].cut == 0 && strstr(text, "would be solved twice"))) &&
              !strstr(text, "eigenvectors"),
            "%s: PCView() of constant coefficients:\n%s", c.what, text);
    free(text);
    PetscCall(Compare(&c, pc, PETSC_FALSE, "constant coefficients"));
    PetscCall(NewValues(&p, &c, pc));
    PetscCall(Compare(&c, pc, PETSC_FALSE, "coefficients that vary again"));
    PetscCall(PCDestroy(&pc));
    PetscCall(CaseDestroy(&c));
  }
  bad = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return bad;
}
