/*
  Ends of the user's operator (-pc_bcrpoisson_ends, PCBCRPoissonSetOperator()) and the DMDA's
  boundary types: periodic axes are those of the DMDA, whether ends are given or not; what
  contradicts it is an error that names option and axis. Solutions against the matrix with these
  ends.

  quick: 1
*/
#include "testing.h"

/* ends: words of the option (or, setter, for PCBCRPoissonSetOperator()), NULL: none. letters: what
   the matrix has then; NULL: an error with these words */
static PetscErrorCode Ends(PetscInt dim, const char grid[], const char *ends, PetscBool setter, const char *letters,
                           const char *words)
{
  TestProblem p = {
    .dim = dim, .n = {7, 6, 5 },
         .dof = 1, .ends = grid, .a = {4, 1, 16},
         .shift = 0.5, .scale = -2
  };
  const PetscReal h[] = {0.5, 1, 0.25};
  DM da;
  Mat A;
  PC pc;
  Vec b, x;
  char options[256];
  PetscReal backward = 1;

  PetscFunctionBegin;
  PetscCall(TestDMDA(&p, &da));
  PetscCall(DMCreateMatrix(da, &A));
  if (letters) p.ends = letters;
  PetscCall(TestFill(&p, A));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetOptionsPrefix(pc, "mine_"));
  if (setter) {
    PCBCRPoissonEnd end[6] = {PCBCRPOISSON_DIRICHLET};

    for (PetscInt e = 0; ends && e < 2 * dim; ++e)
      end[e] = ends[e] == 'p'
                 ? PCBCRPOISSON_PERIODIC
                 : (ends[e] == 'n' ? PCBCRPOISSON_NEUMANN
                                   : (ends[e] == 'c' ? PCBCRPOISSON_CELL_NEUMANN : PCBCRPOISSON_DIRICHLET));
    PetscCall(PCBCRPoissonSetOperator(pc, dim, h, ends ? end : NULL, p.shift, p.scale));
  } else {
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PetscSNPrintf(
      options, sizeof(options),
      "-mine_pc_bcrpoisson_spacing 0.5%s -mine_pc_bcrpoisson_shift 0.5 -mine_pc_bcrpoisson_scale -2 %s %s",
      dim == 1 ? "" : (dim == 2 ? ",1" : ",1,0.25"), ends ? "-mine_pc_bcrpoisson_ends" : "", ends ? ends : ""));
    PetscCall(PetscOptionsInsertString(NULL, options));
    PetscCall(PCSetFromOptions(pc));
  }
  if (words) {
    CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, words);
    CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "-mine_pc_bcrpoisson_ends");
  } else {
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(TestRandom(b));
    PetscCall(PCApply(pc, b, x));
    PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &backward));
    Check(backward <= TestBackwardBound(), "%s with %s (%s): backward error %g of the matrix with ends %s", grid,
          ends ? ends : "no ends", setter ? "setter" : "option", (double)backward, letters);
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
  }
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int bad;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  /* not given */
  for (int setter = 0; setter < 2; ++setter) {
    const PetscBool s = setter ? PETSC_TRUE : PETSC_FALSE;

    PetscCall(Ends(1, "dd", NULL, s, "dd", NULL));
    PetscCall(Ends(1, "pp", NULL, s, "pp", NULL));
    PetscCall(Ends(2, "ddpp", NULL, s, "ddpp", NULL));
    PetscCall(Ends(2, "ppdd", NULL, s, "ppdd", NULL));
    PetscCall(Ends(3, "pppppp", NULL, s, "pppppp", NULL));
    PetscCall(Ends(3, "ddppdd", NULL, s, "ddppdd", NULL));
  }
  /* one word */
  PetscCall(Ends(2, "dddd", "neumann", PETSC_FALSE, "nnnn", NULL));
  PetscCall(Ends(2, "ddpp", "neumann", PETSC_FALSE, "nnpp", NULL));
  PetscCall(Ends(3, "ppddpp", "cell_neumann", PETSC_FALSE, "ppccpp", NULL));
  PetscCall(Ends(2, "pppp", "periodic", PETSC_FALSE, "pppp", NULL));
  PetscCall(Ends(2, "ppdd", "periodic", PETSC_FALSE, NULL, "makes axis y periodic"));
  PetscCall(Ends(2, "dddd", "periodic", PETSC_FALSE, NULL, "makes axis x periodic"));
  PetscCall(Ends(2, "pppp", "neumann", PETSC_FALSE, NULL, "axis x and all others are periodic"));
  /* all of them */
  PetscCall(Ends(2, "ddpp", "neumann,dirichlet,periodic,periodic", PETSC_FALSE, "ndpp", NULL));
  PetscCall(Ends(2, "ddpp", "ndpp", PETSC_TRUE, "ndpp", NULL));
  PetscCall(Ends(2, "ddpp", "neumann,dirichlet,dirichlet,neumann", PETSC_FALSE, NULL,
                 "dirichlet and neumann as ends of axis y"));
  PetscCall(Ends(2, "ddpp", "nddn", PETSC_TRUE, NULL, "dirichlet and neumann as ends of axis y"));
  PetscCall(Ends(2, "dddd", "periodic,periodic,dirichlet,neumann", PETSC_FALSE, NULL, "makes axis x periodic"));
  PetscCall(Ends(3, "ddddpp", "ddpppp", PETSC_TRUE, NULL, "makes axis y periodic"));
  bad = TestEnd();
  PetscCall(PetscFinalize());
  return bad;
}
