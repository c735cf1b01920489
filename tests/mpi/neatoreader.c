/*
  What the reader of lines finds in matrices on a DMDA, by comparison with the
  formulas they were assembled from: all axes, one to three dimensions,
  components, periodic axes, uneven boxes; constant, per-line and general
  coefficients; transposes; what it refuses.

  ranks: 1 2 3 4 6 8
*/
#include "neatocases.h"
#include "src/operator/linesimpl.h"

/* transpose: of the formula's rows */
static PetscErrorCode Compare(const Case *k, BCRLines lines, PetscBool transpose, const char what[])
{
  PetscReal *low, *diag, *up;
  PetscInt x[3], at = 0;
  const PetscInt n = k->n[k->axis];
  double worst = 0;

  PetscFunctionBegin;
  PetscCall(BCRLinesExpand(lines, &low, &diag, &up));
  for (x[2] = lines->start[2]; x[2] < lines->start[2] + lines->size[2]; ++x[2]) {
    for (x[1] = lines->start[1]; x[1] < lines->start[1] + lines->size[1]; ++x[1]) {
      for (x[0] = lines->start[0]; x[0] < lines->start[0] + lines->size[0]; ++x[0]) {
        for (PetscInt c = 0; c < k->dof; ++c, ++at) {
          double row[3];
          const PetscInt j = x[k->axis];

          Row(k, x, c, row);
          if (transpose) {
            double other[3];
            PetscInt y[3] = {x[0], x[1], x[2]};
            const PetscBool wraps = (PetscBool)(k->periodic && n > 2);

            row[0] = row[2] = 0;
            y[k->axis] = (j + n - 1) % n;
            Row(k, y, c, other);
            if (j > 0 || wraps) row[0] = other[2];
            y[k->axis] = (j + 1) % n;
            Row(k, y, c, other);
            if (j < n - 1 || wraps) row[2] = other[0];
          }
          if (j > 0 || lines->spec.periodic) TestLargest(&worst, PetscAbs((double)low[at] - row[0]));
          if (j < n - 1 || lines->spec.periodic) TestLargest(&worst, PetscAbs((double)up[at] - row[2]));
          TestLargest(&worst, PetscAbs((double)diag[at] - row[1]));
        }
      }
    }
  }
  Check(worst < 200 * PETSC_MACHINE_EPSILON,
        "%s, dim %d n %d %d %d dof %d axis %d kind %d edge %d periodic %d: "
        "coefficients off by %g",
        what, (int)k->dim, (int)k->n[0], (int)k->n[1], (int)k->n[2], (int)k->dof, (int)k->axis, (int)k->kind,
        (int)k->edge, (int)k->periodic, worst);
  PetscCall(PetscFree(low));
  PetscCall(PetscFree(diag));
  PetscCall(PetscFree(up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadLines(DM da, Mat A, PetscInt axis, BCRLines *lines)
{
  BCRGrid grid;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRGridCreate(da, PetscObjectComm((PetscObject)A), &grid));
  ierr = BCRLinesRead(&grid, A, axis, lines);
  PetscCall(BCRGridDestroy(&grid));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode One(const Case *k, MatType type)
{
  DM da;
  Mat A;
  BCRLines lines = NULL, transposed;
  PetscBool symmetric;
  PetscInt other = 0;

  PetscFunctionBegin;
  PetscCall(NewDMDA(k, &da));
  PetscCall(Assemble(k, da, &A));
  if (type) PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PetscCall(ReadLines(da, A, k->axis, &lines));
  PetscCall(Compare(k, lines, PETSC_FALSE, "read"));
  Check(lines->spec.periodic == (k->periodic && k->n[k->axis] > 2), "periodic: %d", (int)lines->spec.periodic);
  for (PetscInt d = 0; d < k->dim; ++d) other = d == k->axis ? other : PetscMax(other, k->n[d]);
  Check((lines->dropped > 0) == (k->across != 0 && other > 1), "dropped %g", (double)lines->dropped);
  if (k->n[k->axis] > 8) {
    Check((lines->spec.rows != NULL) == (k->kind <= PERLINE), "kind %d: near-Toeplitz is %d", (int)k->kind,
          lines->spec.rows != NULL);
    if (k->kind == SAME || k->kind == STRETCHED)
      Check(!lines->spec.perline, "kind %d seen as different from line to line", (int)k->kind);
    else if (lines->nlines > 1) Check(lines->spec.perline, "kind %d seen as the same on all lines", (int)k->kind);
  }
  PetscCall(BCRLinesTranspose(lines, &transposed, &symmetric));
  Check(!symmetric || k->n[k->axis] == 1, "random coefficients seen as symmetric");
  if (!symmetric) PetscCall(Compare(k, transposed, PETSC_TRUE, "transpose"));
  PetscCall(BCRLinesDestroy(&transposed));
  PetscCall(BCRLinesDestroy(&lines));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same matrix again: with other values, with one row in the middle that is not as the others,
   with an entry where there was none (the reader keeps what it knows of the pattern). With more
   than one point on each rank along x there are runs of rows of one pattern. */
static PetscErrorCode Again(const Case *k)
{
  DM da;
  AO ao;
  Mat A, B;
  BCRLines lines = NULL;
  Case other = *k;
  PetscInt x[3], start, end, at[2];
  PetscReal *low, *diag, *up, dropped;
  const PetscInt axis = k->axis, across = (axis + 1) % k->dim;
  PetscMPIInt found = 0, all;

  PetscFunctionBegin;
  PetscCall(NewDMDA(k, &da));
  PetscCall(Assemble(k, da, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(ReadLines(da, A, axis, &lines));
  other.seed += 100;
  PetscCall(Assemble(&other, da, &B));
  PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&B));
  PetscCall(ReadLines(da, A, axis, &lines));
  PetscCall(Compare(&other, lines, PETSC_FALSE, "other values"));
  dropped = lines->dropped;

  for (PetscInt d = 0; d < 3; ++d) x[d] = k->n[d] / 2;
  x[axis] -= 1; /* not the row that others are compared with */
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt step = 0; step < 2; ++step) {
    at[0] = at[1] = k->dof * (x[0] + k->n[0] * (x[1] + k->n[1] * x[2]));
    /* two points away on another axis: left out */
    if (step) at[1] += k->dof * 2 * (across == 0 ? 1 : (across == 1 ? k->n[0] : k->n[0] * k->n[1]));
    PetscCall(AOApplicationToPetsc(ao, 2, at));
    if (at[0] >= start && at[0] < end) PetscCall(MatSetValue(A, at[0], at[1], step ? 4e4 : 77, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(ReadLines(da, A, axis, &lines));
    Check(!lines->spec.rows, "step %d: a row in the middle was overlooked", (int)step);
    PetscCall(BCRLinesExpand(lines, &low, &diag, &up));
    if (at[0] >= start && at[0] < end) {
      found = 1;
      Check(diag[at[0] - start] == 77, "step %d: diagonal %g where 77 was put", (int)step, (double)diag[at[0] - start]);
    }
    PetscCall(PetscFree(low));
    PetscCall(PetscFree(diag));
    PetscCall(PetscFree(up));
    if (step)
      Check(PetscAbsReal(lines->dropped - (PetscReal)(4e4 + 2 * (k->dim - 1) * k->across) / 77) < (PetscReal)1e-3,
            "dropped %g", (double)lines->dropped);
    else
      Check(lines->dropped <= dropped * (1 + (PetscReal)1e-5), "dropped %g, then %g", (double)dropped,
            (double)lines->dropped);
  }
  PetscCallMPI(MPI_Allreduce(&found, &all, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  Check(all == 1, "the point was on %d ranks", (int)all);
  PetscCall(BCRLinesDestroy(&lines));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The axis of the strongest coupling; a symmetric matrix */
static PetscErrorCode Axis(void)
{
  static const PetscReal a[3][3] = {
    {3,   1, 2 },
    {0.1, 4, 1 },
    {1,   2, 50}
  };
  DM da;
  Mat A;
  BCRLines lines = NULL, transposed;

  PetscFunctionBegin;
  for (PetscInt best = 0; best < 3; ++best) {
    PetscBool symmetric = PETSC_FALSE;

    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC,
                           DMDA_STENCIL_STAR, 5, 7, 6, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL,
                           &da));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, &A));
    {
      PetscInt x[3], s[3], m[3], n[3] = {5, 7, 6};

      PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
      for (x[2] = s[2]; x[2] < s[2] + m[2]; ++x[2]) {
        for (x[1] = s[1]; x[1] < s[1] + m[1]; ++x[1]) {
          for (x[0] = s[0]; x[0] < s[0] + m[0]; ++x[0]) {
            PetscCall(Set(A, x, x, 0, 2 * (double)(a[best][0] + a[best][1] + a[best][2])));
            for (PetscInt d = 0; d < 3; ++d) {
              for (PetscInt e = -1; e <= 1; e += 2) {
                PetscInt y[3] = {x[0], x[1], x[2]};

                y[d] += e;
                if (d == 2 || (y[d] >= 0 && y[d] < n[d])) PetscCall(Set(A, x, y, 0, (double)-a[best][d]));
              }
            }
          }
        }
      }
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(ReadLines(da, A, BCR_LINES_ANY_AXIS, &lines));
    Check(lines->axis == best, "axis %d, not %d", (int)lines->axis, (int)best);
    Check(lines->spec.rows && !lines->spec.perline && !lines->spec.nfirst && !lines->spec.nlast,
          "a Toeplitz line was not recognised");
    Check(lines->spec.rows && lines->spec.rows[0].row[1] == 2 * (a[best][0] + a[best][1] + a[best][2]), "diagonal %g",
          (double)lines->spec.rows[0].row[1]);
    Check(lines->spec.periodic == (best == 2), "periodic %d", (int)lines->spec.periodic);
    PetscCall(BCRLinesTranspose(lines, &transposed, &symmetric));
    Check(symmetric && !transposed, "not seen as symmetric");
    PetscCall(BCRLinesDestroy(&lines));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row that does not fit is an error on all ranks */
static PetscErrorCode Bad(void)
{
  Case k =
         {
           .dim = 1, .n = {23, 1, 1},
                .dof = 1, .axis = 0, .kind = GENERAL
  },
       two = {.dim = 2, .n = {9, 8, 1}, .dof = 2, .axis = 1, .kind = SAME, .across = 0.25};
  DM da, other;
  Mat A;
  BCRLines lines = NULL;
  PetscInt start, end, mine;

  PetscFunctionBegin;
  PetscCall(NewDMDA(&k, &da));
  for (PetscInt wrong = 0; wrong < 4; ++wrong) {
    const PetscReal values[4] = {1e-3, NAN, INFINITY, 0};

    PetscCall(Assemble(&k, da, &A));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(A, &start, &end));
    mine = 17; /* of the last rank or so */
    if (mine >= start && mine < end) {
      if (wrong == 3) {
        for (PetscInt j = -1; j <= 1; ++j) PetscCall(MatSetValue(A, mine, mine + j, 0, INSERT_VALUES));
      } else PetscCall(MatSetValue(A, mine, wrong ? mine : mine - 3, (PetscScalar)values[wrong], INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    CheckError(ReadLines(da, A, 0, &lines),
               wrong == 0 ? PETSC_ERR_SUP : (wrong == 3 ? PETSC_ERR_ARG_WRONG : PETSC_ERR_FP), "row 17");
    if (!wrong) CheckError(ReadLines(da, A, 0, &lines), PETSC_ERR_SUP, "column 14");
    if (!wrong) CheckError(ReadLines(da, A, 0, &lines), PETSC_ERR_SUP, "not tridiagonal along x");
    CheckError(ReadLines(da, A, 1, &lines), PETSC_ERR_ARG_OUTOFRANGE, "no lines along y");
    Check(!lines, "a result in spite of an error");
    PetscCall(MatDestroy(&A));
  }
  /* two components coupled; two neighbours away along the axis; neither matters
   * across the lines */
  PetscCall(NewDMDA(&two, &other));
  for (PetscInt wrong = 0; wrong < 3; ++wrong) {
    PetscCall(Assemble(&two, other, &A));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(A, &start, &end));
    {
      AO ao;
      PetscInt at[4] = {2 * (3 + 9 * 4), 2 * (3 + 9 * 4) + 1, 2 * (3 + 9 * 6), 2 * (6 + 9 * 4)};

      PetscCall(DMDAGetAO(other, &ao));
      PetscCall(AOApplicationToPetsc(ao, 4, at));
      if (at[0] >= start && at[0] < end) PetscCall(MatSetValue(A, at[0], at[1 + wrong], 0.5, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    if (wrong == 0) CheckError(ReadLines(other, A, 1, &lines), PETSC_ERR_SUP, "component 0 to component 1");
    if (wrong == 1) CheckError(ReadLines(other, A, 1, &lines), PETSC_ERR_SUP, "not tridiagonal along y");
    if (wrong == 1) CheckError(ReadLines(other, A, 1, &lines), PETSC_ERR_SUP, "grid point 3,4,0");
    if (wrong == 2) {
      PetscCall(ReadLines(other, A, 1, &lines));
      PetscCall(Compare(&two, lines, PETSC_FALSE, "far away across"));
      PetscCall(BCRLinesDestroy(&lines));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Assemble(&two, other, &A));
  CheckError(ReadLines(da, A, 0, &lines), PETSC_ERR_ARG_SIZ, "144 x 144");
  CheckError(ReadLines(other, A, 2, &lines), PETSC_ERR_ARG_OUTOFRANGE, "x or y");
  PetscCall(TestDestroy(&A, &other, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Case list[] = {
    {1, {1, 1, 1},   1, 0, PETSC_FALSE, SAME,      0, 0, 0, 0, 0   },
    {1, {2, 1, 1},   1, 0, PETSC_FALSE, SAME,      1, 0, 0, 0, 0   },
    {1, {3, 1, 1},   1, 0, PETSC_FALSE, SAME,      1, 0, 0, 0, 0   },
    {1, {7, 1, 1},   3, 0, PETSC_FALSE, SAME,      2, 0, 0, 0, 0   },
    {1, {17, 1, 1},  1, 0, PETSC_FALSE, SAME,      0, 0, 0, 0, 0   },
    {1, {41, 1, 1},  1, 0, PETSC_FALSE, SAME,      3, 0, 0, 0, 0   },
    {1, {41, 1, 1},  2, 0, PETSC_FALSE, PERLINE,   2, 0, 0, 0, 0   },
    {1, {64, 1, 1},  1, 0, PETSC_FALSE, STRETCHED, 0, 0, 0, 0, 0   },
    {1, {2, 1, 1},   1, 0, PETSC_TRUE,  GENERAL,   0, 0, 0, 0, 0   },
    {1, {3, 1, 1},   1, 0, PETSC_TRUE,  GENERAL,   0, 0, 0, 0, 0   },
    {1, {31, 1, 1},  1, 0, PETSC_TRUE,  SAME,      0, 0, 0, 0, 0   },
    {1, {32, 1, 1},  2, 0, PETSC_TRUE,  GENERAL,   0, 0, 0, 0, 0   },
    {2, {13, 17, 1}, 1, 0, PETSC_FALSE, SAME,      2, 0, 0, 0, 0.5 },
    {2, {13, 17, 1}, 2, 1, PETSC_FALSE, SAME,      3, 0, 0, 0, 0.5 },
    {2, {13, 17, 1}, 1, 0, PETSC_FALSE, PERLINE,   1, 0, 0, 0, 0.5 },
    {2, {11, 12, 1}, 1, 1, PETSC_FALSE, STRETCHED, 0, 0, 0, 0, 0   },
    {2, {11, 12, 1}, 1, 1, PETSC_TRUE,  GENERAL,   0, 0, 0, 0, 0.25},
    {2, {4, 6, 1},   1, 0, PETSC_TRUE,  PERLINE,   0, 0, 0, 0, 0.25},
    {3, {9, 10, 11}, 1, 0, PETSC_FALSE, SAME,      1, 0, 0, 0, 0.5 },
    {3, {9, 10, 11}, 2, 1, PETSC_FALSE, PERLINE,   3, 0, 0, 0, 0.5 },
    {3, {9, 10, 11}, 1, 2, PETSC_FALSE, GENERAL,   0, 0, 0, 0, 0.5 },
    {3, {5, 6, 13},  1, 2, PETSC_TRUE,  SAME,      0, 0, 0, 0, 0.5 },
    {3, {5, 13, 4},  1, 1, PETSC_TRUE,  STRETCHED, 0, 0, 0, 0, 0.5 },
    {2, {37, 30, 1}, 1, 0, PETSC_FALSE, SAME,      3, 0, 0, 0, 0.5 },
    {2, {37, 30, 1}, 1, 1, PETSC_TRUE,  PERLINE,   0, 0, 0, 0, 0.5 },
    {3, {19, 14, 9}, 1, 1, PETSC_FALSE, PERLINE,   2, 0, 0, 0, 0.5 },
    {3, {19, 6, 12}, 1, 2, PETSC_FALSE, SAME,      3, 0, 0, 0, 0.5 }
  };
  PetscMPIInt ranks;
  int status = 1;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(list); ++i) {
    if (list[i].dim == 1 && list[i].n[0] < ranks) continue; /* PETSc has no DMDA with empty ranks */
    PetscCall(One(&list[i], NULL));
    if (i % 5 == 1) PetscCall(One(&list[i], MATBAIJ));
    if (list[i].dim > 1 && list[i].n[list[i].axis] > 8 && list[i].kind <= PERLINE) PetscCall(Again(&list[i]));
  }
  PetscCall(Axis());
  PetscCall(Bad());
  PetscCall(TestSum(&status));
  PetscCall(PetscFinalize());
  return status;
}
