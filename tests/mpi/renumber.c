/*
  Finite volumes numbered for a small bandwidth, as OpenFOAM does it: cells of a block mesh are numbered breadth first from a
  corner, the matrix is assembled face by face (each face has an owner and a neighbour), and what is known of the mesh is in
  no DMDA. All cells together and cut anywhere over the ranks; or block after block, each rank's cells numbered on their own.
  On one rank also in PETSc's reverse Cuthill-McKee order. What counts is the true residual; the grid is looked for once.
  ranks: 1 2 3 4
*/
#include "distribute.h"

static PetscMPIInt Rank, Size;

typedef struct {
  PetscInt n[3], cells;
  PetscReal grading; /* width of a cell along x over that of the one before */
  PetscInt *number;  /* [cells]: of each cell, x fastest; all ranks have it */
  PetscInt first, mine;
} Mesh;

static PetscInt CellAt(const Mesh *m, PetscInt i, PetscInt j, PetscInt k)
{
  return i + m->n[0] * (j + m->n[1] * k);
}

/* Breadth first from the lowest cell for which part[] is p: number[] from *next on */
static PetscErrorCode BreadthFirst(Mesh *m, const PetscInt part[], PetscInt p, PetscInt *next)
{
  PetscInt *queue, head = 0, tail = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m->cells, &queue));
  for (PetscInt c = 0; c < m->cells && !tail; c++)
    if (part[c] == p) queue[tail++] = c;
  if (tail) m->number[queue[0]] = (*next)++;
  while (head < tail) {
    const PetscInt c = queue[head++], at[3] = {c % m->n[0], c / m->n[0] % m->n[1], c / (m->n[0] * m->n[1])};

    for (int a = 2; a >= 0; a--)
      for (int step = 1; step >= -1; step -= 2) {
        PetscInt there[3] = {at[0], at[1], at[2]}, d;

        there[a] += step;
        if (there[a] < 0 || there[a] >= m->n[a]) continue;
        d = CellAt(m, there[0], there[1], there[2]);
        if (part[d] != p || m->number[d] >= 0) continue;
        m->number[d] = (*next)++;
        queue[tail++] = d;
      }
  }
  PetscCall(PetscFree(queue));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* blocks: of cells along the longest axis, one for each rank; else all cells are one, and ranks have equal numbers of rows */
static PetscErrorCode Number(Mesh *m, PetscBool blocks)
{
  PetscInt *part, next = 0, axis = 0;

  PetscFunctionBegin;
  m->cells = m->n[0] * m->n[1] * m->n[2];
  for (PetscInt a = 1; a < 3; a++)
    if (m->n[a] > m->n[axis]) axis = a;
  PetscCall(PetscMalloc1(m->cells, &m->number));
  PetscCall(PetscMalloc1(m->cells, &part));
  for (PetscInt c = 0; c < m->cells; c++) {
    const PetscInt at[3] = {c % m->n[0], c / m->n[0] % m->n[1], c / (m->n[0] * m->n[1])};

    m->number[c] = -1;
    part[c] = blocks ? at[axis] * Size / m->n[axis] : 0;
  }
  for (PetscMPIInt p = 0; p < (blocks ? Size : 1); p++) {
    if (blocks && p == Rank) m->first = next;
    PetscCall(BreadthFirst(m, part, p, &next));
    if (blocks && p == Rank) m->mine = next - m->first;
  }
  if (!blocks) {
    m->first = m->cells * Rank / Size;
    m->mine = m->cells * (Rank + 1) / Size - m->first;
  }
  PetscCall(PetscFree(part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Face by face: area over distance times k. No flux through the walls but those at high x, where the value is given */
static PetscErrorCode Assemble(const Mesh *m, PetscReal k, Mat A)
{
  PetscReal *width;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m->n[0], &width));
  for (PetscInt i = 0; i < m->n[0]; i++) width[i] = i ? width[i - 1] * m->grading : 1;
  PetscCall(MatZeroEntries(A));
  for (PetscInt c = 0; c < m->cells; c++) {
    const PetscInt at[3] = {c % m->n[0], c / m->n[0] % m->n[1], c / (m->n[0] * m->n[1])};

    for (int a = 0; a < 3; a++) {
      PetscInt there[3] = {at[0], at[1], at[2]}, owner = m->number[c], neighbour;
      PetscReal flux = k * (a ? width[at[0]] * (PetscReal)(1 + a) : 1);

      if (++there[a] == m->n[a]) {
        flux *= 2 / width[at[0]];
        if (a == 0 && owner >= m->first && owner < m->first + m->mine)
          PetscCall(MatSetValue(A, owner, owner, flux, ADD_VALUES));
        continue;
      }
      if (a == 0) flux *= 2 / (width[at[0]] + width[at[0] + 1]);
      neighbour = m->number[CellAt(m, there[0], there[1], there[2])];
      for (int side = 0; side < 2; side++) {
        const PetscInt row = side ? neighbour : owner, col = side ? owner : neighbour;

        if (row < m->first || row >= m->first + m->mine) continue;
        PetscCall(MatSetValue(A, row, row, flux, ADD_VALUES));
        PetscCall(MatSetValue(A, row, col, -flux, ADD_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree(width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Matrix(const Mesh *m, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m->mine, m->mine, m->cells, m->cells));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, 7, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 7, NULL, 6, NULL));
  PetscCall(Assemble(m, 1, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(KSP ksp, Mat A, const char what[])
{
  Vec b, x;
  PetscReal error = 0;
  PetscInt its;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  if (Rank == 0)
    Check(reason > 0 && its <= 2 && error <= TestBackwardBound(), "%s: %s, %d iterations, backward error %g", what,
          KSPConvergedReasons[reason], (int)its, (double)error);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewKSP(KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPRICHARDSON));
  PetscCall(KSPSetTolerances(*ksp, (PetscReal)(sizeof(PetscReal) < sizeof(double) ? 1e-4 : 1e-11), PETSC_DEFAULT,
                             PETSC_DEFAULT, 5));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often a grid has been looked for on this rank */
static PetscErrorCode Searches(PetscInt *count)
{
  PetscLogEvent event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("BCRFind", &event));
  PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
  *count = (PetscInt)info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pressure equation in three time steps */
static PetscErrorCode Steps(const Mesh *m, const char what[])
{
  Mat A;
  KSP ksp;
  PetscInt before, after;

  PetscFunctionBegin;
  PetscCall(Matrix(m, &A));
  PetscCall(NewKSP(&ksp));
  PetscCall(Searches(&before));
  for (int step = 0; step < 3; step++) {
    if (step) PetscCall(Assemble(m, (PetscReal)(1 + step), A));
    PetscCall(Solve(ksp, A, what));
  }
  PetscCall(Searches(&after));
  if (Rank == 0) Check(after == before + 1, "%s: the grid was looked for %d times", what, (int)(after - before));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On one rank: MatGetOrdering() and MatPermute() */
static PetscErrorCode Reversed(const Mesh *m, const char what[])
{
  Mat A, P;
  IS rows, columns;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(Matrix(m, &A));
  PetscCall(MatGetOrdering(A, MATORDERINGRCM, &rows, &columns));
  PetscCall(MatPermute(A, rows, columns, &P));
  PetscCall(NewKSP(&ksp));
  PetscCall(Solve(ksp, P, what));
  PetscCall(TestDestroy(&ksp, &rows, &columns, &A, &P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[][3] = {
    {20, 20, 1 }, /* the cavity of OpenFOAM's tutorials */
    {31, 12, 1 },
    {9,  7,  11},
    {16, 8,  4 },
    {5,  30, 5 },
    {40, 1,  1 },
    {4,  4,  4 },
    {13, 2,  3 },
    {25, 21, 20}  /* over ranks by distances */
  };
  int status;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &Rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &Size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
    for (int graded = 0; graded < 2; graded++)
      for (int blocks = 0; blocks < 2; blocks++) {
        Mesh m = {
          .n = {sizes[k][0], sizes[k][1], sizes[k][2]},
            .grading = (PetscReal)(graded ? 1.05 : 1)
        };
        char what[96];

        PetscCall(Number(&m, (PetscBool)blocks));
        PetscCall(PetscSNPrintf(what, sizeof(what), "%d x %d x %d%s, %s", (int)m.n[0], (int)m.n[1], (int)m.n[2],
                                graded ? ", graded" : "", blocks ? "numbered block by block" : "numbered together"));
        PetscCall(Steps(&m, what));
        if (Size == 1 && !blocks) PetscCall(Reversed(&m, what));
        PetscCall(PetscFree(m.number));
      }
  status = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return status;
}
